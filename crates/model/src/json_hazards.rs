//! Scans JSON text for what a cell must never hold: nesting beyond the limit, U+0000, and halves of surrogate pairs.
//!
//! A JSON parser lets these through, or fails on them too late. This is no parser: what is not JSON at all is left for
//! the parser to name. Bulk inserts run through here at 32 MiB a body, hence the care for speed: strings, which are most
//! of a body, are skipped with `memchr` (a table of byte classes was measured slower, and far slower on long texts).

use memchr::memchr2;

/// Something that JSON text must not contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonHazard {
    /// It is nested deeper than the limit.
    TooDeep,
    /// U+0000 in a string, as an escape.
    Nul,
    /// Half of a surrogate pair, as an escape.
    LoneSurrogate,
}

/// The hazards in a text, in order.
pub fn json_hazards(text: &str, nesting_max: u32) -> impl Iterator<Item = JsonHazard> {
    Scanner { rest: text.as_bytes(), depth: 0, nesting_max, is_in_string: false }
}

struct Scanner<'t> {
    rest: &'t [u8],
    depth: u32,
    nesting_max: u32,
    is_in_string: bool,
}

impl Iterator for Scanner<'_> {
    type Item = JsonHazard;

    fn next(&mut self) -> Option<JsonHazard> {
        loop {
            if self.is_in_string
                && let Some(hazard) = self.skip_string()
            {
                return Some(hazard);
            }
            let (&byte, after) = self.rest.split_first()?;
            self.rest = after;
            match byte {
                b'"' => self.is_in_string = true,
                b'[' | b'{' => {
                    self.depth = self.depth.saturating_add(1);
                    if self.depth > self.nesting_max {
                        return Some(JsonHazard::TooDeep);
                    }
                }
                b']' | b'}' => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
        }
    }
}

impl Scanner<'_> {
    /// Goes on after the string, or after a hazard in it. A string without an end is left to the parser.
    fn skip_string(&mut self) -> Option<JsonHazard> {
        loop {
            let found = memchr2(b'"', b'\\', self.rest).and_then(|at| self.rest.get(at..)?.split_first());
            let Some((byte, after)) = found else {
                self.rest = &[];
                return None;
            };
            self.rest = after;
            if *byte == b'"' {
                self.is_in_string = false;
                return None;
            }
            let hazard = self.skip_escape();
            if hazard.is_some() {
                return hazard;
            }
        }
    }

    /// Goes on after the escape whose backslash was just passed.
    fn skip_escape(&mut self) -> Option<JsonHazard> {
        let Some((b'u', digits)) = self.rest.split_first() else {
            self.rest = self.rest.get(1..).unwrap_or_default();
            return None;
        };
        self.rest = digits;
        // Digits that are none are the parser's to refuse.
        let (unit, after) = code_unit(digits)?;
        self.rest = after;
        match unit {
            0 => Some(JsonHazard::Nul),
            0xDC00..=0xDFFF => Some(JsonHazard::LoneSurrogate),
            0xD800..=0xDBFF => match after.strip_prefix(b"\\u").and_then(code_unit) {
                Some((0xDC00..=0xDFFF, after)) => {
                    self.rest = after;
                    None
                }
                _ => Some(JsonHazard::LoneSurrogate),
            },
            _ => None,
        }
    }
}

fn code_unit(digits: &[u8]) -> Option<(u32, &[u8])> {
    let (four, after) = digits.split_first_chunk::<4>()?;
    let mut unit = 0;
    for digit in four {
        unit = unit * 16 + char::from(*digit).to_digit(16)?;
    }
    Some((unit, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_hazard_is_found_once_and_the_scan_goes_on() {
        let check = |text: &str, expected: &[JsonHazard]| {
            assert_eq!(json_hazards(text, 2).collect::<Vec<_>>(), expected, "{text}");
        };
        check(r#"[["\\u0000"], "[[[["]"#, &[]);
        check(
            r#"["\ud83d", "\u0000", [[1]]]"#,
            &[JsonHazard::LoneSurrogate, JsonHazard::Nul, JsonHazard::TooDeep],
        );
        check(r#"["\ud83d\ude00\ude00"]"#, &[JsonHazard::LoneSurrogate]);
        check(r#"["\uzzzz\u0000"#, &[JsonHazard::Nul]);
    }
}

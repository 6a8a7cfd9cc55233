//! What separates the cells of a CSV file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum Delimiter {
    Auto,
    Comma,
    Semicolon,
    Tab,
    Pipe,
}

impl Delimiter {
    /// The separator of a file that begins with `head`.
    pub(crate) fn byte(self, head: &[u8]) -> u8 {
        match self {
            Self::Auto => named_delimiter(head).unwrap_or_else(|| delimiter_of(head)),
            Self::Comma => b',',
            Self::Semicolon => b';',
            Self::Tab => b'\t',
            Self::Pipe => b'|',
        }
    }
}

/// The separator that a first line `sep=;` names, as Excel reads and writes it. Such a line is no row.
pub(crate) fn named_delimiter(head: &[u8]) -> Option<u8> {
    let line = head.split(|byte| matches!(byte, b'\n' | b'\r')).next()?;
    let [b's' | b'S', b'e' | b'E', b'p' | b'P', b'=', delimiter] = line else { return None };
    let fits = delimiter.is_ascii() && !delimiter.is_ascii_alphanumeric() && *delimiter != b'"';
    fits.then_some(*delimiter)
}

/// The separator that the first line has most of.
fn delimiter_of(head: &[u8]) -> u8 {
    let mut counts = [(b',', 0), (b';', 0), (b'\t', 0), (b'|', 0)];
    let mut is_quoted = false;
    for byte in head {
        match byte {
            b'"' => is_quoted = !is_quoted,
            b'\n' | b'\r' if !is_quoted => break,
            _ if is_quoted => {}
            byte => counts.iter_mut().filter(|(known, _)| known == byte).for_each(|(_, count)| *count += 1),
        }
    }
    // The first of the best: a comma where there is nothing to tell them apart.
    counts.iter().rev().max_by_key(|(_, count)| *count).map_or(b',', |(byte, _)| *byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_separator_is_found() {
        let check = |head: &str, expected: u8| assert_eq!(delimiter_of(head.as_bytes()), expected, "{head}");
        check("a,b;c,d", b',');
        check("a;b;c,d\n,,,,,", b';');
        check("a\tb\tc", b'\t');
        check("\"a,b,c\"|x", b'|');
        check("one", b',');
        check("", b',');
    }

    #[test]
    fn a_first_line_may_name_the_separator() {
        let check = |head: &str, expected: Option<u8>| assert_eq!(named_delimiter(head.as_bytes()), expected);
        check("sep=;\r\na;b", Some(b';'));
        check("SEP=\t\na", Some(b'\t'));
        check("sep=,", Some(b','));
        check("sep=;;", None);
        check("sep=a\n", None);
        check("sep,b", None);
        check("", None);
    }
}

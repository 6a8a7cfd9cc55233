//! JSON as JSON Lines: an array of objects, or objects one after the other, becomes one object a line. It is done byte by
//! byte, so a file of any size is never held whole.

/// Turns parts of a file into lines. What is inside an object is not checked: the server does that, row by row.
#[derive(Debug)]
pub(crate) struct JsonLines {
    place: Place,
    is_array: bool,
    /// Braces and brackets that are open in the current object.
    depth: usize,
    is_text: bool,
    is_escaped: bool,
    entries: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Start,
    /// Before an entry. The first one of an array may be missing.
    Before,
    Inside,
    /// Behind an entry of an array.
    Behind,
    End,
}

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

impl JsonLines {
    pub(crate) fn new() -> Self {
        Self { place: Place::Start, is_array: false, depth: 0, is_text: false, is_escaped: false, entries: 0 }
    }

    /// Takes the next part of the file, and adds the lines to `out`.
    pub(crate) fn push(&mut self, part: &[u8], out: &mut Vec<u8>) -> Result<(), String> {
        for byte in part {
            if self.place == Place::Inside {
                self.inside(*byte, out)?;
            } else if !byte.is_ascii_whitespace() {
                self.between(*byte, out)?;
            }
        }
        Ok(())
    }

    /// Whether the file may end here.
    pub(crate) fn end(&self) -> Result<(), String> {
        match self.place {
            // A file without anything in it has no rows, as an empty file of any other format.
            Place::Start | Place::End => Ok(()),
            Place::Before if !self.is_array => Ok(()),
            _ => Err(format!("the file ends after {} complete entries, in the middle", self.entries)),
        }
    }

    fn between(&mut self, byte: u8, out: &mut Vec<u8>) -> Result<(), String> {
        let at_start = self.place == Place::Start;
        match (self.place, byte) {
            (Place::Start, b'[') => {
                self.is_array = true;
                self.place = Place::Before;
            }
            (Place::Start | Place::Before, b'{') => {
                self.place = Place::Inside;
                self.depth = 1;
                out.push(byte);
            }
            (Place::Start, byte) if BYTE_ORDER_MARK.contains(&byte) => {}
            (Place::Before, b']') if self.is_array && self.entries == 0 => self.place = Place::End,
            (Place::Behind, b',') => self.place = Place::Before,
            (Place::Behind, b']') => self.place = Place::End,
            _ if at_start => {
                return Err("the file must be an array of objects, or objects one after the other".into());
            }
            _ => {
                let found = char::from(byte).escape_default();
                return Err(format!(
                    "unexpected '{found}' after {} entries: every entry must be an object",
                    self.entries
                ));
            }
        }
        Ok(())
    }

    fn inside(&mut self, byte: u8, out: &mut Vec<u8>) -> Result<(), String> {
        if self.is_text {
            if matches!(byte, b'\n' | b'\r') {
                return Err(format!("entry {} has a line break inside a text", self.entries + 1));
            }
            self.is_text = self.is_escaped || byte != b'"';
            self.is_escaped = !self.is_escaped && byte == b'\\';
            out.push(byte);
            return Ok(());
        }
        match byte {
            b'"' => self.is_text = true,
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => self.depth -= 1,
            _ => {}
        }
        out.push(if byte.is_ascii_whitespace() { b' ' } else { byte });
        if self.depth == 0 {
            out.push(b'\n');
            self.entries += 1;
            self.place = if self.is_array { Place::Behind } else { Place::Before };
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines, whatever the parts are.
    fn lines(text: &str) -> Result<String, String> {
        let of_parts = |size: usize| {
            let (mut converter, mut out) = (JsonLines::new(), Vec::new());
            for part in text.as_bytes().chunks(size) {
                converter.push(part, &mut out)?;
            }
            converter.end()?;
            Ok(String::from_utf8(out).unwrap())
        };
        let whole = of_parts(text.len().max(1));
        assert_eq!(of_parts(1), whole);
        whole
    }

    #[test]
    fn arrays_and_sequences_become_lines() {
        let check = |text: &str, expected: &str| assert_eq!(lines(text).as_deref(), Ok(expected), "{text}");
        check("", "");
        check(" \n", "");
        check("[]", "");
        check(" [ {\"a\": 1.50} ,\n{\"b\":[{}]}]\n", "{\"a\": 1.50}\n{\"b\":[{}]}\n");
        check("\u{feff}[{}]", "{}\n");
        check("{\n  \"a\": \"}\\\"]\\\\\"\n}\n{\"é\": null}", "{   \"a\": \"}\\\"]\\\\\" }\n{\"é\": null}\n");
    }

    #[test]
    fn what_is_no_list_of_objects_is_refused() {
        for bad in
            ["[1]", "[{},]", "[{} {}]", "[{}", "[{}] x", "\"a\"", "{\"a\": \"", "{\"a\": \"\n\"}", "[,]"]
        {
            assert!(lines(bad).is_err(), "{bad:?}");
        }
    }
}

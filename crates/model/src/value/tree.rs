//! A value taken apart, all its levels in one pass over the text.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::raw::{self, DEPTH_MAX};

/// The parts of a value. What is deeper than [`DEPTH_MAX`] stays whole.
#[derive(Debug)]
pub(super) enum Tree<'a> {
    Whole(&'a str),
    Array(Vec<Self>),
    /// Twins included.
    Object(Vec<(Cow<'a, str>, Self)>),
}

impl<'a> Tree<'a> {
    /// Brackets around what is no JSON hold nothing, as for [`raw::elements`] and [`raw::members`].
    pub(super) fn of(raw: &'a str) -> Self {
        let text = raw.trim_ascii();
        let is_json = match text.as_bytes().first() {
            Some(b'[') => serde_json::from_str::<&RawValue>(text).is_ok(),
            Some(b'{') => <&RawValue>::deserialize(&mut serde_json::Deserializer::from_str(text)).is_ok(),
            _ => return Self::Whole(text),
        };
        match text.as_bytes().first() {
            _ if is_json => {
                raw::note_parsed(text);
                Walk { rest: text }.value(0)
            }
            Some(b'[') => Self::Array(Vec::new()),
            _ => Self::Object(Vec::new()),
        }
    }
}

/// Goes over JSON that was found to be valid. On any other text it still ends, and says anything.
struct Walk<'a> {
    rest: &'a str,
}

impl<'a> Walk<'a> {
    fn value(&mut self, depth: usize) -> Tree<'a> {
        match self.next() {
            Some(b'[') if depth < DEPTH_MAX => {
                let mut elements = Vec::new();
                self.take(1);
                while !self.closes() {
                    elements.push(self.value(depth + 1));
                }
                Tree::Array(elements)
            }
            Some(b'{') if depth < DEPTH_MAX => {
                let mut members = Vec::new();
                self.take(1);
                while !self.closes() {
                    let name = raw::text(self.whole());
                    members.push((name, self.value(depth + 1)));
                }
                Tree::Object(members)
            }
            _ => Tree::Whole(self.whole()),
        }
    }

    /// The next byte that is no blank, comma or colon.
    fn next(&mut self) -> Option<u8> {
        self.rest = self.rest.trim_start_matches([' ', '\n', '\r', '\t', ',', ':']);
        self.rest.as_bytes().first().copied()
    }

    /// Goes past the bracket that ends what is open, if that is next.
    fn closes(&mut self) -> bool {
        let closes = matches!(self.next(), Some(b']' | b'}') | None);
        if closes {
            self.take(1);
        }
        closes
    }

    /// Takes the next value without taking it apart.
    fn whole(&mut self) -> &'a str {
        let len = match self.next() {
            Some(b'"') => raw::string_len(self.rest),
            Some(b'[' | b'{') => brackets_len(self.rest),
            _ => {
                let is_end =
                    |byte: u8| matches!(byte, b',' | b':' | b']' | b'}') || byte.is_ascii_whitespace();
                self.rest.bytes().position(is_end).unwrap_or(self.rest.len())
            }
        };
        self.take(len)
    }

    fn take(&mut self, len: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at_checked(len).unwrap_or((self.rest, ""));
        self.rest = rest;
        taken
    }
}

/// The length of the array or object that `text` starts with.
fn brackets_len(text: &str) -> usize {
    let (mut at, mut open) = (0, 0_usize);
    while let Some((rest, byte)) = text.get(at..).and_then(|rest| Some((rest, rest.bytes().next()?))) {
        match byte {
            b'"' => {
                at += raw::string_len(rest);
                continue;
            }
            b'[' | b'{' => open += 1,
            b']' | b'}' => open = open.saturating_sub(1),
            _ => {}
        }
        at += 1;
        if open == 0 {
            return at;
        }
    }
    text.len()
}

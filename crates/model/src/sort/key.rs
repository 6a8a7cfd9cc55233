//! What a row is sorted by, as bytes that compare in the order the rows come in.
//!
//! Each cell becomes a run of bytes: a mark for its kind, then its content, written so that no run is the
//! start of another. Runs can then be joined, and turned round bit by bit for `desc`.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::direction::Direction;
use crate::value::{Kind, Number, fold, raw};

/// A row's place in an order. Keys of one order compare as their rows do.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(Box<[u8]>);

impl Key {
    /// Of a row's cells as raw JSON, the most important first.
    pub fn of<'a>(cells: impl IntoIterator<Item = (&'a str, Direction)>) -> Self {
        let mut writer = KeyWriter::default();
        for (raw, direction) in cells {
            writer.push(Some(raw), direction);
        }
        writer.finish()
    }

    /// A key that was taken as bytes before.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        Self(bytes.into())
    }

    /// Compare as the keys do. No key of an order is the start of another.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

/// Empty cells come last in both directions: their mark is the greatest byte and is never turned round.
const EMPTY: u8 = 0xff;
// All others in order, numbers first. None may be 0, whose reverse is the mark of empty cells.
const NUMBER: u8 = 0x10;
const DATE: u8 = 0x20;
const TEXT: u8 = 0x30;
const BOOL: u8 = 0x40;
const ARRAY: u8 = 0x50;
const OBJECT: u8 = 0x60;

/// Adds to `bytes` what a cell is sorted by, ascending: such runs compare as [`Key`]s of that cell alone do.
pub fn write_key(raw: &str, bytes: &mut Vec<u8>) {
    let mut writer = KeyWriter { bytes: std::mem::take(bytes) };
    writer.push(Some(raw), Direction::Asc);
    *bytes = writer.bytes;
}

/// Whether a run that [`write_key`] wrote is that of an empty cell, which comes last in both directions.
pub fn is_empty_key(key: &[u8]) -> bool {
    key.first() == Some(&EMPTY)
}

#[derive(Default)]
pub(super) struct KeyWriter {
    bytes: Vec<u8>,
}

impl KeyWriter {
    pub(super) fn push(&mut self, raw: Option<&str>, direction: Direction) {
        let start = self.bytes.len();
        // Dates without an offset are taken in UTC: an order names no time zone.
        match Kind::of(raw.unwrap_or("null"), &TimeZone::UTC) {
            Kind::Empty => {
                self.bytes.push(EMPTY);
                return;
            }
            Kind::Number(number) => self.push_number(&number),
            Kind::Date(date) => self.push_instant(date.instant),
            Kind::Text(text) => self.push_natural(&fold(&text)),
            Kind::Bool(truth) => self.bytes.extend([BOOL, u8::from(truth)]),
            Kind::Array(raw) => self.push_plain(ARRAY, &raw::compact(raw)),
            Kind::Object(raw) => self.push_plain(OBJECT, &raw::compact(raw)),
        }
        if direction == Direction::Desc {
            self.turn_round(start);
        }
    }

    pub(super) fn finish(self) -> Key {
        Key(self.bytes.into())
    }

    /// Sign, then power of ten, then digits; below zero the larger of these is the smaller number.
    fn push_number(&mut self, number: &Number<'_>) {
        self.bytes.push(NUMBER);
        if number.is_zero() {
            self.bytes.push(1);
            return;
        }
        self.bytes.push(if number.is_negative() { 0 } else { 2 });
        let start = self.bytes.len();
        self.push_i64(number.scale());
        self.bytes.extend(number.digits());
        self.bytes.push(0);
        if number.is_negative() {
            self.turn_round(start);
        }
    }

    fn push_instant(&mut self, instant: Timestamp) {
        self.bytes.push(DATE);
        self.push_i64(instant.as_second());
        self.push_i64(i64::from(instant.subsec_nanosecond()));
    }

    /// Natural order: a run of digits counts by its value (`file 9` before `file 10`), and stands where a
    /// digit would. Text that differs only in leading zeros is equal.
    fn push_natural(&mut self, folded: &str) {
        self.bytes.push(TEXT);
        let mut rest = folded;
        while !rest.is_empty() {
            let letters = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
            let (text, from_digit) = rest.split_at(letters);
            self.push_bytes(text);
            let digits = from_digit.find(|c: char| !c.is_ascii_digit()).unwrap_or(from_digit.len());
            let (run, after) = from_digit.split_at(digits);
            if !run.is_empty() {
                self.push_digits(run.trim_start_matches('0'));
            }
            rest = after;
        }
        self.bytes.push(0);
    }

    /// The mark is a digit, so that digits keep their place among other characters; then the longer
    /// number is the larger.
    fn push_digits(&mut self, significant: &str) {
        self.bytes.push(b'0');
        match u8::try_from(significant.len()) {
            Ok(short) if short < u8::MAX => self.bytes.push(short),
            _ => {
                self.bytes.push(u8::MAX);
                self.bytes.extend((significant.len() as u64).to_be_bytes());
            }
        }
        self.bytes.extend(significant.bytes());
    }

    fn push_plain(&mut self, mark: u8, text: &str) {
        self.bytes.push(mark);
        self.push_bytes(text);
        self.bytes.push(0);
    }

    /// Text in the order of its characters. A 0 ends a run, so 0 and 1 are written as pairs.
    fn push_bytes(&mut self, text: &str) {
        if text.bytes().all(|byte| byte > 1) {
            self.bytes.extend_from_slice(text.as_bytes());
            return;
        }
        for byte in text.bytes() {
            match byte {
                0 | 1 => self.bytes.extend([1, byte + 1]),
                _ => self.bytes.push(byte),
            }
        }
    }

    /// A signed number such that bytes compare as numbers do.
    fn push_i64(&mut self, number: i64) {
        self.bytes.extend((number ^ i64::MIN).to_be_bytes());
    }

    fn turn_round(&mut self, start: usize) {
        for byte in self.bytes.iter_mut().skip(start) {
            *byte = !*byte;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;

    use proptest::prelude::*;

    use super::*;

    fn key(raw: &str, direction: Direction) -> Key {
        let mut writer = KeyWriter::default();
        writer.push(Some(raw), direction);
        writer.finish()
    }

    /// Values in ascending order; those on one line are equal.
    const ORDERED: &[&[&str]] = &[
        &["-1e400"],
        &["-12345678901234567891"],
        &["-12345678901234567890", "\"-12345678901234567890\""],
        &["-2", "-2.0"],
        &["-1.5", "\" -1.50 \""],
        &["-0.001"],
        &["0", "-0", "\"0.0\""],
        &["1e-400"],
        &["0.5"],
        &["1", "1.0", "10e-1", "\"1\"", "\"+1\""],
        &["9"],
        &["\"9.5\""],
        &["10"],
        &["20240101", "\"20240101\""],
        &["1e400"],
        &["\"1969-12-31T23:59:59.5Z\""],
        &["\"2023-12-31\""],
        &["\"2024-01-01\"", "\"2024-01-01T00:00:00Z\"", "\"2024-01-01T02:00:00+02:00\""],
        &["\"2024-01-01T00:00:00.000000001Z\""],
        &["\"2024-01-01 10:00\""],
        &["\" \""],
        &["\"007\"", "\"07\""],
        &["\"10 apples\""],
        &["\"a\"", "\"A\""],
        &["\"a\\u0000\""],
        &["\"a\\u0001\""],
        &["\"a \""],
        &["\"a 1\"", "\"A 01\""],
        &["\"a1b2\""],
        &["\"a1b10\""],
        &["\"a2\""],
        &["\"a10\"", "\"a010\""],
        &["\"aa\""],
        &["\"file 9.txt\""],
        &["\"file 10.txt\""],
        &["\"File 100.txt\""],
        &["\"z\""],
        &["\"ä\"", "\"Ä\""],
        &["false"],
        &["true"],
        &["[\"b\"]"],
        &["[1,2]", "[1, 2]"],
        &["{\"a\":1}"],
        &["{\"a\":2}"],
        &["null", "\"\"", "[]", "{ }"],
    ];

    #[test]
    fn values_come_in_the_order_of_the_contract() {
        let last = ORDERED.len() - 1;
        for (i, j) in (0..=last).flat_map(|i| (0..=last).map(move |j| (i, j))) {
            for (a, b) in ORDERED[i].iter().flat_map(|a| ORDERED[j].iter().map(move |b| (a, b))) {
                let asc = key(a, Direction::Asc).cmp(&key(b, Direction::Asc));
                let desc = key(a, Direction::Desc).cmp(&key(b, Direction::Desc));
                assert_eq!(asc, i.cmp(&j), "{a} and {b}");
                let touches_empty = i == last || j == last;
                assert_eq!(desc, if touches_empty { asc } else { asc.reverse() }, "{a} and {b}, desc");
            }
        }
    }

    #[test]
    fn digit_runs_of_any_length_are_compared() {
        let long = |len: usize, last: char| format!("\"a{}{last}\"", "9".repeat(len));
        for (a, b) in [(253, 254), (254, 255), (255, 256), (300, 1000)] {
            assert!(key(&long(a, '1'), Direction::Asc) < key(&long(b, '0'), Direction::Asc));
            assert!(key(&long(a, '1'), Direction::Asc) < key(&long(a, '2'), Direction::Asc));
        }
    }

    fn any_cell() -> impl Strategy<Value = String> {
        prop_oneof![
            Just("null".to_owned()),
            Just("[]".to_owned()),
            any::<bool>().prop_map(|b| b.to_string()),
            "-?(0|[1-9][0-9]{0,3})(\\.[0-9]{1,3})?(e-?[0-9]{1,2})?",
            "\"-?[0-9]{1,3}\"",
            "\"20[0-9]{2}-0[1-9]-1[0-9](T1[0-9]:00(Z|[+-]0[0-9]:00)?)?\"",
            "\"[aAbB0-9 ä]{0,6}\"",
            "\\[(1|true|\"a\")\\]",
            "\\{\"a\":[0-9]\\}",
        ]
    }

    proptest! {
        #[test]
        fn several_keys_sort_as_one_after_another(
            a in (any_cell(), any_cell()), b in (any_cell(), any_cell()), desc in any::<(bool, bool)>()
        ) {
            let direction = |desc| if desc { Direction::Desc } else { Direction::Asc };
            let joined = |cells: &(String, String)| {
                let mut writer = KeyWriter::default();
                writer.push(Some(&cells.0), direction(desc.0));
                writer.push(Some(&cells.1), direction(desc.1));
                writer.finish()
            };
            let first = key(&a.0, direction(desc.0)).cmp(&key(&b.0, direction(desc.0)));
            let second = key(&a.1, direction(desc.1)).cmp(&key(&b.1, direction(desc.1)));
            prop_assert_eq!(joined(&a).cmp(&joined(&b)), first.then(second));
        }

        #[test]
        fn the_order_is_total(a in any_cell(), b in any_cell(), c in any_cell()) {
            for direction in Direction::ALL {
                let [a, b, c] = [&a, &b, &c].map(|raw| key(raw, direction));
                prop_assert_eq!(a.cmp(&b), b.cmp(&a).reverse());
                if a <= b && b <= c {
                    prop_assert!(a <= c);
                }
            }
        }

        #[test]
        fn numbers_sort_as_they_compare(a in "-?(0|[1-9][0-9]{0,9})(\\.[0-9]{1,9})?(e-?[0-9]{1,3})?", b in "-?(0|[1-9][0-9]{0,9})(\\.[0-9]{1,9})?(e-?[0-9]{1,3})?") {
            let by_value = Number::parse(&a).unwrap().cmp(&Number::parse(&b).unwrap());
            prop_assert_eq!(key(&a, Direction::Asc).cmp(&key(&b, Direction::Asc)), by_value);
        }

        #[test]
        fn text_sorts_by_a_plain_reading_of_natural_order(a in "[ab0-9 ]{0,8}", b in "[ab0-9 ]{0,8}") {
            let write = |text: &str| {
                let mut writer = KeyWriter::default();
                writer.push_natural(text);
                writer.finish()
            };
            prop_assert_eq!(write(&a).cmp(&write(&b)), natural(&a, &b));
        }
    }

    /// Natural order, told the slow way: runs of digits and single characters, one by one.
    fn natural(a: &str, b: &str) -> Ordering {
        #[derive(PartialEq, Eq, PartialOrd, Ord)]
        enum Part {
            Before(char),
            Digits(u128),
            After(char),
        }
        fn parts(text: &str) -> Vec<Part> {
            let mut parts = Vec::new();
            let mut chars = text.chars().peekable();
            while let Some(c) = chars.next() {
                if !c.is_ascii_digit() {
                    parts.push(if c < '0' { Part::Before(c) } else { Part::After(c) });
                    continue;
                }
                let mut run = c.to_string();
                while let Some(digit) = chars.next_if(char::is_ascii_digit) {
                    run.push(digit);
                }
                parts.push(Part::Digits(run.parse().unwrap()));
            }
            parts
        }
        parts(a).cmp(&parts(b))
    }
}

//! A place in a list, to go on from: what the last row of a page was sorted by, and its position.
//!
//! A cursor says all of it in its text, so any node can go on from it, whatever became of the row.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rowmill_model::Table;
use rowmill_model::sort::{Key, Sorting};
use xxhash_rust::xxh3::xxh3_64;

/// The last row of a page: where it lies, how many rows came up to it, and what it was sorted by.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Cursor {
    pub position: u64,
    pub rank: u64,
    /// `None` in order of creation.
    pub(crate) sorted: Option<SortedBy>,
}

/// What a row was sorted by when a page ended with it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct SortedBy {
    /// Of the sorting: keys of another one mean nothing in it.
    sorting: u32,
    /// The row's key, or the beginning of it.
    pub(crate) key: Box<[u8]>,
    /// What helps where the key did not fit.
    pub(crate) cut: Option<Cut>,
}

/// The rows on both sides of a place among keys that begin alike. As long as one of them is what it was, the
/// place is known exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Cut {
    /// Hash of the last row's whole key.
    pub(crate) hash: u64,
    /// Position of the row behind, and the hash of its key.
    pub(crate) next: Option<(u64, u64)>,
}

impl SortedBy {
    /// As much of a key as a cursor carries. Longer ones are rare: it is a text of that many letters, about.
    pub(crate) const KEY_BYTES_MAX: usize = 1_536;

    /// The place behind a row, before the next one.
    pub(crate) fn behind(sorting: u32, key: &Key, next: Option<(&Key, u64)>) -> Self {
        let bytes = key.as_bytes();
        let cut = (bytes.len() > Self::KEY_BYTES_MAX)
            .then(|| Cut { hash: hash_of(key), next: next.map(|(key, position)| (position, hash_of(key))) });
        let key = bytes.get(..Self::KEY_BYTES_MAX).unwrap_or(bytes).into();
        Self { sorting, key, cut }
    }
}

pub(crate) fn hash_of(key: &Key) -> u64 {
    xxh3_64(key.as_bytes())
}

/// What tells one sorting from another; `None` for the order of creation. The types of columns are part of it: in another
/// type, the same keys mean something else.
pub(crate) fn sorting_digest(sorting: &Sorting, table: &Table) -> Option<u32> {
    let mut text = serde_json::to_string(sorting).unwrap_or_default();
    let columns = sorting.columns().into_iter().filter_map(|id| table.by_id(id.as_str()));
    for format in columns.filter_map(|column| column.format.as_ref()) {
        text.push_str(&serde_json::to_string(format).unwrap_or_default());
    }
    (!sorting.is_empty()).then(|| u32::try_from(xxh3_64(text.as_bytes()) >> 32).unwrap_or_default())
}

impl Cursor {
    /// The longest text a cursor is written as.
    pub const LEN_MAX: usize = 2_200;

    /// Whether it is of a list with this sorting.
    pub fn is_of(&self, sorting: &Sorting, table: &Table) -> bool {
        self.sorted.as_ref().map(|sorted| sorted.sorting) == sorting_digest(sorting, table)
    }

    pub fn parse(text: &str) -> Option<Self> {
        if let Some(text) = text.strip_prefix('c') {
            let (position, rank) = text.split_once('-')?;
            return Self::new(position, rank, None);
        }
        let (text, key) = text.strip_prefix('s')?.split_once('.')?;
        let key = URL_SAFE_NO_PAD.decode(key).ok().filter(|key| key.len() <= SortedBy::KEY_BYTES_MAX)?;
        let mut fields = text.split('-');
        let (sorting, position, rank) = (fields.next()?, fields.next()?, fields.next()?);
        let cut = match (fields.next(), fields.next(), fields.next(), fields.next()) {
            (None, ..) => None,
            (Some(hash), None, ..) => Some(Cut { hash: number(hash)?, next: None }),
            (Some(hash), Some(position), Some(next), None) => {
                Some(Cut { hash: number(hash)?, next: Some((number(position)?, number(next)?)) })
            }
            _ => return None,
        };
        let sorting = u32::try_from(number(sorting)?).ok()?;
        Self::new(position, rank, Some(SortedBy { sorting, key: key.into(), cut }))
    }

    fn new(position: &str, rank: &str, sorted: Option<SortedBy>) -> Option<Self> {
        // Both are at most 40 bits wide, so that no sum of them runs over.
        let cursor = Self { position: number(position)?, rank: number(rank)?, sorted };
        Some(cursor).filter(|cursor| cursor.position < 1 << 40 && cursor.rank <= 1 << 40)
    }
}

fn number(digits: &str) -> Option<u64> {
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    plain.then(|| u64::from_str_radix(digits, 16).ok()).flatten()
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { position, rank, sorted } = self;
        let Some(SortedBy { sorting, key, cut }) = sorted else {
            return write!(f, "c{position:x}-{rank:x}");
        };
        write!(f, "s{sorting:x}-{position:x}-{rank:x}")?;
        if let Some(Cut { hash, next }) = cut {
            write!(f, "-{hash:x}")?;
            if let Some((position, hash)) = next {
                write!(f, "-{position:x}-{hash:x}")?;
            }
        }
        write!(f, ".{}", URL_SAFE_NO_PAD.encode(key))
    }
}

#[cfg(test)]
mod tests {
    use rowmill_model::sort::Direction;

    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let (position, rank) = ((1 << 40) - 1, 1 << 40);
        let key = |raw: &str| Key::of([(raw, Direction::Desc), ("5", Direction::Asc)]);
        let long = key(&format!("\"{}\"", "ä".repeat(5_000)));
        let sorted = [
            None,
            Some(SortedBy::behind(u32::MAX, &key("\"Ada\""), Some((&long, 7)))),
            Some(SortedBy::behind(1, &long, None)),
            Some(SortedBy::behind(u32::MAX, &long, Some((&long, u64::from(u32::MAX))))),
        ];
        for sorted in sorted {
            let cursor = Cursor { position, rank, sorted };
            let text = cursor.to_string();
            assert_eq!(Cursor::parse(&text).as_ref(), Some(&cursor));
            assert!(text.len() <= Cursor::LEN_MAX, "{} characters", text.len());
            assert!(
                text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte)),
                "{text}"
            );
        }
        for bad in [
            "",
            "c",
            "c-",
            "c1",
            "c1-",
            "1-2",
            "cx-1",
            "c+1-1",
            "cfffffffffffffffff-1",
            "cffffffffffffffff-1",
            "c0-ffffffffffffffff",
            "s",
            "s1-1-1",
            "s1-1.",
            "s1-1-1.?",
            "s1-1-1-1-1.",
            "s1-1-1-1-1-1-1.",
            "s1ffffffff-1-1.",
            "s1-ffffffffffffffff-1.",
        ] {
            assert_eq!(Cursor::parse(bad), None, "{bad}");
        }
        let much = format!("s1-1-1.{}", "A".repeat(2_100));
        assert_eq!(Cursor::parse(&much), None);
    }
}

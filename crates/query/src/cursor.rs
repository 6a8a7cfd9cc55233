//! A place in a list, to go on from.

use std::fmt;

/// The last row of a page: where it lies, and how many rows came up to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Cursor {
    pub position: u64,
    pub rank: u64,
}

impl Cursor {
    /// The longest text a cursor is written as.
    pub const LEN_MAX: usize = 64;

    pub fn parse(text: &str) -> Option<Self> {
        let (position, rank) = text.strip_prefix('c')?.split_once('-')?;
        let number = |digits: &str| {
            let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
            plain.then(|| u64::from_str_radix(digits, 16).ok()).flatten()
        };
        // Both are at most 40 bits wide, so that no sum of them runs over.
        let cursor = Self { position: number(position)?, rank: number(rank)? };
        Some(cursor).filter(|cursor| cursor.position < 1 << 40 && cursor.rank <= 1 << 40)
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "c{:x}-{:x}", self.position, self.rank)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let cursor = Cursor { position: 1_234_567, rank: 99 };
        assert_eq!(Cursor::parse(&cursor.to_string()), Some(cursor));
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
        ] {
            assert_eq!(Cursor::parse(bad), None, "{bad}");
        }
    }
}

//! How rows are packed: slots, lengths, and what they take.

/// A column's number within its project.
pub type Slot = u32;

/// Bytes that are not a record: the database was damaged, or written by something else.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("a stored row is damaged: its values cannot be unpacked")]
pub struct Damaged;

/// How many bytes a record takes that has so many cells, which take so many.
pub fn record_bytes(count: usize, cells_bytes: usize) -> usize {
    if count == 0 { 0 } else { varint_bytes(count) + cells_bytes }
}

/// How many bytes a cell with a text of so many takes in a record.
pub fn cell_bytes(slot: Slot, text_bytes: usize) -> usize {
    varint_bytes(slot as usize) + varint_bytes(text_bytes) + text_bytes
}

fn varint_bytes(number: usize) -> usize {
    std::iter::successors(Some(number >> 7), |rest| Some(rest >> 7)).take_while(|rest| *rest > 0).count() + 1
}

pub(crate) fn push_varint(bytes: &mut Vec<u8>, mut number: usize) {
    while number >= 0x80 {
        bytes.push(u8::try_from(number & 0x7f).unwrap_or_default() | 0x80);
        number >>= 7;
    }
    bytes.push(u8::try_from(number).unwrap_or_default());
}

#[inline]
pub(crate) fn take_varint(rest: &mut &[u8]) -> Result<usize, Damaged> {
    // Most are short.
    if let [byte @ ..0x80, tail @ ..] = *rest {
        *rest = tail;
        return Ok(usize::from(*byte));
    }
    let mut number = 0_usize;
    for shift in (0..35).step_by(7) {
        let (byte, tail) = rest.split_first().ok_or(Damaged)?;
        *rest = tail;
        number |= usize::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(number);
        }
    }
    Err(Damaged)
}

//! The marks of 256 rows that lie together.
//!
//! Statuses are kept apart from values and by column, so that triggering, stopping and counting a
//! million rows touches a few thousand small blocks and not a million rows.

use std::collections::{BTreeMap, BTreeSet};

use super::askings::Refiling;
use super::mark::Mark;
use crate::packing::{Damaged, Slot, push_varint, take_varint};

/// How many rows a block has room for.
pub const BLOCK_ROWS: usize = 1 << BLOCK_BITS;
/// A position, shifted by this, is the number of its block.
pub const BLOCK_BITS: u32 = 8;

/// The block a position lies in.
pub fn block_of(position: u64) -> u64 {
    position >> BLOCK_BITS
}

/// A position's place within its block.
pub fn place_of(position: u64) -> u8 {
    u8::try_from(position & 0xff).unwrap_or_default()
}

/// The position of a place in a block.
pub fn position_of(block: u64, place: u8) -> u64 {
    block << BLOCK_BITS | u64::from(place)
}

/// The marks of a block's cells, by column. Cells that were never touched take no room.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Block {
    lanes: BTreeMap<Slot, Box<[u16; BLOCK_ROWS]>>,
}

/// How many completed cells became stale, and how many up to date.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StaleChange {
    pub stale: u64,
    pub fresh: u64,
}

impl std::ops::AddAssign for StaleChange {
    fn add_assign(&mut self, other: Self) {
        self.stale += other.stale;
        self.fresh += other.fresh;
    }
}

/// How a column's marks are written: all alike, or one by one.
const UNIFORM: u8 = 0;
const EACH: u8 = 1;

impl Block {
    pub fn get(&self, slot: Slot, place: u8) -> Mark {
        let bits = self.lanes.get(&slot).and_then(|lane| lane.get(usize::from(place)));
        bits.and_then(|bits| Mark::from_bits(*bits)).unwrap_or_default()
    }

    pub fn set(&mut self, slot: Slot, place: u8, mark: Mark) {
        if mark == Mark::default() && !self.lanes.contains_key(&slot) {
            return;
        }
        let lane = self.lanes.entry(slot).or_insert_with(|| Box::new([0; BLOCK_ROWS]));
        if let Some(bits) = lane.get_mut(usize::from(place)) {
            *bits = mark.to_bits();
        }
    }

    /// Forgets a row.
    pub fn clear(&mut self, place: u8) {
        for lane in self.lanes.values_mut() {
            if let Some(bits) = lane.get_mut(usize::from(place)) {
                *bits = 0;
            }
        }
    }

    /// Takes a row's marks out, those of cells that were touched.
    pub fn take(&mut self, place: u8) -> Vec<(Slot, Mark)> {
        let mut marks = Vec::new();
        for (slot, lane) in &mut self.lanes {
            if let Some(bits) = lane.get_mut(usize::from(place)) {
                let mark = Mark::from_bits(std::mem::take(bits)).unwrap_or_default();
                if mark != Mark::default() {
                    marks.push((*slot, mark));
                }
            }
        }
        marks
    }

    /// Puts the cells of a column that wait or run back to what they were: the column was deleted, and its marks are kept.
    pub fn stop_column(&mut self, slot: Slot) {
        for bits in self.lanes.get_mut(&slot).into_iter().flat_map(|lane| lane.iter_mut()) {
            if let Some(mark) = Mark::from_bits(*bits).filter(|mark| mark.is_pending()) {
                *bits = mark.stopped().to_bits();
            }
        }
    }

    /// Marks what a column's cells hold as out of date, because the column asks something else now; or as up to date,
    /// if it asks what they answer. Says how many became which.
    pub fn redefine(&mut self, refiling: Refiling) -> StaleChange {
        let mut change = StaleChange::default();
        for bits in self.lanes.get_mut(&refiling.slot).into_iter().flat_map(|lane| lane.iter_mut()) {
            let Some(mark) = Mark::from_bits(*bits).filter(|mark| !mark.is_idle()) else { continue };
            let redefined = mark.redefined(refiling);
            change.stale += u64::from(redefined.is_stale() && !mark.is_stale());
            change.fresh += u64::from(mark.is_stale() && !redefined.is_stale());
            *bits = redefined.to_bits();
        }
        change
    }

    /// The places of a column's cells that a worker may take, in order.
    pub fn ready(&self, slot: Slot) -> impl Iterator<Item = u8> {
        let lane: &[u16] = self.lanes.get(&slot).map_or(&[], |lane| lane.as_slice());
        let places = (0..=u8::MAX).zip(lane);
        places.filter(|(_, bits)| Mark::bits_are_ready(**bits)).map(|(place, _)| place)
    }

    /// Whether a worker may take a cell.
    pub fn is_ready(&self, slot: Slot, place: u8) -> bool {
        let bits = self.lanes.get(&slot).and_then(|lane| lane.get(usize::from(place)));
        bits.is_some_and(|bits| Mark::bits_are_ready(*bits))
    }

    /// Forgets the columns that are not among these.
    pub fn keep_only(&mut self, slots: impl Iterator<Item = Slot>) {
        let slots: BTreeSet<Slot> = slots.collect();
        self.lanes.retain(|slot, _| slots.contains(slot));
    }

    /// The columns some cell of which was touched.
    pub fn slots(&self) -> impl Iterator<Item = Slot> {
        self.lanes.keys().copied()
    }

    /// Empty if no cell was touched.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (slot, lane) in &self.lanes {
            let first = lane.first().copied().unwrap_or_default();
            let is_uniform = lane.iter().all(|bits| *bits == first);
            if is_uniform && first == 0 {
                continue;
            }
            push_varint(&mut bytes, *slot as usize);
            if is_uniform {
                bytes.push(UNIFORM);
                bytes.extend_from_slice(&first.to_le_bytes());
            } else {
                bytes.push(EACH);
                bytes.extend(lane.iter().flat_map(|bits| bits.to_le_bytes()));
            }
        }
        bytes
    }

    pub fn decode(mut bytes: &[u8]) -> Result<Self, Damaged> {
        let mut lanes = BTreeMap::new();
        while !bytes.is_empty() {
            let slot = Slot::try_from(take_varint(&mut bytes)?).map_err(|_| Damaged)?;
            let (tag, rest) = bytes.split_first().ok_or(Damaged)?;
            let len = match *tag {
                UNIFORM => 2,
                EACH => 2 * BLOCK_ROWS,
                _ => return Err(Damaged),
            };
            let (marks, rest) = rest.split_at_checked(len).ok_or(Damaged)?;
            let mut marks = marks.as_chunks::<2>().0.iter().map(|bits| u16::from_le_bytes(*bits)).cycle();
            let lane: Box<[u16; BLOCK_ROWS]> = Box::new(std::array::from_fn(|_| marks.next().unwrap_or(0)));
            if lane.iter().any(|bits| Mark::from_bits(*bits).is_none()) {
                return Err(Damaged);
            }
            lanes.insert(slot, lane);
            bytes = rest;
        }
        Ok(Self { lanes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell_status::CellStatus;
    use crate::plan::mark::Phase;

    #[test]
    fn what_is_encoded_is_decoded_and_alike_marks_take_little_room() {
        let queued = Mark { status: CellStatus::Queued, phase: Phase::Ready, ..Mark::default() };
        let mut block = Block::default();
        assert!(block.encode().is_empty());
        for place in 0..=u8::MAX {
            block.set(3, place, queued);
        }
        assert_eq!(block.encode().len(), 4);
        block.set(700, 9, Mark { status: CellStatus::Error, ..Mark::default() });
        let again = Block::decode(&block.encode()).unwrap();
        assert_eq!(again, block);
        assert_eq!((again.get(3, 255), again.get(700, 9).status), (queued, CellStatus::Error));
        assert_eq!((again.get(700, 8), again.get(4, 0)), (Mark::default(), Mark::default()));
        assert_eq!((again.ready(3).count(), again.ready(700).count()), (256, 0));
        block.clear(9);
        assert_eq!(block.ready(3).count(), 255);
        assert_eq!(block.get(700, 9), Mark::default());
    }

    #[test]
    fn damaged_bytes_are_an_error_and_never_a_panic() {
        for bytes in
            [&[1_u8][..], &[1, 0], &[1, 0, 0], &[1, 2, 0, 0], &[1, 1, 0, 0], &[1, 0, 7, 0], &[0xff; 9]]
        {
            assert_eq!(Block::decode(bytes), Err(Damaged), "{bytes:?}");
        }
    }

    #[test]
    fn positions_have_a_block_and_a_place() {
        for position in [0, 255, 256, 1_000_003] {
            assert_eq!(position_of(block_of(position), place_of(position)), position);
        }
    }
}

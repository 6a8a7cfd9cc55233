//! A long list of numbers that others are put in between, in pieces short enough to be moved.

/// How many numbers a piece has when it is made; one of twice as many is cut in two.
/// Few in tests, so that their short lists have several.
const PIECE: usize = if cfg!(test) { 4 } else { 2_048 };

/// By how much a piece grows that is full.
const GROWTH: usize = PIECE / 4;

/// A list of numbers. No piece is empty.
#[derive(Debug, Default)]
pub(crate) struct Pieces {
    pieces: Vec<Vec<u32>>,
    len: usize,
}

/// Where a number stands, or would stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    piece: usize,
    at: usize,
}

impl From<Vec<u32>> for Pieces {
    fn from(numbers: Vec<u32>) -> Self {
        Self { len: numbers.len(), pieces: numbers.chunks(PIECE).map(<[u32]>::to_vec).collect() }
    }
}

impl Pieces {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.pieces.iter().flatten().copied()
    }

    /// The numbers from this place on.
    pub(crate) fn iter_from(&self, place: Place) -> impl Iterator<Item = u32> + '_ {
        self.pieces.get(place.piece..).unwrap_or_default().iter().flatten().copied().skip(place.at)
    }

    /// All numbers before a place, piece by piece.
    pub(crate) fn parts_up_to(&self, place: Place) -> impl DoubleEndedIterator<Item = &[u32]> {
        let whole = self.pieces.get(..place.piece).unwrap_or(&self.pieces);
        let last = self.pieces.get(place.piece).and_then(|piece| piece.get(..place.at));
        whole.iter().map(Vec::as_slice).chain(last)
    }

    /// The place behind so many numbers.
    pub(crate) fn place_at(&self, index: usize) -> Place {
        let mut at = index.min(self.len);
        for (piece, numbers) in self.pieces.iter().enumerate() {
            if at < numbers.len() {
                return Place { piece, at };
            }
            at -= numbers.len();
        }
        Place { piece: self.pieces.len(), at: 0 }
    }

    /// How many numbers come before a place.
    pub(crate) fn index_of(&self, place: Place) -> usize {
        let before = self.pieces.get(..place.piece).unwrap_or(&self.pieces);
        before.iter().map(Vec::len).sum::<usize>() + place.at
    }

    pub(crate) fn get(&self, place: Place) -> Option<u32> {
        self.pieces.get(place.piece)?.get(place.at).copied()
    }

    /// The number before a place.
    pub(crate) fn before(&self, place: Place) -> Option<u32> {
        match place.at.checked_sub(1) {
            Some(at) => self.get(Place { at, ..place }),
            None => self.pieces.get(place.piece.checked_sub(1)?)?.last().copied(),
        }
    }

    /// The place of the first number that is not before, where all that are come first.
    pub(crate) fn partition_point(&self, mut is_before: impl FnMut(u32) -> bool) -> Place {
        let piece = self.pieces.partition_point(|piece| piece.last().is_some_and(|last| is_before(*last)));
        let numbers = self.pieces.get(piece).map(Vec::as_slice).unwrap_or_default();
        Place { piece, at: numbers.partition_point(|number| is_before(*number)) }
    }

    pub(crate) fn insert(&mut self, place: Place, number: u32) {
        self.len += 1;
        let Place { mut piece, mut at } = place;
        // What comes behind all others goes to the end of the last piece.
        if piece == self.pieces.len() {
            let Some(last) = self.pieces.len().checked_sub(1) else {
                self.pieces.push(vec![number]);
                return;
            };
            piece = last;
            at = self.pieces.get(last).map_or(0, Vec::len);
        }
        let Some(numbers) = self.pieces.get_mut(piece) else { return };
        if numbers.len() == numbers.capacity() {
            numbers.reserve_exact(GROWTH);
        }
        numbers.insert(at, number);
        if numbers.len() >= 2 * PIECE {
            let behind = numbers.split_off(PIECE);
            numbers.shrink_to_fit();
            self.pieces.insert(piece + 1, behind);
        }
    }

    pub(crate) fn remove(&mut self, place: Place) {
        let Some(numbers) = self.pieces.get_mut(place.piece) else { return };
        numbers.remove(place.at);
        self.len -= 1;
        if numbers.is_empty() {
            self.pieces.remove(place.piece);
        }
    }

    pub(crate) fn retain(&mut self, mut is_kept: impl FnMut(u32) -> bool) {
        for piece in &mut self.pieces {
            piece.retain(|number| is_kept(*number));
        }
        self.pieces.retain(|piece| !piece.is_empty());
        self.len = self.pieces.iter().map(Vec::len).sum();
    }

    pub(crate) fn bytes(&self) -> usize {
        let numbers: usize = self.pieces.iter().map(Vec::capacity).sum();
        numbers * 4 + self.pieces.capacity() * size_of::<Vec<u32>>()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Debug, Clone)]
    enum Step {
        Insert(u32),
        Remove(u32),
        Retain(u32),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            4 => (0..200_u32).prop_map(Step::Insert),
            2 => (0..200_u32).prop_map(Step::Remove),
            1 => (2..9_u32).prop_map(Step::Retain),
        ]
    }

    proptest! {
        #[test]
        fn pieces_are_a_list(start in 0..40_u32, steps in proptest::collection::vec(step(), 0..120)) {
            let mut list: Vec<u32> = (0..start).map(|number| number * 5).collect();
            let mut pieces = Pieces::from(list.clone());
            for step in steps {
                match step {
                    Step::Insert(number) => {
                        let index = list.partition_point(|other| *other < number);
                        let place = pieces.partition_point(|other| other < number);
                        prop_assert_eq!(pieces.index_of(place), index);
                        prop_assert_eq!(pieces.get(place), list.get(index).copied());
                        let before = index.checked_sub(1).and_then(|before| list.get(before)).copied();
                        prop_assert_eq!(pieces.before(place), before);
                        list.insert(index, number);
                        pieces.insert(place, number);
                    }
                    Step::Remove(index) => {
                        let index = index as usize;
                        if index < list.len() {
                            list.remove(index);
                            pieces.remove(pieces.place_at(index));
                        }
                    }
                    Step::Retain(part) => {
                        list.retain(|number| number % part != 0);
                        pieces.retain(|number| number % part != 0);
                    }
                }
                prop_assert_eq!(pieces.len(), list.len());
                prop_assert_eq!(pieces.iter().collect::<Vec<_>>(), list.clone());
                for index in 0..list.len() + 2 {
                    let behind: Vec<u32> = pieces.iter_from(pieces.place_at(index)).collect();
                    prop_assert_eq!(behind.as_slice(), list.get(index..).unwrap_or_default());
                    let before: Vec<u32> = pieces.parts_up_to(pieces.place_at(index)).flatten().copied().collect();
                    prop_assert_eq!(before.as_slice(), list.get(..index).unwrap_or(&list));
                }
                prop_assert!(pieces.pieces.iter().all(|piece| !piece.is_empty() && piece.len() < 2 * PIECE));
            }
        }
    }
}

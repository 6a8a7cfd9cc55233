//! A chunked list of numbers: inserting in the middle moves one chunk only.

/// How many numbers a chunk has when it is made; one of twice as many is cut in two.
/// Few in tests, so that their short lists have several.
const CHUNK: usize = if cfg!(test) { 4 } else { 2_048 };

/// By how much a chunk grows that is full.
const GROWTH: usize = CHUNK / 4;

/// A list of numbers. No chunk is empty.
#[derive(Debug, Default)]
pub(crate) struct ChunkedList {
    chunks: Vec<Vec<u32>>,
    len: usize,
}

/// Where a number stands, or would stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ListPosition {
    chunk: usize,
    at: usize,
}

impl From<Vec<u32>> for ChunkedList {
    fn from(numbers: Vec<u32>) -> Self {
        Self { len: numbers.len(), chunks: numbers.chunks(CHUNK).map(<[u32]>::to_vec).collect() }
    }
}

impl ChunkedList {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.chunks.iter().flatten().copied()
    }

    /// The numbers from this place on.
    pub(crate) fn iter_from(&self, place: ListPosition) -> impl Iterator<Item = u32> + '_ {
        self.chunks.get(place.chunk..).unwrap_or_default().iter().flatten().copied().skip(place.at)
    }

    /// All numbers before a place, chunk by chunk.
    pub(crate) fn parts_up_to(&self, place: ListPosition) -> impl DoubleEndedIterator<Item = &[u32]> {
        let whole = self.chunks.get(..place.chunk).unwrap_or(&self.chunks);
        let last = self.chunks.get(place.chunk).and_then(|chunk| chunk.get(..place.at));
        whole.iter().map(Vec::as_slice).chain(last)
    }

    /// The place behind so many numbers.
    pub(crate) fn place_at(&self, index: usize) -> ListPosition {
        let mut at = index.min(self.len);
        for (chunk, numbers) in self.chunks.iter().enumerate() {
            if at < numbers.len() {
                return ListPosition { chunk, at };
            }
            at -= numbers.len();
        }
        ListPosition { chunk: self.chunks.len(), at: 0 }
    }

    /// How many numbers come before a place.
    pub(crate) fn index_of(&self, place: ListPosition) -> usize {
        let before = self.chunks.get(..place.chunk).unwrap_or(&self.chunks);
        before.iter().map(Vec::len).sum::<usize>() + place.at
    }

    pub(crate) fn get(&self, place: ListPosition) -> Option<u32> {
        self.chunks.get(place.chunk)?.get(place.at).copied()
    }

    /// The number before a place.
    pub(crate) fn before(&self, place: ListPosition) -> Option<u32> {
        match place.at.checked_sub(1) {
            Some(at) => self.get(ListPosition { at, ..place }),
            None => self.chunks.get(place.chunk.checked_sub(1)?)?.last().copied(),
        }
    }

    /// The place of the first number that is not before, where all that are come first.
    pub(crate) fn partition_point(&self, mut is_before: impl FnMut(u32) -> bool) -> ListPosition {
        let chunk = self.chunks.partition_point(|chunk| chunk.last().is_some_and(|last| is_before(*last)));
        let numbers = self.chunks.get(chunk).map(Vec::as_slice).unwrap_or_default();
        ListPosition { chunk, at: numbers.partition_point(|number| is_before(*number)) }
    }

    pub(crate) fn insert(&mut self, place: ListPosition, number: u32) {
        self.len += 1;
        let ListPosition { mut chunk, mut at } = place;
        // What comes behind all others goes to the end of the last chunk.
        if chunk == self.chunks.len() {
            let Some(last) = self.chunks.len().checked_sub(1) else {
                self.chunks.push(vec![number]);
                return;
            };
            chunk = last;
            at = self.chunks.get(last).map_or(0, Vec::len);
        }
        let Some(numbers) = self.chunks.get_mut(chunk) else { return };
        if numbers.len() == numbers.capacity() {
            numbers.reserve_exact(GROWTH);
        }
        numbers.insert(at, number);
        if numbers.len() >= 2 * CHUNK {
            let behind = numbers.split_off(CHUNK);
            numbers.shrink_to_fit();
            self.chunks.insert(chunk + 1, behind);
        }
    }

    pub(crate) fn remove(&mut self, place: ListPosition) {
        let Some(numbers) = self.chunks.get_mut(place.chunk) else { return };
        numbers.remove(place.at);
        self.len -= 1;
        if numbers.is_empty() {
            self.chunks.remove(place.chunk);
        }
    }

    pub(crate) fn retain(&mut self, mut is_kept: impl FnMut(u32) -> bool) {
        for chunk in &mut self.chunks {
            chunk.retain(|number| is_kept(*number));
        }
        self.chunks.retain(|chunk| !chunk.is_empty());
        self.len = self.chunks.iter().map(Vec::len).sum();
    }

    /// Removes numbers, and puts in others that are in order among themselves, in one pass over the chunks.
    pub(crate) fn merge<C: Coming>(
        &mut self,
        is_kept: impl Fn(u32) -> bool,
        mut coming: &[C],
        is_before: impl Fn(&C, u32) -> bool,
    ) {
        let mut chunks = Vec::with_capacity(self.chunks.len());
        let mut places = Vec::new();
        for mut chunk in std::mem::take(&mut self.chunks) {
            chunk.retain(|number| is_kept(*number));
            let Some(last) = chunk.last().copied() else { continue };
            let here = coming.partition_point(|number| is_before(number, last));
            let (before, behind) = coming.split_at(here);
            coming = behind;
            if before.is_empty() {
                chunks.push(chunk);
            } else {
                find_places(&chunk, before, &is_before, &mut places);
                push_in_pieces(&mut chunks, &merged(&chunk, before, &places));
            }
        }
        let behind_all: Vec<u32> = coming.iter().map(Coming::number).collect();
        push_in_pieces(&mut chunks, &behind_all);
        self.len = chunks.iter().map(Vec::len).sum();
        self.chunks = chunks;
    }

    pub(crate) fn bytes(&self) -> usize {
        let numbers: usize = self.chunks.iter().map(Vec::capacity).sum();
        numbers * 4 + self.chunks.capacity() * size_of::<Vec<u32>>()
    }
}

/// A number that is put into a list, with what it is compared by.
pub(crate) trait Coming {
    fn number(&self) -> u32;
}

impl Coming for u32 {
    fn number(&self) -> u32 {
        *self
    }
}

/// How many numbers of a list come before each of those that are put in.
///
/// Every comparison looks up something that is far away in memory. So all binary searches take their first step, then all
/// their second: the processor fetches what they need at the same time.
fn find_places<C>(
    there: &[u32],
    coming: &[C],
    is_before: &impl Fn(&C, u32) -> bool,
    places: &mut Vec<usize>,
) {
    places.clear();
    places.resize(coming.len(), 0);
    let mut width = there.len();
    while width > 0 {
        let half = width / 2;
        for (place, number) in places.iter_mut().zip(coming) {
            let is_behind = there.get(*place + half).is_some_and(|other| !is_before(number, *other));
            *place = if is_behind { *place + half + 1 } else { *place };
        }
        width = half;
    }
}

/// Two lists as one, the second put in at these places of the first.
fn merged<C: Coming>(there: &[u32], coming: &[C], places: &[usize]) -> Vec<u32> {
    let mut both = Vec::with_capacity(there.len() + coming.len());
    let mut taken = 0;
    for (number, place) in coming.iter().zip(places) {
        both.extend_from_slice(there.get(taken..*place).unwrap_or_default());
        both.push(number.number());
        taken = *place;
    }
    both.extend_from_slice(there.get(taken..).unwrap_or_default());
    both
}

/// Adds numbers as chunks of which none is too long.
fn push_in_pieces(chunks: &mut Vec<Vec<u32>>, numbers: &[u32]) {
    if numbers.len() < 2 * CHUNK {
        chunks.extend((!numbers.is_empty()).then(|| numbers.to_vec()));
    } else {
        chunks.extend(numbers.chunks(CHUNK).map(<[u32]>::to_vec));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Debug, Clone)]
    enum ListEdit {
        Insert(u32),
        Remove(u32),
        Retain(u32),
        Merge { gone: u32, coming: Vec<u32> },
    }

    fn step() -> impl Strategy<Value = ListEdit> {
        prop_oneof![
            4 => (0..200_u32).prop_map(ListEdit::Insert),
            2 => (0..200_u32).prop_map(ListEdit::Remove),
            1 => (2..9_u32).prop_map(ListEdit::Retain),
            1 => (2..9_u32, proptest::collection::vec(0..200_u32, 0..30))
                .prop_map(|(gone, coming)| ListEdit::Merge { gone, coming }),
        ]
    }

    proptest! {
        #[test]
        fn chunks_are_a_list(start in 0..40_u32, steps in proptest::collection::vec(step(), 0..120)) {
            let mut list: Vec<u32> = (0..start).map(|number| number * 5).collect();
            let mut chunks = ChunkedList::from(list.clone());
            for step in steps {
                match step {
                    ListEdit::Insert(number) => {
                        let index = list.partition_point(|other| *other < number);
                        let place = chunks.partition_point(|other| other < number);
                        prop_assert_eq!(chunks.index_of(place), index);
                        prop_assert_eq!(chunks.get(place), list.get(index).copied());
                        let before = index.checked_sub(1).and_then(|before| list.get(before)).copied();
                        prop_assert_eq!(chunks.before(place), before);
                        list.insert(index, number);
                        chunks.insert(place, number);
                    }
                    ListEdit::Remove(index) => {
                        let index = index as usize;
                        if index < list.len() {
                            list.remove(index);
                            chunks.remove(chunks.place_at(index));
                        }
                    }
                    ListEdit::Retain(part) => {
                        list.retain(|number| number % part != 0);
                        chunks.retain(|number| number % part != 0);
                    }
                    ListEdit::Merge { gone, mut coming } => {
                        coming.sort_unstable();
                        chunks.merge(|number| number % gone != 0, &coming, |a, b| *a < b);
                        list.retain(|number| number % gone != 0);
                        list.extend(coming);
                        list.sort_unstable();
                    }
                }
                prop_assert_eq!(chunks.len(), list.len());
                prop_assert_eq!(chunks.iter().collect::<Vec<_>>(), list.clone());
                for index in 0..list.len() + 2 {
                    let behind: Vec<u32> = chunks.iter_from(chunks.place_at(index)).collect();
                    prop_assert_eq!(behind.as_slice(), list.get(index..).unwrap_or_default());
                    let before: Vec<u32> = chunks.parts_up_to(chunks.place_at(index)).flatten().copied().collect();
                    prop_assert_eq!(before.as_slice(), list.get(..index).unwrap_or(&list));
                }
                prop_assert!(chunks.chunks.iter().all(|chunk| !chunk.is_empty() && chunk.len() < 2 * CHUNK));
            }
        }
    }
}

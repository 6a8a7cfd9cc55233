//! A bitmap of the 256 places of a block.

use crate::error::{Result, StoreError};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Places([u64; 4]);

impl Places {
    /// The places before one.
    pub fn below(end: u64) -> Self {
        let mut places = Self::default();
        for place in 0..=u8::MAX {
            if u64::from(place) < end {
                places.insert(place);
            }
        }
        places
    }

    pub fn insert(&mut self, place: u8) {
        if let Some(word) = self.0.get_mut(usize::from(place / 64)) {
            *word |= 1 << (place % 64);
        }
    }

    /// Says whether it was there.
    pub fn remove(&mut self, place: u8) -> bool {
        let was_there = self.contains(place);
        if let Some(word) = self.0.get_mut(usize::from(place / 64)) {
            *word &= !(1 << (place % 64));
        }
        was_there
    }

    pub fn contains(self, place: u8) -> bool {
        self.0.get(usize::from(place / 64)).is_some_and(|word| word >> (place % 64) & 1 == 1)
    }

    pub fn count(self) -> u64 {
        self.0.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    pub fn is_empty(self) -> bool {
        self == Self::default()
    }

    pub fn iter(self) -> impl Iterator<Item = u8> {
        (0..=u8::MAX).filter(move |place| self.contains(*place))
    }

    pub fn to_bytes(self) -> Vec<u8> {
        self.0.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let damaged = || StoreError::Damaged("a claim cannot be read".to_owned());
        let (words, []) = bytes.as_chunks::<8>() else { return Err(damaged()) };
        let words: Vec<u64> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
        words.try_into().map(Self).map_err(|_| damaged())
    }
}

impl FromIterator<u8> for Places {
    fn from_iter<I: IntoIterator<Item = u8>>(iter: I) -> Self {
        let mut places = Self::default();
        iter.into_iter().for_each(|place| places.insert(place));
        places
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_kept() {
        let mut places = Places::default();
        for place in [0, 63, 64, 255] {
            places.insert(place);
        }
        assert!(places.remove(63) && !places.remove(62));
        assert_eq!(places.count(), 3);
        let again = Places::from_bytes(&places.to_bytes()).unwrap();
        assert_eq!(again.iter().collect::<Vec<_>>(), [0, 64, 255]);
        assert_eq!((Places::below(256), Places::below(0)), (Places([u64::MAX; 4]), Places::default()));
        assert_eq!(Places::below(65).iter().count(), 65);
        assert!(Places::from_bytes(&[0; 31]).is_err());
    }
}

//! Rows by where they lie: runs of positions.

/// Runs of positions, each from its first to its last. However many positions are put in, it stays small:
/// beyond a number of runs, neighbours are joined together with what lies between them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Spans(Vec<(u64, u64)>);

impl Spans {
    /// The most runs that are told apart.
    pub const RUNS_MAX: usize = 4_096;

    /// Every position there is.
    pub fn all() -> Self {
        Self(vec![(0, u64::MAX)])
    }

    /// Every position behind this one; all of them without one.
    pub fn after(position: Option<u64>) -> Self {
        match position.map(|position| position.checked_add(1)) {
            None => Self::all(),
            Some(Some(first)) => Self(vec![(first, u64::MAX)]),
            Some(None) => Self::default(),
        }
    }

    /// One run, from its first position to its last.
    pub fn run(first: u64, last: u64) -> Self {
        Self(vec![(first, last)])
    }

    /// Runs as [`Spans::iter`] gives them.
    pub fn of(runs: impl IntoIterator<Item = (u64, u64)>) -> Self {
        let mut spans = Self(runs.into_iter().collect());
        spans.join(0);
        spans.bound();
        spans
    }

    pub fn push(&mut self, position: u64) {
        match self.0.last_mut() {
            Some((first, last)) if (*first..=*last).contains(&position) => {}
            Some((_, last)) if last.checked_add(1) == Some(position) => *last = position,
            _ => {
                self.0.push((position, position));
                self.bound();
            }
        }
    }

    pub fn add(&mut self, other: &Self) {
        self.0.extend_from_slice(&other.0);
        self.bound();
    }

    /// In order and apart from each other.
    #[must_use]
    pub fn tidied(mut self) -> Self {
        self.join(0);
        self
    }

    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.0.iter().copied()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn is_all(&self) -> bool {
        self.0.contains(&(0, u64::MAX))
    }

    /// Whether any position lies in both. The other's runs are in order.
    pub fn meets(&self, other: &Self) -> bool {
        self.iter().any(|(first, last)| {
            let behind = other.0.partition_point(|(_, end)| *end < first);
            other.0.get(behind).is_some_and(|(start, _)| *start <= last)
        })
    }

    /// How many runs there are.
    pub fn runs(&self) -> usize {
        self.0.len()
    }

    /// How many rows may lie here at most.
    pub fn rows_max(&self) -> u64 {
        let lens = self.0.iter().map(|(first, last)| last.saturating_sub(*first).saturating_add(1));
        lens.fold(0, u64::saturating_add)
    }

    fn bound(&mut self) {
        let mut gap = 0;
        while self.0.len() > Self::RUNS_MAX {
            self.join(gap);
            // Halved, so that the next positions do not have all of them joined anew.
            if self.0.len() <= Self::RUNS_MAX / 2 {
                break;
            }
            gap = gap * 2 + 1;
        }
    }

    /// Sorts, and joins runs with no more than `gap` positions between them.
    fn join(&mut self, gap: u64) {
        self.0.sort_unstable();
        self.0.dedup_by(|later, earlier| {
            let joins = later.0 <= earlier.1.saturating_add(gap).saturating_add(1);
            if joins {
                earlier.1 = earlier.1.max(later.1);
            }
            joins
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_one_run() {
        let mut spans = Spans::default();
        for position in [5, 6, 6, 7, 3, 4, 9] {
            spans.push(position);
        }
        assert_eq!(spans.tidied().iter().collect::<Vec<_>>(), [(3, 7), (9, 9)]);
        assert_eq!(Spans::after(Some(4)).iter().collect::<Vec<_>>(), [(5, u64::MAX)]);
        assert!(Spans::after(Some(u64::MAX)).is_empty() && Spans::after(None).is_all());
        assert_eq!((Spans::all().rows_max(), Spans::run(2, 4).rows_max()), (u64::MAX, 3));
    }

    #[test]
    fn however_many_there_are_none_is_lost_and_few_runs_are_kept() {
        let mut spans = Spans::default();
        for position in (0..100_000).rev() {
            spans.push(position * 7);
        }
        assert!(spans.runs() <= Spans::RUNS_MAX);
        for position in 0..100_000 {
            assert!(spans.iter().any(|(first, last)| (first..=last).contains(&(position * 7))));
        }
        assert!(spans.rows_max() <= 700_000);
    }
}

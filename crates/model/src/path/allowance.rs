//! How much paths may look at together. Each by itself is bounded, but a row may be asked about by thousands of them, while
//! others wait.

use std::cell::Cell;

/// What all paths of one piece of work on a row may look at together: as much as the largest of them alone.
pub const ROW_VISITS_MAX: usize = 1_000_000;
/// So many bytes of text are looked through in the time that a value takes.
const BYTES_PER_VISIT: usize = 256;

thread_local! {
    /// What is left to the work under way on this thread; `None` if it is not bounded.
    static LEFT: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Does work whose paths look at no more than so many values together, and no more than is left to the work around it: any
/// path beyond that finds too much. Says how many they looked at.
pub fn within<T>(visits_max: usize, work: impl FnOnce() -> T) -> (T, usize) {
    let around = Around(LEFT.get());
    let most = around.0.map_or(visits_max, |left| left.min(visits_max));
    LEFT.set(Some(most));
    let done = work();
    let spent = most - LEFT.get().unwrap_or_default();
    drop(around);
    LEFT.set(LEFT.get().map(|left| left.saturating_sub(spent)));
    (done, spent)
}

/// Whether nothing is left to the work under way, so that paths that find nothing say nothing.
pub fn is_spent() -> bool {
    LEFT.get() == Some(0)
}

/// The work may not look at so much.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Spent;

/// Counts values that are looked at.
pub(super) fn spend(visits: usize) -> Result<(), Spent> {
    let Some(left) = LEFT.get() else { return Ok(()) };
    LEFT.set(Some(left.saturating_sub(visits)));
    if visits > left || left == 0 { Err(Spent) } else { Ok(()) }
}

/// Counts text that is looked through.
pub(super) fn spend_bytes(bytes: usize) -> Result<(), Spent> {
    spend(bytes / BYTES_PER_VISIT)
}

/// What was left to the work around, which is put back, also by a panic.
struct Around(Option<usize>);

impl Drop for Around {
    fn drop(&mut self) {
        LEFT.set(self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::Path;

    fn found(path: &str, raw: &str) -> bool {
        Path::parse(path).unwrap().resolve(raw).is_some()
    }

    #[test]
    fn paths_find_nothing_once_they_have_looked_at_enough() {
        let many = format!("[{}]", vec!["{\"a\":1}"; 5_000].join(","));
        for path in ["$..a", "[7].a"] {
            let count = || (0..300).filter(|_| found(path, &many)).count();
            assert_eq!(count(), 300, "{path}: without a bound");
            let (counted, spent) = within(20_000, || (count(), is_spent()));
            assert!(0 < counted.0 && counted.0 < 300 && counted.1, "{path}: {counted:?}");
            assert_eq!(spent, 20_000);
            assert_eq!(count(), 300, "{path}: the bound is gone");
        }
    }

    #[test]
    fn work_within_work_has_no_more_than_is_left() {
        let many = format!("[{}]", vec!["1"; 1_000].join(","));
        let once = || found("$..[999]", &many);
        let (spent_inside, spent) = within(5_000, || {
            assert!(once());
            let ((), inside) = within(1_000_000, || while once() {});
            assert!(is_spent() && !once());
            inside
        });
        assert!(0 < spent_inside && spent_inside < 5_000 && spent == 5_000, "{spent_inside} of {spent}");
        let _ = std::panic::catch_unwind(|| within(1, || panic!("on purpose")));
        assert!(once() && !is_spent());
    }
}

//! Parallel work on many values, divided between the processors.

use std::cell::Cell;
use std::num::NonZero;
use std::ops::Range;

/// Fewer values than this are not worth another thread.
const PART_MIN: usize = 1 << 15;
/// More threads than this would leave nothing to others.
const THREADS_MAX: usize = 8;

thread_local! {
    /// Whether work on this thread is not divided.
    static IS_ALONE: Cell<bool> = const { Cell::new(false) };
}

/// Does work on this thread alone, however much it is: nobody waits for it.
pub(crate) fn on_one_thread<T>(work: impl FnOnce() -> T) -> T {
    let _alone = Alone::begin();
    work()
}

/// Until it is dropped, also by a panic, work on this thread is not divided.
struct Alone;

impl Alone {
    fn begin() -> Self {
        IS_ALONE.set(true);
        Self
    }
}

impl Drop for Alone {
    fn drop(&mut self) {
        IS_ALONE.set(false);
    }
}

/// How many threads are worth having.
pub(crate) fn count() -> usize {
    if IS_ALONE.get() {
        return 1;
    }
    std::thread::available_parallelism().map_or(1, NonZero::get).min(THREADS_MAX)
}

/// Cuts `len` values into parts, one a thread, all but the last of the same size: a multiple of a machine
/// word's bits.
pub(crate) fn parts(len: usize) -> Vec<Range<usize>> {
    let threads = count().min(len / PART_MIN).max(1);
    let part_len = len.div_ceil(threads).next_multiple_of(usize::BITS as usize).max(1);
    (0..len.div_ceil(part_len)).map(|part| part * part_len..((part + 1) * part_len).min(len)).collect()
}

/// Does work on several things at once; the results come in the order of the things.
pub(crate) fn map<T: Sync, R: Send>(things: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let Some((first, rest)) = things.split_first() else { return Vec::new() };
    if rest.is_empty() || IS_ALONE.get() {
        return things.iter().map(work).collect();
    }
    std::thread::scope(|scope| {
        let others: Vec<_> = rest.iter().map(|thing| scope.spawn(|| work(thing))).collect();
        let mut done = vec![work(first)];
        for other in others {
            match other.join() {
                Ok(result) => done.push(result),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        done
    })
}

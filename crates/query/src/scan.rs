//! Going over rows in the store, for no longer than anybody waits.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use rowmill_clock::{Clock as _, SystemClock};
use rowmill_model::{CellStates, ProjectId};
use rowmill_store::{RowRef, ScanLook, Spans, Store, StoreError};
use tokio::sync::oneshot;

/// What a row has in which nothing ever ran.
pub(crate) static IDLE: CellStates = CellStates::IDLE;

/// How much passes between two looks at the clock; few rows in tests, whose runs are short.
const LOOK_ROWS: u32 = if cfg!(test) { 8 } else { 256 };
const LOOK_BYTES: usize = 4 * 1024 * 1024;

/// Folds the rows that lie here into `kept`; says with it which change was the last one seen.
pub(crate) async fn fold<T, E>(
    store: &dyn Store,
    project: ProjectId,
    (spans, look): (Spans, ScanLook),
    until: Instant,
    kept: T,
    mut fold: impl FnMut(&mut T, RowRef<'_>) -> Result<ControlFlow<()>, E> + Send + 'static,
) -> Result<(T, u64), E>
where
    T: Send + 'static,
    E: From<StoreError> + Send + 'static,
{
    let (out, folded) = oneshot::channel();
    let mut folding = Folding { folded: Some(Folded { kept, failure: None }), out: Some(out) };
    let gone = CancelOnDrop(Arc::default());
    let is_cancelled = Arc::clone(&gone.0);
    let (mut rows, mut bytes) = (0_u32, 0_usize);
    let visit = move |row: RowRef<'_>| {
        let Some(folded) = &mut folding.folded else { return ControlFlow::Break(()) };
        rows += 1;
        bytes = bytes.saturating_add(row.values.len());
        let is_time_to_look = rows >= LOOK_ROWS || bytes >= LOOK_BYTES;
        if is_time_to_look {
            (rows, bytes) = (0, 0);
        }
        let outcome = if is_time_to_look && is_over(&is_cancelled, until) {
            Err(StoreError::TooLong.into())
        } else {
            fold(&mut folded.kept, row)
        };
        outcome.unwrap_or_else(|failure| {
            folded.failure = Some(failure);
            ControlFlow::Break(())
        })
    };
    let seq = store.scan(project, spans, look, Box::new(visit)).await?;
    let folded = folded.await.map_err(|_| StoreError::Backend("a scan outlived its answer".into()))?;
    match folded.failure {
        Some(failure) => Err(failure),
        None => Ok((folded.kept, seq)),
    }
}

struct Folded<T, E> {
    kept: T,
    failure: Option<E>,
}

/// Hands out what was folded when the scan drops it. Rows come a million at a time, so no lock is taken for each.
struct Folding<T, E> {
    folded: Option<Folded<T, E>>,
    out: Option<oneshot::Sender<Folded<T, E>>>,
}

impl<T, E> Drop for Folding<T, E> {
    fn drop(&mut self) {
        if let (Some(folded), Some(out)) = (self.folded.take(), self.out.take()) {
            // Whoever waited for it may have gone away.
            let _ = out.send(folded);
        }
    }
}

fn is_over(is_cancelled: &AtomicBool, until: Instant) -> bool {
    is_cancelled.load(Ordering::Relaxed) || SystemClock.monotonic() >= until
}

/// Dropped with the caller: then the scan goes on for nobody.
struct CancelOnDrop(Arc<AtomicBool>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

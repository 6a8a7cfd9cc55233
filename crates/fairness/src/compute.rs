//! Work that keeps a processor busy, on threads apart.

use std::num::NonZero;
use std::sync::{Arc, LazyLock};

use tokio::task::JoinError;

use crate::semaphore::{FairSemaphore, Permit};
use crate::tenant::Tenant;

/// As many as there are processors, and one tenant leaves at least one of them to the others.
static PROCESSORS: LazyLock<Arc<FairSemaphore>> = LazyLock::new(|| {
    let count = std::thread::available_parallelism().map_or(2, NonZero::get).max(2);
    FairSemaphore::new(count, count - 1)
});

/// Does work that takes longer than about a millisecond, such as rendering or decoding much, on a blocking thread.
/// Tenants take turns, so that whoever asks for much waits for themselves; async threads stay free for all.
pub async fn compute<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, JoinError> {
    let permit = turn().await;
    // The permit goes along: a caller that goes away leaves the thread at work.
    let working = tokio::task::spawn_blocking(move || {
        let _permit = permit;
        work()
    });
    working.await
}

/// A turn at such work, for who does it where it is because it borrows: it lasts until the permit is dropped.
pub async fn turn() -> Permit {
    PROCESSORS.acquire(Tenant::current()).await
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn one_tenant_leaves_a_processor_to_the_others() {
        let (open, gate) = mpsc::channel::<()>();
        let gate = Arc::new(std::sync::Mutex::new(gate));
        let noisy: Vec<_> = (0..64)
            .map(|_| {
                let gate = Arc::clone(&gate);
                let work = move || {
                    let _ = gate.lock().unwrap().recv();
                };
                tokio::spawn(Tenant::team(1).scope(compute(work)))
            })
            .collect();
        while PROCESSORS.try_acquire(Tenant::team(1)).is_some() {
            tokio::task::yield_now().await;
        }
        let quiet = Tenant::team(2).scope(compute(|| 7));
        let answer = tokio::time::timeout(Duration::from_secs(20), quiet).await;
        drop(open);
        assert_eq!(answer.unwrap().unwrap(), 7);
        for work in noisy {
            work.await.unwrap().unwrap();
        }
    }
}

//! Many clients at once, each sending its next request as soon as it has its answer.

use std::net::SocketAddr;
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::any_result::AnyResult;
use crate::client::Connection;

#[derive(Debug, Clone, Copy)]
pub(crate) enum Until {
    /// Every request was sent once.
    Done,
    /// This long, over and over.
    Over(Duration),
}

#[derive(Debug, Default)]
pub(crate) struct Load {
    pub(crate) elapsed: Duration,
    /// Of every answer, shortest first.
    pub(crate) latencies: Vec<Duration>,
}

impl Load {
    #[expect(clippy::cast_precision_loss, reason = "nobody waits for 2^52 answers")]
    pub(crate) fn answers_per_second(&self) -> f64 {
        self.latencies.len() as f64 / self.elapsed.as_secs_f64()
    }
}

/// Sends requests with so many clients; each answer's body is shown to `see`.
pub(crate) fn run(
    address: SocketAddr,
    clients: usize,
    requests: &[Vec<u8>],
    until: Until,
    see: &(dyn Fn(usize, &[u8]) + Sync),
) -> AnyResult<Load> {
    let next = AtomicUsize::new(0);
    let barrier = Barrier::new(clients + 1);
    let client = || -> AnyResult<Vec<Duration>> {
        let connection = Connection::open(address);
        barrier.wait();
        let mut connection = connection?;
        let start = Instant::now();
        let mut latencies = Vec::with_capacity(16 * 1024);
        loop {
            let turn = next.fetch_add(1, Ordering::Relaxed);
            let index = match until {
                Until::Done => turn,
                Until::Over(time) if start.elapsed() < time => turn % requests.len(),
                Until::Over(_) => return Ok(latencies),
            };
            let Some(request) = requests.get(index) else { return Ok(latencies) };
            let sent = Instant::now();
            let body = connection.exchange(request)?;
            latencies.push(sent.elapsed());
            see(index, body);
        }
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..clients).map(|_| scope.spawn(client)).collect();
        barrier.wait();
        let start = Instant::now();
        let mut latencies = Vec::new();
        for thread in threads {
            latencies.extend(thread.join().map_err(|_| "a client panicked")??);
        }
        let elapsed = start.elapsed();
        latencies.sort_unstable();
        Ok(Load { elapsed, latencies })
    })
}

//! The deadline of a body: a total that grows with what arrives, which is a minimum rate.

use std::time::Duration;

use axum::body::{Body, Bytes};
use http_body_util::BodyExt as _;
use rowmill_clock::{Clock, SystemClock};
use rowmill_model::Limits;

use crate::error::Error;

/// How long a sender may still keep the server waiting.
///
/// It starts with `wait_seconds_max`. Waiting uses it up, and each byte earns the time it takes at
/// `body_bytes_per_second_min`, never beyond the start. So an honest sender on a slow line always has time left,
/// one that trickles has none after that many seconds, and what the server does between two reads costs nothing.
#[derive(Debug)]
pub(crate) struct Deadline {
    left: Duration,
    wait_seconds_max: u32,
    bytes_per_second_min: u32,
    clock: &'static dyn Clock,
}

impl Deadline {
    pub(crate) fn new(wait_seconds_max: u32, limits: &Limits) -> Self {
        Self::by(&SystemClock, wait_seconds_max, limits)
    }

    fn by(clock: &'static dyn Clock, wait_seconds_max: u32, limits: &Limits) -> Self {
        let bytes_per_second_min = limits.body_bytes_per_second_min;
        let left = Duration::from_secs(wait_seconds_max.into());
        Self { left, wait_seconds_max, bytes_per_second_min, clock }
    }

    /// The next piece of a body; none at its end. What is no data, such as trailers, is an empty one.
    pub(crate) async fn piece(
        &mut self,
        body: &mut Body,
    ) -> Result<Option<Result<Bytes, axum::Error>>, Error> {
        let Self { wait_seconds_max, bytes_per_second_min, .. } = *self;
        let start = self.clock.monotonic();
        let Ok(frame) = tokio::time::timeout(self.left, body.frame()).await else {
            // Whoever reads on, to be rid of the rest, waits no longer.
            self.left = Duration::ZERO;
            return Err(Error::BodyTimeout { wait_seconds_max, bytes_per_second_min });
        };
        self.left = self.left.saturating_sub(self.clock.monotonic().saturating_duration_since(start));
        let piece = frame.map(|frame| frame.map(|frame| frame.into_data().unwrap_or_default()));
        if let Some(Ok(data)) = &piece {
            self.earn(data.len());
        }
        Ok(piece)
    }

    fn earn(&mut self, bytes: usize) {
        let micros = bytes.saturating_mul(1_000_000) / self.bytes_per_second_min.max(1) as usize;
        let earned = Duration::from_micros(u64::try_from(micros).unwrap_or(u64::MAX));
        let most = Duration::from_secs(self.wait_seconds_max.into());
        self.left = self.left.saturating_add(earned).min(most);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use async_trait::async_trait;
    use futures_util::{StreamExt as _, stream};
    use jiff::Timestamp;

    use super::*;

    /// The runtime's own clock, which tests pause.
    #[derive(Debug)]
    struct RuntimeClock;

    #[async_trait]
    impl Clock for RuntimeClock {
        fn now(&self) -> Timestamp {
            Timestamp::UNIX_EPOCH
        }

        #[expect(clippy::disallowed_methods, reason = "this is a clock")]
        fn monotonic(&self) -> Instant {
            tokio::time::Instant::now().into_std()
        }

        async fn sleep(&self, duration: Duration) {
            tokio::time::sleep(duration).await;
        }
    }

    /// Sends `count` pieces of `bytes`, one each `pause`. Says how many arrived in time, and whether all did.
    async fn send(bytes: usize, pause: Duration, count: usize) -> Result<usize, usize> {
        let pieces = stream::iter(0..count).then(move |_| async move {
            tokio::time::sleep(pause).await;
            Ok::<_, std::convert::Infallible>(vec![b'x'; bytes])
        });
        let mut body = Body::from_stream(pieces);
        let mut deadline = Deadline::by(&RuntimeClock, 30, &Limits::default());
        let mut arrived = 0;
        loop {
            match deadline.piece(&mut body).await {
                Ok(Some(_)) => arrived += 1,
                Ok(None) => break Ok(arrived),
                Err(error) => {
                    assert_eq!(error.code(), "request_timeout");
                    break Err(arrived);
                }
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_trickle_is_cut_off_and_a_slow_line_is_not() {
        let second = Duration::from_secs(1);
        assert!(matches!(send(1, 5 * second, 1_000).await, Err(5..=6)));
        assert_eq!(send(1, 29 * second, 1).await, Ok(1));
        assert_eq!(send(1_000_000, 31 * second, 2).await, Err(0));
        // 32 MiB at the least rate there is.
        assert_eq!(send(16 * 1024, second, 2_048).await, Ok(2_048));
        // Half of it: every second of waiting earns half a one.
        assert!(matches!(send(8 * 1024, second, 2_048).await, Err(55..=60)));
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_reads_on_after_the_deadline_waits_no_longer() {
        let mut body = Body::from_stream(stream::pending::<Result<&str, std::convert::Infallible>>());
        let mut deadline = Deadline::by(&RuntimeClock, 60, &Limits::default());
        let start = RuntimeClock.monotonic();
        for _ in 0..3 {
            assert!(deadline.piece(&mut body).await.is_err());
        }
        let waited = RuntimeClock.monotonic().duration_since(start);
        assert!((60..62).contains(&waited.as_secs()), "{waited:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn what_the_server_does_meanwhile_costs_nothing() {
        let pieces = stream::iter((0..10).map(|_| Ok::<_, std::convert::Infallible>("x")));
        let mut body = Body::from_stream(pieces);
        let mut deadline = Deadline::by(&RuntimeClock, 30, &Limits::default());
        for _ in 0..10 {
            assert!(matches!(deadline.piece(&mut body).await, Ok(Some(Ok(_)))));
            tokio::time::sleep(Duration::from_hours(1)).await;
        }
    }
}

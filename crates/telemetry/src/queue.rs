//! What waits to be sent: bounded in spans and bytes, fair between teams, and never waited for.

use std::collections::{HashMap, VecDeque};
use std::num::NonZeroU128;
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::finished_span::FinishedSpan;
use crate::otlp::{self, Resource};

/// Spans that wait at most.
pub const QUEUE_SPANS_MAX: usize = 16_384;
/// Bytes of those that wait, at most.
pub const QUEUE_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Spans in one request to the collector.
const BATCH_SPANS_MAX: usize = 512;

static RECORDER: OnceLock<Recorder> = OnceLock::new();

/// What records the spans of this process.
#[derive(Debug)]
pub(crate) struct Recorder {
    /// Traces whose number is below this are sampled.
    threshold: u64,
    pub(crate) queue: Arc<SpanQueue>,
}

/// Turns tracing on, for good. Of the traces that begin here, `ratio` (from 0 to 1) are sampled. Gives the queue to send from;
/// `None` if it is on already.
pub fn install(ratio: f64) -> Option<Arc<SpanQueue>> {
    let recorder = Recorder::new(ratio);
    let queue = Arc::clone(&recorder.queue);
    RECORDER.set(recorder).ok().map(|()| queue)
}

/// Whether spans are recorded.
pub fn is_on() -> bool {
    RECORDER.get().is_some()
}

pub(crate) fn recorder() -> Option<&'static Recorder> {
    RECORDER.get()
}

impl Recorder {
    pub(crate) fn new(ratio: f64) -> Self {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "between 0 and 2^56, which a float holds exactly"
        )]
        let threshold = (ratio.clamp(0.0, 1.0) * (1_u64 << 56) as f64) as u64;
        Self { threshold, queue: Arc::default() }
    }

    /// By the last 56 bits, which are random in every trace id. Nodes with the same ratio agree.
    pub(crate) fn samples(&self, trace: NonZeroU128) -> bool {
        let number = u64::try_from(trace.get() & ((1 << 56) - 1)).unwrap_or(u64::MAX);
        number < self.threshold
    }
}

/// Finished spans.
#[derive(Debug, Default)]
pub struct SpanQueue {
    waiting: Mutex<Waiting>,
    /// There is enough for a batch.
    filled: Notify,
}

#[derive(Debug, Default)]
struct Waiting {
    spans: VecDeque<FinishedSpan>,
    bytes: usize,
    by_team: HashMap<Option<u128>, usize>,
}

/// Spans for one request, as the collector wants them.
#[derive(Debug, Clone)]
pub struct Batch {
    pub body: Vec<u8>,
    pub spans: usize,
}

impl SpanQueue {
    /// Takes a span, or drops it and counts that if there is no room. A team may fill half of the queue, so that the others'
    /// spans find room.
    pub(crate) fn push(&self, span: FinishedSpan) {
        let bytes = span.bytes();
        let mut waiting = self.waiting.lock();
        let Waiting { spans, bytes: held, by_team } = &mut *waiting;
        let of_team = by_team.get(&span.team).copied().unwrap_or(0);
        if spans.len() >= QUEUE_SPANS_MAX || *held + bytes > QUEUE_BYTES_MAX || of_team >= QUEUE_SPANS_MAX / 2
        {
            drop(waiting);
            count_dropped("queue_full", 1);
            return;
        }
        *by_team.entry(span.team).or_default() += 1;
        *held += bytes;
        spans.push_back(span);
        let is_filled = spans.len() >= BATCH_SPANS_MAX;
        drop(waiting);
        if is_filled {
            self.filled.notify_one();
        }
    }

    /// Waits until there is enough for a batch.
    pub async fn filled(&self) {
        self.filled.notified().await;
    }

    /// How many spans wait.
    pub fn len(&self) -> usize {
        self.waiting.lock().spans.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The oldest spans, for one request.
    pub fn take(&self, resource: &Resource) -> Option<Batch> {
        let mut waiting = self.waiting.lock();
        let Waiting { spans, bytes, by_team } = &mut *waiting;
        let count = spans.len().min(BATCH_SPANS_MAX);
        let taken: Vec<FinishedSpan> = spans.drain(..count).collect();
        for span in &taken {
            *bytes = bytes.saturating_sub(span.bytes());
            if let Some(count) = by_team.get_mut(&span.team) {
                *count = count.saturating_sub(1);
                if *count == 0 {
                    by_team.remove(&span.team);
                }
            }
        }
        drop(waiting);
        (count > 0).then(|| Batch { body: otlp::encode(resource, taken), spans: count })
    }
}

/// Counts spans that no collector will see.
pub fn count_dropped(reason: &'static str, spans: u64) {
    metrics::counter!("rowmill_otlp_spans_dropped_total", "reason" => reason).increment(spans);
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU64;

    use super::*;
    use crate::finished_span::{Kind, Value};

    fn span(team: Option<u128>, text: &str) -> FinishedSpan {
        FinishedSpan {
            trace: NonZeroU128::MIN,
            span: NonZeroU64::MIN,
            parent: None,
            kind: Kind::Internal,
            name: "work".into(),
            start_ns: 1,
            end_ns: 2,
            attributes: vec![("text", Value::from(text.to_owned()))],
            is_error: false,
            team,
        }
    }

    #[test]
    fn a_full_queue_takes_no_more() {
        let queue = SpanQueue::default();
        for number in 0..2 * QUEUE_SPANS_MAX {
            queue.push(span(Some(number as u128), ""));
        }
        assert_eq!(queue.len(), QUEUE_SPANS_MAX);
        let batch = queue.take(&Resource::default()).unwrap();
        assert_eq!((batch.spans, queue.len()), (BATCH_SPANS_MAX, QUEUE_SPANS_MAX - BATCH_SPANS_MAX));
        while queue.take(&Resource::default()).is_some() {}
        let waiting = queue.waiting.lock();
        assert_eq!((waiting.bytes, waiting.by_team.len()), (0, 0));
    }

    #[test]
    fn long_spans_are_counted_by_their_bytes() {
        let queue = SpanQueue::default();
        let megabyte = "x".repeat(1024 * 1024);
        for _ in 0..100 {
            queue.push(span(None, &megabyte));
        }
        assert_eq!(queue.len(), QUEUE_BYTES_MAX / megabyte.len() - 1, "what is beside the text counts, too");
    }

    #[test]
    fn a_team_leaves_room_for_others() {
        let queue = SpanQueue::default();
        for _ in 0..QUEUE_SPANS_MAX {
            queue.push(span(Some(1), ""));
        }
        assert_eq!(queue.len(), QUEUE_SPANS_MAX / 2);
        queue.push(span(Some(2), ""));
        assert_eq!(queue.len(), QUEUE_SPANS_MAX / 2 + 1);
    }

    #[test]
    fn a_ratio_decides_by_the_id() {
        let ids =
            (0..1_000_u128).map(|number| number.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835));
        let ids: Vec<NonZeroU128> = ids.filter_map(NonZeroU128::new).collect();
        let sampled = |ratio: f64| ids.iter().filter(|id| Recorder::new(ratio).samples(**id)).count();
        assert_eq!((sampled(0.0), sampled(1.0)), (0, ids.len()));
        assert!((150..350).contains(&sampled(0.25)), "{}", sampled(0.25));
    }
}

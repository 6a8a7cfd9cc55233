//! A span: one piece of work, from when it is begun to when it is dropped.

use std::borrow::Cow;
use std::num::{NonZeroU64, NonZeroU128};
use std::time::Instant;

use rowmill_clock::{Clock as _, SystemClock};

use crate::context::TraceContext;
use crate::finished_span::{FinishedSpan, Kind, Value};
use crate::queue::{self, Recorder};

const OUTCOME: &str = "rowmill.outcome";
const INTERRUPTED: &str = "interrupted";

/// Work that goes on. It ends when it is dropped, which also happens when its caller goes away.
#[derive(Debug)]
pub struct Span {
    context: TraceContext,
    /// None if the trace is not sampled: then there are ids to hand on, and nothing else.
    open: Option<Box<OpenSpan>>,
}

#[derive(Debug)]
struct OpenSpan {
    recorder: &'static Recorder,
    began: Instant,
    outcome: Option<&'static str>,
    finished: FinishedSpan,
}

impl Span {
    /// Begins a span within `parent`, or a trace of its own. `None` while tracing is off. The name is made only for a span
    /// that is recorded.
    pub fn begin(
        kind: Kind,
        parent: Option<TraceContext>,
        name: impl FnOnce() -> Cow<'static, str>,
    ) -> Option<Self> {
        let recorder = queue::recorder()?;
        Self::begin_in(recorder, kind, parent, name)
    }

    pub(crate) fn begin_in(
        recorder: &'static Recorder,
        kind: Kind,
        parent: Option<TraceContext>,
        name: impl FnOnce() -> Cow<'static, str>,
    ) -> Option<Self> {
        let (fresh, span) = random_ids()?;
        let trace = parent.map_or(fresh, |parent| parent.trace);
        // Whoever began the trace has decided for all of it.
        let is_sampled = parent.map_or_else(|| recorder.samples(trace), |parent| parent.is_sampled);
        let context = TraceContext { trace, span, is_sampled };
        let open = is_sampled.then(|| {
            let start_ns = u64::try_from(SystemClock.now().as_nanosecond()).unwrap_or_default();
            let finished = FinishedSpan {
                trace,
                span,
                parent: parent.map(|parent| parent.span),
                kind,
                name: name(),
                start_ns,
                end_ns: start_ns,
                attributes: Vec::with_capacity(6),
                is_error: false,
                team: None,
            };
            Box::new(OpenSpan { recorder, began: SystemClock.monotonic(), outcome: None, finished })
        });
        Some(Self { context, open })
    }

    /// What happens within it belongs to this.
    pub fn context(&self) -> TraceContext {
        self.context
    }

    /// Adds an attribute. Never a value of a cell, a secret, or anything else that somebody typed.
    pub fn set(&mut self, name: &'static str, value: impl Into<Value>) {
        if let Some(open) = &mut self.open {
            open.finished.attributes.push((name, value.into()));
        }
    }

    /// Says whom the work is for, as 128 bits and as text.
    pub fn set_team(&mut self, team: u128, id: impl FnOnce() -> String) {
        if let Some(open) = &mut self.open {
            open.finished.team = Some(team);
            open.finished.attributes.push(("rowmill.team.id", id().into()));
        }
    }

    /// Says how the work ended. Work that ends without saying so was interrupted.
    pub fn end(mut self, outcome: &'static str, is_error: bool) {
        if let Some(open) = &mut self.open {
            open.outcome = Some(outcome);
            open.finished.is_error = is_error;
        }
    }
}

impl Drop for Span {
    fn drop(&mut self) {
        if let Some(open) = self.open.take() {
            let OpenSpan { recorder, began, outcome, mut finished } = *open;
            finished.attributes.push((OUTCOME, outcome.unwrap_or(INTERRUPTED).into()));
            finished.is_error |= outcome.is_none();
            let took = SystemClock.monotonic().saturating_duration_since(began);
            let took_ns = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
            finished.end_ns = finished.start_ns.saturating_add(took_ns);
            recorder.queue.push(finished);
        }
    }
}

/// New ids of a trace and a span. Random, as the specification wants them: samplers rely on it.
fn random_ids() -> Option<(NonZeroU128, NonZeroU64)> {
    let mut bytes = [0; 24];
    getrandom::fill(&mut bytes).ok()?;
    let (trace, span) = bytes.split_first_chunk::<16>()?;
    let span = span.first_chunk::<8>()?;
    Some((NonZeroU128::new(u128::from_be_bytes(*trace))?, NonZeroU64::new(u64::from_be_bytes(*span))?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::otlp::Resource;

    fn recorder(ratio: f64) -> &'static Recorder {
        Box::leak(Box::new(Recorder::new(ratio)))
    }

    fn begin(recorder: &'static Recorder, parent: Option<TraceContext>) -> Span {
        Span::begin_in(recorder, Kind::Internal, parent, || "work".into()).unwrap()
    }

    #[test]
    fn whoever_began_the_trace_decides_for_all_of_it() {
        let (all, none) = (recorder(1.0), recorder(0.0));
        let (sampled, unsampled) = (begin(all, None), begin(none, None));
        assert_eq!((sampled.context().is_sampled, unsampled.context().is_sampled), (true, false));
        for (here, root, count) in [(none, &sampled, 1), (all, &unsampled, 0)] {
            let child = begin(here, Some(root.context()));
            assert_eq!(child.context().trace, root.context().trace);
            assert_ne!(child.context().span, root.context().span);
            child.end("ok", false);
            assert_eq!(here.queue.take(&Resource::default()).map_or(0, |batch| batch.spans), count);
        }
    }

    #[test]
    fn off_means_that_there_is_no_span() {
        assert!(Span::begin(Kind::Server, None, || unreachable!("nobody wants its name")).is_none());
    }
}

//! The trace that work belongs to, as W3C Trace Context writes it.

use std::fmt;
use std::future::Future;
use std::num::{NonZeroU64, NonZeroU128};

tokio::task_local! {
    static CURRENT: TraceContext;
}

/// The header that names the trace of a request.
pub const TRACEPARENT: &str = "traceparent";

/// A span of a trace: what happens within it is its child. It holds ids and one flag, and nothing else.
///
/// Like the tenant of `fairness` it goes along with the task: who begins work says it once, with [`TraceContext::scope`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceContext {
    pub trace: NonZeroU128,
    pub span: NonZeroU64,
    /// Whether the spans of this trace are recorded. Whoever began the trace decides.
    pub is_sampled: bool,
}

impl TraceContext {
    /// Reads a `traceparent`. Strictly: what is not exactly as the specification says is none.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.splitn(5, '-');
        let (version, trace, span, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let is_hex = |part: &str, length: usize| {
            part.len() == length && part.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        };
        // Later versions may add parts, and `ff` is none.
        let is_version = is_hex(version, 2) && version != "ff" && (version != "00" || parts.next().is_none());
        if !is_version || !is_hex(trace, 32) || !is_hex(span, 16) || !is_hex(flags, 2) {
            return None;
        }
        Some(Self {
            trace: NonZeroU128::new(u128::from_str_radix(trace, 16).ok()?)?,
            span: NonZeroU64::new(u64::from_str_radix(span, 16).ok()?)?,
            is_sampled: u8::from_str_radix(flags, 16).ok()? & 1 == 1,
        })
    }

    /// What the running task belongs to.
    pub fn current() -> Option<Self> {
        CURRENT.try_with(|context| *context).ok()
    }

    /// Runs `work` as part of this trace, if there is one. A task that `work` spawns must be told again.
    pub async fn scope<F: Future>(context: Option<Self>, work: F) -> F::Output {
        match context {
            Some(context) => CURRENT.scope(context, work).await,
            None => work.await,
        }
    }

    /// The same for work that is no future.
    pub fn sync_scope<T>(context: Option<Self>, work: impl FnOnce() -> T) -> T {
        match context {
            Some(context) => CURRENT.sync_scope(context, work),
            None => work(),
        }
    }

    /// The id of the trace, as logs and headers write it.
    pub fn trace_id(self) -> String {
        format!("{:032x}", self.trace)
    }
}

/// As a `traceparent`.
impl fmt::Display for TraceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { trace, span, is_sampled } = self;
        write!(f, "00-{trace:032x}-{span:016x}-{:02x}", u8::from(*is_sampled))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

    #[test]
    fn only_a_valid_header_names_a_trace() {
        let check = |header: &str, sampled: Option<bool>| {
            let context = TraceContext::parse(header);
            assert_eq!(context.map(|context| context.is_sampled), sampled, "{header}");
            if let Some(context) = context {
                assert_eq!((context.trace_id().as_str(), context.span.get()), (TRACE, 0x00f0_67aa_0ba9_02b7));
            }
        };
        check(&format!("00-{TRACE}-00f067aa0ba902b7-01"), Some(true));
        check(&format!("00-{TRACE}-00f067aa0ba902b7-00"), Some(false));
        check(&format!("00-{TRACE}-00f067aa0ba902b7-fe"), Some(false));
        check(&format!("00-{TRACE}-00f067aa0ba902b7-03"), Some(true));
        check(&format!("01-{TRACE}-00f067aa0ba902b7-01-more"), Some(true));
        check(&format!("00-{TRACE}-00f067aa0ba902b7-01-more"), None);
        check(&format!("00-{TRACE}-00f067aa0ba902b7-01-"), None);
        check(&format!("ff-{TRACE}-00f067aa0ba902b7-01"), None);
        check(&format!("00-{TRACE}-0000000000000000-01"), None);
        check(&format!("00-{}-00f067aa0ba902b7-01", "0".repeat(32)), None);
        check(&format!("00-{}-00f067aa0ba902b7-01", TRACE.to_uppercase()), None);
        check(&format!(" 00-{TRACE}-00f067aa0ba902b7-01"), None);
        check(&format!("00-+{}-00f067aa0ba902b7-01", &TRACE[1..]), None);
        check("", None);
        check("made up", None);
    }

    #[test]
    fn what_is_written_can_be_read() {
        let text = format!("00-{TRACE}-00f067aa0ba902b7-01");
        assert_eq!(TraceContext::parse(&text).unwrap().to_string(), text);
    }

    #[tokio::test]
    async fn it_goes_along_with_the_task() {
        let context = TraceContext::parse(&format!("00-{TRACE}-00f067aa0ba902b7-01"));
        assert_eq!(TraceContext::current(), None);
        let seen = TraceContext::scope(context, async { TraceContext::current() }).await;
        assert_eq!((seen, TraceContext::current()), (context, None));
        assert_eq!(TraceContext::sync_scope(context, TraceContext::current), context);
    }
}

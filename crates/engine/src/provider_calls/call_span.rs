//! The span of a call to a provider.

use rowmill_providers::Failure;
use rowmill_telemetry::{Kind, Span, TraceContext};

/// Makes a call within a span of its own, if spans are recorded. It says who was asked and what came of it, and nothing that
/// was sent or answered.
pub(super) async fn in_span<T>(
    provider: &'static str,
    asked: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    let parent = TraceContext::current();
    let Some(mut span) = Span::begin(Kind::Client, parent, || format!("call {provider}").into()) else {
        return asked.await;
    };
    span.set("rowmill.provider", provider);
    let outcome = TraceContext::scope(Some(span.context()), asked).await;
    let failed = outcome.as_ref().err().map(|failure| failure.kind.code().word());
    span.end(failed.unwrap_or("ok"), failed.is_some());
    outcome
}

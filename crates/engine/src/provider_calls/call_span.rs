//! The span of a call to a provider.

use rowmill_model::TeamId;
use rowmill_providers::Failure;
use rowmill_telemetry::{Kind, Span, TraceContext};

/// Makes a call within a span of its own, if spans are recorded. It says who was asked and what came of it, and nothing that
/// was sent or answered.
pub(super) async fn in_span<T>(
    provider: &str,
    asked: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    match begin(provider) {
        Some(span) => within(span, asked).await,
        None => asked.await,
    }
}

/// The same for a call that belongs to no cell: the span says whom it is for, and begins a trace.
pub(crate) async fn in_span_of_team<T>(
    team: TeamId,
    provider: &str,
    asked: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    let Some(mut span) = begin(provider) else { return asked.await };
    span.set_team(team.0.as_u128(), || team.to_string());
    within(span, asked).await
}

fn begin(provider: &str) -> Option<Span> {
    let name = || format!("call {provider}").into();
    let mut span = Span::begin(Kind::Client, TraceContext::current(), name)?;
    span.set("rowmill.provider", provider.to_owned());
    Some(span)
}

async fn within<T>(span: Span, asked: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let outcome = TraceContext::scope(Some(span.context()), asked).await;
    let failed = outcome.as_ref().err().map(|failure| failure.kind.code().word());
    span.end(failed.unwrap_or("ok"), failed.is_some());
    outcome
}

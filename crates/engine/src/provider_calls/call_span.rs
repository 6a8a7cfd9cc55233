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
    within(begin(provider), asked).await
}

/// The same for a call that belongs to no cell: the span says whom it is for, and begins a trace.
pub(crate) async fn in_span_of_team<T>(
    team: TeamId,
    provider: &str,
    asked: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    let mut span = begin(provider);
    if let Some(span) = &mut span {
        span.set_team(team.0.as_u128(), || team.to_string());
    }
    within(span, asked).await
}

fn begin(provider: &str) -> Option<Span> {
    let name = || format!("call {provider}").into();
    let mut span = Span::begin(Kind::Client, TraceContext::current(), name)?;
    span.set("rowmill.provider", provider.to_owned());
    Some(span)
}

/// Awaited in one place, whether there is a span or not: calls are large.
async fn within<T>(
    span: Option<Span>,
    asked: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    let outcome = TraceContext::scope(span.as_ref().map(Span::context), asked).await;
    if let Some(span) = span {
        let failed = outcome.as_ref().err().map(|failure| failure.kind.code().word());
        span.end(failed.unwrap_or("ok"), failed.is_some());
    }
    outcome
}

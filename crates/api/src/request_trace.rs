//! The span of a request: who called for what, and how it ended.

use axum::extract::{MatchedPath, Request};
use axum::http::StatusCode;
use rowmill_model::ProjectId;
use rowmill_telemetry::{Kind, Span, TRACEPARENT, TraceContext};

/// What is asked for again and again by machines that watch us. It gets a span only if the caller wants one.
const PROBES: [&str; 3] = ["/healthz", "/readyz", "/metrics"];

/// Which trace a request belongs to.
#[derive(Debug)]
pub(crate) struct RequestTrace {
    sent: Option<TraceContext>,
    /// None while tracing is off.
    span: Option<Span>,
}

impl RequestTrace {
    pub(crate) fn begin(request: &Request, method: &'static str, route: &str) -> Self {
        let sent = sent_context(request);
        if sent.is_none() && PROBES.iter().any(|probe| route.ends_with(probe)) {
            return Self { sent, span: None };
        }
        let mut span = Span::begin(Kind::Server, sent, || format!("{method} {route}").into());
        if let Some(span) = span.as_mut().filter(|span| span.context().is_sampled) {
            span.set("http.request.method", method);
            // The route and not the path: paths hold ids, and a webhook's is a secret.
            span.set("http.route", route.to_owned());
            if let Some(project) = project(request) {
                span.set("rowmill.project.id", project.to_string());
            }
        }
        Self { sent, span }
    }

    /// What happens for the request belongs to this.
    pub(crate) fn context(&self) -> Option<TraceContext> {
        self.span.as_ref().map(Span::context)
    }

    /// For the log, so that lines and spans are found by each other.
    pub(crate) fn trace_id(&self) -> Option<String> {
        self.context().or(self.sent).map(TraceContext::trace_id)
    }

    pub(crate) fn end(self, status: StatusCode, team: Option<rowmill_model::TeamId>) {
        let Some(mut span) = self.span else { return };
        span.set("http.response.status_code", status.as_u16());
        if let Some(team) = team {
            span.set_team(team.0.as_u128(), || team.to_string());
        }
        let outcome = match status.as_u16() {
            ..400 => "ok",
            400..500 => "refused",
            _ => "failed",
        };
        // What a caller did wrong is no error of ours.
        span.end(outcome, status.is_server_error());
    }
}

/// The caller's trace, if there is a valid one. Of two headers none can be believed.
fn sent_context(request: &Request) -> Option<TraceContext> {
    let mut sent = request.headers().get_all(TRACEPARENT).iter();
    match (sent.next(), sent.next()) {
        (Some(one), None) => TraceContext::parse(one.to_str().ok()?),
        _ => None,
    }
}

/// The project that the path names, if it is an id: whatever else a caller writes there is told to nobody.
fn project(request: &Request) -> Option<ProjectId> {
    let matched = request.extensions().get::<MatchedPath>()?;
    let mut segments = matched.as_str().split('/').zip(request.uri().path().split('/'));
    let (_, sent) = segments.find(|(template, _)| *template == "{projectId}")?;
    ProjectId::parse(sent)
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;

    #[test]
    fn of_two_headers_none_is_believed() {
        let header = |last: char| format!("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0{last}");
        let one = Request::builder().header(TRACEPARENT, header('1'));
        let trace = sent_context(&one.body(Body::empty()).unwrap()).unwrap();
        assert!(trace.is_sampled);
        let two = Request::builder().header(TRACEPARENT, header('1')).header(TRACEPARENT, header('0'));
        assert_eq!(sent_context(&two.body(Body::empty()).unwrap()), None);
        let bad = Request::builder().header(TRACEPARENT, "made up");
        assert_eq!(sent_context(&bad.body(Body::empty()).unwrap()), None);
    }
}

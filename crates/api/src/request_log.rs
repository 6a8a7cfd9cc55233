//! The line that each request has in the log: who called, from where, for what, and how it ended.

use std::net::IpAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::body::HttpBody as _;
use axum::extract::Request;
use axum::http::Extensions;
use axum::response::Response;
use rowmill_model::{KeyId, TeamId};
use uuid::Uuid;

tokio::task_local! {
    static CURRENT: Correspondent;
}

/// Who is at the other end of the request that is being answered, for log lines in its course.
#[derive(Debug, Clone)]
pub(crate) struct Correspondent {
    pub(crate) client: IpAddr,
    pub(crate) called_by: CalledBy,
}

impl Correspondent {
    /// Answers the request that is theirs.
    pub(crate) async fn scope<F: Future>(self, work: F) -> F::Output {
        CURRENT.scope(self, work).await
    }

    /// The client's address, the team and the key, as far as they are known by now.
    pub(crate) fn current() -> (Option<IpAddr>, Option<TeamId>, Option<KeyId>) {
        let known = CURRENT.try_with(|Self { client, called_by }| (*client, called_by.0.get().copied()));
        let (client, caller) = known.map_or((None, None), |(client, caller)| (Some(client), caller));
        (client, caller.map(|caller| caller.team), caller.and_then(|caller| caller.key))
    }
}

/// Who calls. The pipeline writes it down, in the request's extensions, as soon as it is known.
#[derive(Debug, Clone, Default)]
pub(crate) struct CalledBy(Arc<OnceLock<Caller>>);

#[derive(Debug, Clone, Copy)]
struct Caller {
    team: TeamId,
    key: Option<KeyId>,
}

impl CalledBy {
    /// For a request whose caller is not known yet.
    pub(crate) fn begin(request: &mut Request) -> Self {
        let called_by = Self::default();
        request.extensions_mut().insert(called_by.clone());
        called_by
    }

    pub(crate) fn note_key(extensions: &Extensions, team: u128, key: u128) {
        Self::note(extensions, team, Some(KeyId::from_uuid(Uuid::from_u128(key))));
    }

    /// Who calls without a key, at an address that names the team.
    pub(crate) fn note_team(extensions: &Extensions, team: u128) {
        Self::note(extensions, team, None);
    }

    /// The team that called, if it is known by now.
    pub(crate) fn team(&self) -> Option<TeamId> {
        self.0.get().map(|caller| caller.team)
    }

    fn note(extensions: &Extensions, team: u128, key: Option<KeyId>) {
        if let Some(Self(caller)) = extensions.get() {
            let team = TeamId(Uuid::from_u128(team));
            // Of a request that was admitted twice, the first counts.
            let _ = caller.set(Caller { team, key });
        }
    }
}

/// What is known of a request before it is answered.
pub(crate) struct RequestLine {
    pub(crate) id: Arc<str>,
    pub(crate) client: IpAddr,
    pub(crate) method: &'static str,
    /// The route and not the path: paths hold ids, and a webhook's is a secret.
    pub(crate) route: Arc<str>,
    pub(crate) called_by: CalledBy,
    pub(crate) trace_id: Option<String>,
}

impl RequestLine {
    pub(crate) fn write(&self, response: &Response, took: Duration) {
        let Self { id, client, method, route, called_by: CalledBy(caller), trace_id } = self;
        let caller = caller.get();
        tracing::info!(
            method,
            route = &**route,
            status = response.status().as_u16(),
            milliseconds = (took.as_secs_f64() * 1_000_000.0).round() / 1_000.0,
            bytes = response.body().size_hint().exact(),
            %client,
            team = caller.map(|caller| tracing::field::display(caller.team)),
            key = caller.and_then(|caller| caller.key).map(tracing::field::display),
            trace_id,
            request_id = &**id,
            "request"
        );
    }
}

//! The state every endpoint gets: the application, the page cache and the public address.

use std::net::IpAddr;
use std::sync::Arc;

use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use rowmill_app::{App, Caller, IdempotencyKey, QueryMemory};
use rowmill_fairness::Tenant;
use rowmill_model::Scopes;
use serde_json::{Map, Value};

use crate::endpoint::{Access, Call, Head, Idempotency, Principal, RateKey, Service};
use crate::error::Error;
use crate::event_frames::EventFrames;
use crate::page_cache::PageCache;
use crate::public_url::PublicUrl;
use crate::site::cookie;

/// Memory for rendered pages of rows, within bounds.
const PAGE_MEMORY: QueryMemory = QueryMemory::Percent(1);
const PAGE_BYTES_MIN: usize = 16 * 1024 * 1024;
const PAGE_BYTES_MAX: usize = 64 * 1024 * 1024;

/// The service every endpoint is written for.
#[derive(Debug, Clone)]
pub struct ApiState {
    app: Arc<App>,
    pages: Arc<PageCache>,
    frames: Arc<EventFrames>,
    public_url: Option<Arc<PublicUrl>>,
}

impl ApiState {
    pub fn new(app: Arc<App>) -> Self {
        let frames = Arc::new(EventFrames::new(app.limits().event_bytes_max));
        let page_bytes = PAGE_MEMORY.bytes().clamp(PAGE_BYTES_MIN, PAGE_BYTES_MAX);
        let pages = Arc::new(PageCache::new(page_bytes));
        let told = Arc::clone(&pages);
        app.listen(move |change| told.record(change));
        Self { app, pages, frames, public_url: None }
    }

    /// With the address people reach it by, where that is not the one requests tell.
    #[must_use]
    pub fn at(self, public_url: Option<PublicUrl>) -> Self {
        Self { public_url: public_url.map(Arc::new), ..self }
    }

    pub(crate) fn app(&self) -> &App {
        &self.app
    }

    /// The same, for what outlives a call.
    pub(crate) fn shared_app(&self) -> &Arc<App> {
        &self.app
    }

    /// Host and port of the address that is set, if one is.
    pub(crate) fn public_host(&self) -> Option<&str> {
        self.public_url.as_deref().map(PublicUrl::host)
    }

    /// The address a request reached this server by.
    pub(crate) fn reached(&self, headers: &HeaderMap) -> PublicUrl {
        PublicUrl::reached(self.public_url.as_deref(), headers)
    }

    /// Who is signed in with the browser that sent this, if anybody.
    pub(crate) async fn signed_in(
        &self,
        headers: &HeaderMap,
        client: IpAddr,
    ) -> Result<Option<rowmill_app::Principal>, Error> {
        match cookie::sent(headers) {
            Some(session) => Ok(self.app.session(&session, client).await?),
            None => Ok(None),
        }
    }

    /// The holder of a session; what it writes must be sent by our own page.
    async fn of_session(&self, request: Head<'_>) -> Result<Option<rowmill_app::Principal>, Error> {
        let Head { method, headers, client } = request;
        let principal = self.signed_in(headers, client).await?;
        let is_write = !method.is_safe();
        if principal.is_some() && is_write && !cookie::is_same_origin(headers, &self.reached(headers)) {
            return Err(Error::CrossSite);
        }
        Ok(principal)
    }
}

impl Service for ApiState {
    type Principal = Caller;

    /// A bad token is refused first, then a path that names no team of the caller's, then a missing token.
    async fn authenticate(
        &self,
        access: Access,
        request: Head<'_>,
        path: &Map<String, Value>,
    ) -> Result<Caller, Error> {
        let named = |name: &str| path.get(name).and_then(Value::as_str);
        let slug = named("teamSlug");
        let principal = match bearer(request.headers) {
            Some(token) => Some(self.app.authenticate(&token, request.client).await?),
            None if slug.is_none() => self.of_session(request).await?,
            None => None,
        };
        match slug {
            Some(slug) => {
                let open = named("projectId").filter(|_| access == Access::OpenRead);
                Ok(self.app.team_caller(slug, principal, open).await?)
            }
            None => Ok(principal.map(Caller::Key).ok_or(rowmill_app::Error::Unauthenticated)?),
        }
    }

    async fn authorize(
        &self,
        caller: &Caller,
        scopes: Scopes,
        path: &Map<String, Value>,
    ) -> Result<(), Error> {
        let project = path.get("projectId").and_then(Value::as_str);
        Ok(self.app.authorize(*caller, scopes, project).await?)
    }

    async fn check_project(&self, caller: &Caller, project_id: &str) -> Result<(), Error> {
        self.app.project(*caller, project_id).await?;
        Ok(())
    }

    async fn webhook_team(&self, team_id: &str) -> Result<u128, Error> {
        Ok(self.app.webhook_team(team_id).await?.0.as_u128())
    }

    async fn hook_team(&self, project_id: &str, secret: &str) -> Result<u128, Error> {
        Ok(self.app.hook_at(project_id, secret).await?.stored.project.team.0.as_u128())
    }

    async fn sequence(&self, project_id: &str) -> Option<u64> {
        self.app.sequence(project_id).await
    }

    fn base_url(&self, headers: &HeaderMap) -> String {
        self.reached(headers).base_url()
    }

    async fn recall(&self, name: [u8; 32], fingerprint: [u8; 32]) -> Result<Option<String>, Error> {
        Ok(self.app.kept_answer(IdempotencyKey { name, fingerprint }).await?)
    }

    async fn remember(&self, name: [u8; 32], fingerprint: [u8; 32], answer: String) -> Result<(), Error> {
        Ok(self.app.keep_answer(IdempotencyKey { name, fingerprint }, answer).await?)
    }

    async fn ready(&self) -> Result<(), Error> {
        Ok(self.app.ready().await?)
    }
}

impl Principal for Caller {
    fn rate_key(&self) -> Option<RateKey> {
        match self {
            Self::Key(principal) => {
                let (key, team) = (principal.key.uuid().as_u128(), principal.team.0.as_u128());
                Some(RateKey { key, team })
            }
            Self::Anyone(_) => None,
        }
    }

    fn tenant(&self) -> Tenant {
        match self {
            Self::Key(principal) => Tenant::team(principal.team.0.as_u128()),
            Self::Anyone(_) => Tenant::ANONYMOUS,
        }
    }
}

impl Call<ApiState> {
    pub(crate) fn app(&self) -> &App {
        &self.state.app
    }

    /// The same, for what outlives the call.
    pub(crate) fn shared_app(&self) -> &Arc<App> {
        &self.state.app
    }

    /// Pages of rows that were answered before.
    pub(crate) fn pages(&self) -> &PageCache {
        &self.state.pages
    }

    /// Rows on their way to the readers of event streams.
    pub(crate) fn event_frames(&self) -> &Arc<EventFrames> {
        &self.state.frames
    }

    /// The address the caller reached this server by.
    pub(crate) fn reached(&self) -> PublicUrl {
        self.state.reached(&self.headers)
    }

    /// Who is calling.
    pub(crate) fn caller(&self) -> Result<Caller, Error> {
        self.principal().copied()
    }

    /// Whether a person in the browser calls, and not a program with a key.
    pub(crate) fn is_session(&self) -> bool {
        bearer(&self.headers).is_none()
    }

    /// What names this request, if it is to be carried out once: whose it is, where it goes, its key.
    pub(crate) fn once(&self) -> Option<IdempotencyKey> {
        let Idempotency { name, fingerprint } = self.idempotency.clone()?;
        Some(IdempotencyKey { name, fingerprint })
    }
}

/// The token of `Authorization: Bearer <token>`; the scheme's letter case does not matter. What is no
/// text is a token all the same, only a bad one.
fn bearer(headers: &HeaderMap) -> Option<String> {
    let sent = String::from_utf8_lossy(headers.get(AUTHORIZATION)?.as_bytes());
    let (scheme, token) = sent.trim().split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then(|| token.to_owned())
}

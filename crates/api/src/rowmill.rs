//! The application behind the endpoints.

use std::sync::Arc;

use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use rowmill_app::{App, Caller, OnceKey};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use crate::endpoint::{Access, Call, Principal, Service};
use crate::error::Error;
use crate::kept::KeptPages;

/// The service every endpoint is written for.
#[derive(Debug, Clone)]
pub struct Rowmill {
    app: Arc<App>,
    pages: Arc<KeptPages>,
}

impl Rowmill {
    pub fn new(app: Arc<App>) -> Self {
        Self { app, pages: Arc::default() }
    }
}

impl Service for Rowmill {
    type Principal = Caller;

    /// A bad token is refused first, then a path that names no team of the caller's, then a missing token.
    async fn authenticate(
        &self,
        access: Access,
        headers: &HeaderMap,
        path: &Map<String, Value>,
    ) -> Result<Caller, Error> {
        let principal = match bearer(headers) {
            Some(token) => Some(self.app.authenticate(&token).await?),
            None => None,
        };
        let named = |name: &str| path.get(name).and_then(Value::as_str);
        match named("teamSlug") {
            Some(slug) => {
                let open = named("projectId").filter(|_| access == Access::OpenRead);
                Ok(self.app.team_caller(slug, principal, open).await?)
            }
            None => Ok(principal.map(Caller::Key).ok_or(rowmill_app::Error::Unauthenticated)?),
        }
    }

    async fn sequence(&self, project_id: &str) -> Option<u64> {
        self.app.sequence(project_id).await
    }

    async fn ready(&self) -> Result<(), Error> {
        Ok(self.app.ready().await?)
    }
}

impl Principal for Caller {
    fn rate_key(&self) -> Option<u128> {
        match self {
            Self::Key(principal) => Some(principal.key.uuid().as_u128()),
            Self::Anyone(_) => None,
        }
    }
}

impl Call<Rowmill> {
    pub(crate) fn app(&self) -> &App {
        &self.state.app
    }

    /// The same, for what outlives the call.
    pub(crate) fn shared_app(&self) -> &Arc<App> {
        &self.state.app
    }

    /// Pages of rows that were answered before.
    pub(crate) fn pages(&self) -> &KeptPages {
        &self.state.pages
    }

    /// Who is calling.
    pub(crate) fn caller(&self) -> Result<Caller, Error> {
        self.principal().copied()
    }

    /// What names this request, if it is to be carried out once: whose it is, where it goes, its key.
    pub(crate) fn once(&self) -> Result<Option<OnceKey>, Error> {
        let Some(idempotency) = &self.idempotency else { return Ok(None) };
        let mut name = Sha256::new();
        name.update(self.caller()?.team().0.as_bytes());
        name.update(&self.path);
        name.update([0]);
        name.update(&idempotency.key);
        Ok(Some(OnceKey { name: name.finalize().into(), fingerprint: idempotency.fingerprint }))
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

//! The application behind the endpoints.

use std::net::IpAddr;
use std::sync::Arc;

use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use rowmill_app::{App, OnceKey};
use sha2::{Digest as _, Sha256};

use crate::endpoint::{Call, Principal, Service};
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
    type Principal = rowmill_app::Principal;

    async fn authenticate(&self, headers: &HeaderMap, _: IpAddr) -> Result<Option<Self::Principal>, Error> {
        match bearer(headers) {
            Some(token) => Ok(Some(self.app.authenticate(token).await?)),
            None => Ok(None),
        }
    }

    async fn ready(&self) -> Result<(), Error> {
        Ok(self.app.ready().await?)
    }
}

impl Principal for rowmill_app::Principal {
    fn rate_key(&self) -> u128 {
        self.key.uuid().as_u128()
    }
}

impl Call<Rowmill> {
    pub(crate) fn app(&self) -> &App {
        &self.state.app
    }

    /// Pages of rows that were answered before.
    pub(crate) fn pages(&self) -> &KeptPages {
        &self.state.pages
    }

    /// The caller of an operation that needs a key.
    pub(crate) fn caller(&self) -> Result<rowmill_app::Principal, Error> {
        self.principal().copied()
    }

    /// What names this request, if it is to be carried out once: whose it is, where it goes, its key.
    pub(crate) fn once(&self) -> Result<Option<OnceKey>, Error> {
        let Some(idempotency) = &self.idempotency else { return Ok(None) };
        let mut name = Sha256::new();
        name.update(self.caller()?.team.0.as_bytes());
        name.update(&self.path);
        name.update([0]);
        name.update(&idempotency.key);
        Ok(Some(OnceKey { name: name.finalize().into(), fingerprint: idempotency.fingerprint }))
    }
}

/// The token of `Authorization: Bearer <token>`; the scheme's letter case does not matter.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.trim().split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

//! What is there for people with a browser, beside the API.

pub(crate) mod cookie;
mod page;
mod session;

use std::sync::Arc;

use axum::Router;

use crate::api::{Finished, Settings};
use crate::pipeline::Shared;
use crate::state::ApiState;

/// Everything but the operations of the document.
fn routes(shared: Arc<Shared<ApiState>>) -> Router {
    let pages = page::routes(shared.state.clone());
    session::routes().with_state(shared).merge(pages)
}

impl Finished<ApiState> {
    /// The whole service: the operations, and the web application that uses them.
    pub fn site(self, state: ApiState, settings: Settings) -> Router {
        self.router_beside(state, settings, routes)
    }
}

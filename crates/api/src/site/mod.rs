//! What is there for people with a browser, and for agents, beside the API.

pub(crate) mod cookie;
mod mcp;
mod page;
mod session;

use std::sync::Arc;

use axum::Router;

use crate::api::{Finished, Settings};
use crate::pipeline::Shared;
use crate::state::ApiState;

/// Everything but the operations of the document.
fn routes(shared: Arc<Shared<ApiState>>, agents: mcp::Agents) -> Router {
    let pages = page::routes(shared.state.clone());
    session::routes().with_state(Arc::clone(&shared)).merge(mcp::routes(shared, agents)).merge(pages)
}

impl Finished<ApiState> {
    /// The whole service: the operations, and the web application that uses them.
    pub fn site(self, state: ApiState, settings: Settings) -> Router {
        let agents = mcp::Agents::new(&state, &settings);
        self.router_beside(state, settings, |shared| routes(shared, agents))
    }
}

//! One HTTP request, answered by the protocol's library.

use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use http_body_util::combinators::BoxBody;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rowmill_app::App;
use rowmill_clock::Clock;

use crate::server::Server;

/// The body of an answer: JSON, or events where a tool reports progress.
pub type Body = BoxBody<Bytes, Infallible>;

/// The protocol's server. It keeps no sessions, so any node answers any request.
#[derive(Clone)]
pub struct Mcp {
    service: StreamableHttpService<Server, NeverSessionManager>,
}

impl Mcp {
    pub fn new(app: Arc<App>, clock: Arc<dyn Clock>) -> Self {
        // Host, origin and size are checked before a request gets here, see `hosts.rs`.
        let config = StreamableHttpServerConfig::default()
            .with_legacy_session_mode(false)
            .with_json_response(true)
            .with_sse_retry(None)
            .disable_allowed_hosts()
            .disable_allowed_origins()
            .with_max_request_body_bytes(usize::MAX);
        let server = Server::new(app, clock);
        let service = StreamableHttpService::new(
            move || Ok(server.clone()),
            Arc::new(NeverSessionManager::default()),
            config,
        );
        Self { service }
    }

    /// Answers a request whose extensions have a [`Call`].
    ///
    /// Boxed, so that the protocol's library is compiled here and not again in the crate that calls this.
    pub fn answer(
        &self,
        request: Request<Full<Bytes>>,
    ) -> Pin<Box<dyn Future<Output = Response<Body>> + Send + '_>> {
        Box::pin(self.service.handle(request))
    }
}

impl fmt::Debug for Mcp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mcp").finish_non_exhaustive()
    }
}

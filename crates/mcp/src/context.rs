//! What a tool works with.

use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::ProgressNotificationParam;
use rmcp::service::RequestContext;
use rowmill_app::{App, Caller};
use rowmill_clock::Clock;

use crate::call::Call;

pub(crate) struct Context<'a> {
    pub(crate) app: &'a App,
    pub(crate) clock: &'a dyn Clock,
    pub(crate) call: &'a Call,
    pub(crate) request: &'a RequestContext<RoleServer>,
}

impl Context<'_> {
    pub(crate) fn caller(&self) -> Caller {
        self.call.caller
    }

    /// A page of the web app, for what an agent should not do itself.
    pub(crate) fn page(&self, path: &str) -> String {
        format!("{}/{path}", self.call.base_url)
    }

    pub(crate) async fn sleep(&self, duration: Duration) {
        self.clock.sleep(duration).await;
    }

    /// Whether there is no use in waiting any longer: the client has gone, or the server is stopping.
    pub(crate) fn should_end(&self) -> bool {
        self.request.ct.is_cancelled() || self.app.is_stopping()
    }

    /// Tells a client that asked for it how far things are.
    pub(crate) async fn report(&self, progress: u64, total: u64, message: String) {
        let Some(token) = self.request.meta.get_progress_token() else { return };
        #[expect(clippy::cast_precision_loss, reason = "nobody counts that far")]
        let (progress, total) = (progress as f64, total as f64);
        let progress =
            ProgressNotificationParam::new(token, progress).with_total(total).with_message(message);
        // A client that no longer listens is told nothing.
        let _ = self.request.peer.notify_progress(progress).await;
    }
}

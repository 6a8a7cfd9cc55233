//! A request whose caller is known.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use rowmill_app::Caller;
use rowmill_telemetry::TraceContext;

/// What is known of a request before the protocol is looked at. It goes along in the request's extensions.
#[derive(Clone)]
pub struct Call {
    pub caller: Caller,
    /// The address the caller reached the server by, without a slash at its end.
    pub base_url: String,
    /// Whether only tools that change nothing are offered.
    pub read_only: bool,
    pub request_id: Arc<str>,
    /// The trace that the request belongs to.
    pub trace: Option<TraceContext>,
    /// The request as it was sent: numbers in it have all their digits.
    pub text: Arc<str>,
    /// Whatever is to be kept for as long as the request is worked on, such as its share of memory.
    pub held: Arc<dyn Any + Send + Sync>,
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call")
            .field("caller", &self.caller)
            .field("read_only", &self.read_only)
            .finish_non_exhaustive()
    }
}

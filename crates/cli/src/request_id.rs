//! The id that a request has in the log and in its answer.

use rowmill_clock::SystemClock;
use uuid::Uuid;

pub(crate) fn request_id() -> Uuid {
    rowmill_app::log_id(&SystemClock)
}

//! Hunter. Its statuses are the other way round: 403 is "too fast", 429 is "quota spent".

use crate::failure::{Failure, FailureKind};
use crate::session::Session;
use crate::ssrf_guard::{Request, Response};

pub(crate) const WHO: &str = "Hunter";

pub(crate) fn get(session: &Session<'_>, path: &str) -> Result<Request, Failure> {
    session.get(path).secret_header("x-api-key", "", session.key)
}

pub(crate) fn failure(response: &Response) -> Failure {
    match response.status {
        403 => response.failure_of(WHO, FailureKind::RateLimited),
        429 => response.failure_of(WHO, FailureKind::OutOfCredits),
        _ => response.finder_failure(WHO),
    }
}

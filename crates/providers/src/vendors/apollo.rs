//! Apollo. Its parameters stand in the query, also of a POST.

use crate::failure::{Failure, FailureKind, words};
use crate::session::Session;
use crate::ssrf_guard::{Request, Response};

pub(crate) const WHO: &str = "Apollo";

pub(crate) fn with_key(session: &Session<'_>, request: Request) -> Result<Request, Failure> {
    request.secret_header("x-api-key", "", session.key)
}

pub(crate) fn failure(response: &Response) -> Failure {
    let spent =
        words(&response.body).is_some_and(|words| words.to_lowercase().contains("insufficient credits"));
    if response.status == 422 && spent {
        return response.failure_of(WHO, FailureKind::OutOfCredits);
    }
    response.finder_failure(WHO)
}

//! Links in the answers of lists, to the address that the caller reached the service by.

use axum::http::header::{HeaderValue, LINK, VARY};
use serde::Serialize;

use crate::answer::Answer;
use crate::endpoint::Call;
use crate::links::{PageLinks, header_value};
use crate::public_url::PublicUrl;
use crate::state::ApiState;

/// Says in an answer where the pages around it are.
pub(crate) fn linked<T: Serialize>(call: &Call<ApiState>, pages: &PageLinks, answer: Answer<T>) -> Answer<T> {
    let base = format!("{}{}", call.reached().base_url(), call.path);
    let answer = answer.with_header(VARY, HeaderValue::from_static(PublicUrl::VARY));
    match header_value(&pages.links(&base, &call.query)) {
        Some(value) => answer.with_header(LINK, value),
        None => answer,
    }
}

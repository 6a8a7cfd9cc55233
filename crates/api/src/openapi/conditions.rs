//! The headers of an operation's own: entity tags, links, what is deprecated, the change sequence, idempotency keys.

use axum::http::Method;

use super::Operation;
use crate::endpoint::{Repeats, SEQUENCE};

impl Operation {
    pub(super) fn is_tagged_read(&self) -> bool {
        self.headers.is_tagged && self.method == Method::GET
    }

    /// The header that makes it depend on an entity tag. What creates something has none to depend on.
    pub(super) fn precondition(&self) -> Option<&'static str> {
        match self.method {
            Method::GET => self.headers.is_tagged.then_some("IfNoneMatch"),
            Method::POST => None,
            _ => self.headers.is_tagged.then_some("IfMatch"),
        }
    }

    /// Whether it takes an `Idempotency-Key`.
    pub(super) fn takes_key(&self) -> bool {
        self.method == Method::POST && self.repeats.is_once()
    }

    /// Its description, and that it refuses an `Idempotency-Key` if it does.
    pub(super) fn full_description(&self) -> String {
        let refusal = if self.method == Method::POST && self.repeats == Repeats::Never {
            " An `Idempotency-Key` is refused with 400, because the response contains a secret and is not stored."
        } else {
            ""
        };
        format!("{}{refusal}", self.description)
    }

    /// What its successful answers carry beside what all do.
    pub(super) fn own_headers(&self) -> impl Iterator<Item = &'static str> {
        let is_write = self.method != Method::GET;
        let is_deprecated = self.headers.deprecated_at.is_some();
        [
            (SEQUENCE, is_write && self.path_params.iter().any(|param| param.name == "projectId")),
            ("ETag", self.headers.is_tagged && self.method != Method::DELETE),
            ("Link", self.headers.is_paged || is_deprecated),
            ("Deprecation", is_deprecated),
            ("Idempotent-Replayed", self.takes_key()),
        ]
        .into_iter()
        .filter_map(|(name, applies)| applies.then_some(name))
    }
}

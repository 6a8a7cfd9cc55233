//! What is published, as it is sent.

/// Something that does not change while the server runs.
pub(crate) struct File {
    pub(crate) path: String,
    pub(crate) content_type: &'static str,
    pub(crate) text: String,
    pub(crate) content_security_policy: Option<String>,
}

impl File {
    pub(super) fn page(path: String, text: String, content_security_policy: String) -> Self {
        let content_type = "text/html; charset=utf-8";
        Self { path, content_type, text, content_security_policy: Some(content_security_policy) }
    }

    /// `/docs/rows.md`, for `rows`.
    pub(super) fn markdown(name: &str, text: String) -> Self {
        let path = format!("/docs/{name}.md");
        Self { path, content_type: "text/markdown; charset=utf-8", text, content_security_policy: None }
    }

    pub(super) fn plain(path: &str, text: String) -> Self {
        let content_type = "text/plain; charset=utf-8";
        Self { path: path.to_owned(), content_type, text, content_security_policy: None }
    }
}

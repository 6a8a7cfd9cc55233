//! What is published, as it is sent.

use serde_json::Value;

/// Something that does not change while the server runs.
pub(crate) struct File {
    pub(crate) content_type: &'static str,
    pub(crate) text: String,
    pub(crate) content_security_policy: Option<String>,
}

impl File {
    pub(super) fn page(text: String, content_security_policy: String) -> Self {
        let content_type = "text/html; charset=utf-8";
        Self { content_type, text, content_security_policy: Some(content_security_policy) }
    }

    pub(super) fn markdown(text: String) -> Self {
        Self { content_type: "text/markdown; charset=utf-8", text, content_security_policy: None }
    }

    pub(super) fn plain(text: String) -> Self {
        Self { content_type: "text/plain; charset=utf-8", text, content_security_policy: None }
    }
}

/// A file that is made from the document when somebody first asks for it: all of them together would take most of the time
/// of a start.
pub(crate) struct Published {
    pub(crate) path: String,
    make: Box<dyn Fn(&Value) -> File + Send + Sync>,
}

impl Published {
    pub(super) fn new(path: String, make: impl Fn(&Value) -> File + Send + Sync + 'static) -> Self {
        Self { path, make: Box::new(make) }
    }

    /// `/docs/rows.md`, for `rows`.
    pub(super) fn markdown(name: &str, text: impl Fn(&Value) -> String + Send + Sync + 'static) -> Self {
        Self::new(format!("/docs/{name}.md"), move |document| File::markdown(text(document)))
    }

    pub(crate) fn make(&self, document: &Value) -> File {
        (self.make)(document)
    }
}

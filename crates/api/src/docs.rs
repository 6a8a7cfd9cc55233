use serde_json::Value;
pub(crate) struct Page { pub html: String, pub content_security_policy: String }
pub(crate) fn page(_document: &Value) -> Page { Page { html: String::new(), content_security_policy: "default-src 'none'".into() } }

//! What operations are listed under.

use serde_json::{Value, json};

#[derive(Debug)]
pub(crate) struct Tag {
    pub name: &'static str,
    pub description: &'static str,
}

impl Tag {
    /// Its entry in the document.
    pub(crate) fn entry(&self) -> Value {
        json!({ "name": self.name, "description": self.description })
    }
}

//! What a key must be allowed to do. OpenAPI 3.0 knows scopes of OAuth only, so an extension names them.

use rowmill_model::Scope;
use serde_json::Value;

use super::Operation;

impl Operation {
    /// The scopes for people: what the description ends with.
    pub(super) fn scope_sentence(&self) -> String {
        let scopes: Vec<String> = self.scopes.iter().map(|scope| format!("`{scope}`")).collect();
        match scopes.as_slice() {
            [] => String::new(),
            [one] => format!("\n\nNeeds the scope {one}."),
            several => format!("\n\nNeeds the scopes {}.", several.join(" and ")),
        }
    }

    /// The scopes for programs.
    pub(super) fn scope_names(&self) -> Option<(String, Value)> {
        let names: Vec<&str> = self.scopes.iter().map(Scope::word).collect();
        (!names.is_empty()).then(|| ("x-scopes".to_owned(), names.into()))
    }
}

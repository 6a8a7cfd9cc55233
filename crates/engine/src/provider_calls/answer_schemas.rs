//! Compiled output schemas. The cells of a column share one: to compile it for each took longer than some calls.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use parking_lot::Mutex;
use rowmill_model::AnswerSchema;
use serde_json::Value as Json;

use crate::digest::Digest;

/// A schema with many patterns takes megabytes.
const KEPT_MAX: usize = 12;

static KEPT: LazyLock<Mutex<HashMap<Digest, Arc<AnswerSchema>>>> = LazyLock::new(Mutex::default);

/// The error is a sentence about the schema.
pub(super) fn compiled(schema: &Json) -> Result<Arc<AnswerSchema>, String> {
    let key = Digest::of([schema.to_string().as_str()]);
    if let Some(kept) = KEPT.lock().get(&key) {
        return Ok(Arc::clone(kept));
    }
    let compiled = Arc::new(AnswerSchema::compile(schema)?);
    let mut kept = KEPT.lock();
    if kept.len() >= KEPT_MAX {
        kept.clear();
    }
    kept.insert(key, Arc::clone(&compiled));
    Ok(compiled)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_schema_is_compiled_once_and_few_are_kept() {
        let schema = json!({ "type": "object" });
        assert!(Arc::ptr_eq(&compiled(&schema).unwrap(), &compiled(&schema).unwrap()));
        for number in 0..100 {
            compiled(&json!({ "minimum": number })).unwrap();
            assert!(KEPT.lock().len() <= KEPT_MAX);
        }
        assert!(compiled(&json!({ "type": 5 })).is_err());
    }
}

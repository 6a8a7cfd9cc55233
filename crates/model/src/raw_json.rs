//! A JSON value kept as its text, and parsed only where something looks inside.
//!
//! A `serde_json::Value` takes some 70 bytes for each number of a list, which is 2 bytes of text. Text takes what it takes on
//! disk, and keeps the digits of its numbers.

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, LazyLock};

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::value::{quote_long_numbers, raw, replace_strings};

static NULL: LazyLock<RawJson> = LazyLock::new(|| RawJson(Arc::from(RawValue::NULL.to_owned())));

/// JSON text. Copies share it. Two are equal if they are written the same: `1.10` is not `1.1`, so that a change from one to
/// the other is saved.
///
/// It is read from JSON text, and from a parsed value. Within what serde buffers (`untagged`, `flatten`) it cannot be read.
#[derive(Clone)]
pub struct RawJson(Arc<RawValue>);

impl RawJson {
    /// The text as it was written.
    pub fn get(&self) -> &str {
        self.0.get()
    }

    /// The value it stands for. Numbers that a float would round are text with all their digits.
    pub fn value(&self) -> Value {
        // What it was made from was parsed or checked, so this never fails.
        serde_json::from_str(&quote_long_numbers(self.get())).unwrap_or_default()
    }

    pub fn is_null(&self) -> bool {
        self.get() == "null"
    }

    /// The text within, if it is a string.
    pub fn text(&self) -> Option<Cow<'_, str>> {
        self.get().starts_with('"').then(|| raw::text(self.get()))
    }

    /// Hands out every string value, however deep, to be changed; names of members are left alone.
    pub fn for_each_string(&mut self, mut visit: impl FnMut(&mut String)) {
        let changed = replace_strings(self.get(), |sent| {
            let mut text = sent.to_owned();
            visit(&mut text);
            (text != sent).then(|| Value::from(text).to_string())
        });
        if let Cow::Owned(changed) = changed
            && let Ok(raw) = RawValue::from_string(changed)
        {
            self.0 = raw.into();
        }
    }

    /// The bytes it takes besides itself.
    pub fn bytes(&self) -> usize {
        self.get().len() + 2 * size_of::<usize>()
    }
}

impl From<Value> for RawJson {
    fn from(value: Value) -> Self {
        Self::from(&value)
    }
}

impl From<&Value> for RawJson {
    fn from(value: &Value) -> Self {
        // A value can always be written.
        RawValue::from_string(value.to_string()).map_or_else(|_| Self::default(), |raw| Self(raw.into()))
    }
}

impl Default for RawJson {
    fn default() -> Self {
        NULL.clone()
    }
}

impl PartialEq for RawJson {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.get() == other.get()
    }
}

impl fmt::Debug for RawJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.get())
    }
}

impl Serialize for RawJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for RawJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        Ok(if raw.get() == "null" { Self::default() } else { Self(raw.into()) })
    }
}

impl JsonSchema for RawJson {
    fn inline_schema() -> bool {
        Value::inline_schema()
    }

    fn schema_name() -> Cow<'static, str> {
        Value::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Value::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parsed(text: &str) -> RawJson {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn text_is_kept() {
        for text in
            ["1.10", "[1,\"a\",{\"b\":null}]", "123456789012345678901234567890", "null", "\"\\u00e9\""]
        {
            assert_eq!(parsed(text).get(), text);
            assert_eq!(serde_json::to_string(&parsed(text)).unwrap(), text);
        }
        assert!(parsed("[1]") == parsed("[1]") && parsed("1.10") != parsed("1.1"));
    }

    #[test]
    fn it_goes_to_values_and_back() {
        let value = json!({"a": [1, 2.5, "é", null]});
        assert_eq!(RawJson::from(&value).value(), value);
        assert_eq!(serde_json::to_value(RawJson::from(&value)).unwrap(), value);
        assert_eq!(serde_json::from_value::<RawJson>(value.clone()).unwrap().value(), value);
        assert_eq!(parsed("12345678901234567890123").value(), json!("12345678901234567890123"));
        assert_eq!(parsed("\"a\\nb\"").text().as_deref(), Some("a\nb"));
        assert_eq!(parsed("1").text(), None);
        assert!(RawJson::default().is_null() && parsed(" null").is_null());
    }
}

//! The operations of the document, and how to call one.

use serde_json::Value;

use super::lookup::{entries, fields, text};

/// One operation and where it is mounted.
pub(super) struct Operation<'d> {
    pub(super) method: &'d str,
    pub(super) path: &'d str,
    pub(super) value: &'d Value,
}

impl<'d> Operation<'d> {
    pub(super) fn id(&self) -> &'d str {
        text(self.value, "/operationId")
    }

    /// An example of its body, and of an answer with its status.
    pub(super) fn examples(&self) -> (Option<&'d Value>, Option<(&'d String, &'d Value)>) {
        let body = self.value.pointer("/requestBody/content/application~1json/example");
        let answer = fields(self.value, "/responses").find_map(|(status, response)| {
            Some((status, response.pointer("/content/application~1json/example")?))
        });
        (body, answer)
    }
}

pub(super) fn operations<'d>(document: &'d Value, tag: &str) -> Vec<Operation<'d>> {
    let mut found = Vec::new();
    for (path, item) in fields(document, "/paths") {
        for (method, value) in item.as_object().into_iter().flatten() {
            if text(value, "/tags/0") == tag {
                found.push(Operation { method, path, value });
            }
        }
    }
    found
}

/// A command that can be pasted into a shell once the capitals are filled in.
pub(super) fn curl(operation: &Operation<'_>, body: Option<&Value>) -> String {
    let method = operation.method.to_ascii_uppercase();
    let mut path = operation.path.to_owned();
    for parameter in entries(operation.value, "/parameters") {
        if text(parameter, "/in") == "path"
            && let Some(example) = parameter.get("example").and_then(Value::as_str)
        {
            path = path.replace(&format!("{{{}}}", text(parameter, "/name")), example);
        }
    }
    let mut lines = vec![match method.as_str() {
        "GET" => format!("curl \"$ROWMILL{path}\""),
        _ => format!("curl -X {method} \"$ROWMILL{path}\""),
    }];
    if operation.value.pointer("/security/0").is_some() {
        lines.push("  -H \"Authorization: Bearer $ROWMILL_KEY\"".to_owned());
    }
    if let Some(body) = body {
        lines.push("  -H \"Content-Type: application/json\"".to_owned());
        lines.push(format!("  -d '{}'", pretty(body).replace('\'', r"'\''")));
    }
    lines.join(" \\\n")
}

pub(super) fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

/// A tag's name in an address.
pub(super) fn slug(name: &str) -> String {
    name.to_ascii_lowercase().replace(' ', "-")
}

/// Whether a tag is of an earlier version of the API.
pub(super) fn is_old(tag: &Value) -> bool {
    let name = text(tag, "/name");
    name.ends_with(" V3") || name.ends_with(" V2")
}

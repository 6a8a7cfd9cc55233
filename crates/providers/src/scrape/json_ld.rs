//! Structured data in a page's scripts (JSON-LD), and the things it describes.

use scraper::Html;
use serde_json::{Map, Value};

use super::head::elements;

/// All data of a page.
const BYTES_MAX: usize = 256 * 1024;
const SCRIPTS_MAX: usize = 50;
/// Things in one another, and in all.
const DEPTH_MAX: u8 = 12;
const THINGS_MAX: usize = 2_000;

/// What the page's scripts hold, each script as it is written. What is not JSON is left out.
pub(super) fn read(document: &Html) -> Vec<Value> {
    let mut bytes_left = BYTES_MAX;
    let scripts = elements(document, "script").filter(|script| {
        script.value().attr("type").is_some_and(|kind| kind.to_ascii_lowercase().contains("ld+json"))
    });
    let texts = scripts.take(SCRIPTS_MAX).map(|script| script.text().collect::<String>());
    texts
        .filter(|text| {
            let fits = text.len() <= bytes_left;
            bytes_left -= if fits { text.len() } else { 0 };
            fits
        })
        .filter_map(|text| serde_json::from_str(text.trim().trim_end_matches(';')).ok())
        .collect()
}

/// Everything in the data that has a type, outer things first.
pub(super) fn things(data: &[Value]) -> Vec<&Map<String, Value>> {
    let mut found = Vec::new();
    for value in data {
        collect(value, DEPTH_MAX, &mut found);
    }
    found
}

fn collect<'a>(value: &'a Value, depth: u8, found: &mut Vec<&'a Map<String, Value>>) {
    if depth == 0 || found.len() >= THINGS_MAX {
        return;
    }
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect(item, depth - 1, found)),
        Value::Object(map) => {
            if map.contains_key("@type") {
                found.push(map);
            }
            map.values().for_each(|inner| collect(inner, depth - 1, found));
        }
        _ => {}
    }
}

/// Whether a thing is of one of these types; `LocalBusiness` and its like count as what they end in.
pub(super) fn is_a(thing: &Map<String, Value>, types: &[&str]) -> bool {
    let is_one = |value: &Value| {
        let name = value.as_str().unwrap_or_default();
        let name = name.rsplit(['/', '#', ':']).next().unwrap_or_default();
        types.iter().any(|known| name == *known || (*known != "Person" && name.ends_with(known)))
    };
    match thing.get("@type") {
        Some(Value::Array(kinds)) => kinds.iter().any(is_one),
        Some(kind) => is_one(kind),
        None => false,
    }
}

/// The texts of a property: a text, a number, the name or address of a thing, or a list of them.
pub(super) fn texts(value: Option<&Value>) -> Vec<String> {
    match value {
        Some(Value::String(text)) if !text.trim().is_empty() => vec![text.trim().to_owned()],
        Some(Value::Number(number)) => vec![number.to_string()],
        Some(Value::Array(items)) => items.iter().take(50).flat_map(texts_shallow).collect(),
        Some(other) => texts_shallow(other),
        None => Vec::new(),
    }
}

fn texts_shallow(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) if !text.trim().is_empty() => vec![text.trim().to_owned()],
        Value::Number(number) => vec![number.to_string()],
        Value::Object(map) => {
            let named =
                ["@value", "name", "url", "contentUrl", "@id"].iter().find_map(|key| map.get(*key)?.as_str());
            named.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty()).into_iter().collect()
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn things_are_found_wherever_they_are() {
        let page = "<script type='application/ld+json'>{\"@graph\": [{\"@type\": \"WebSite\", \"publisher\": \
            {\"@type\": [\"NewsMediaOrganization\"], \"name\": \"Acme\"}}]};</script>\
            <script type='application/ld+json'>{not json}</script><script>{\"a\": 1}</script>";
        let data = read(&Html::parse_document(page));
        assert_eq!(data.len(), 1);
        let found = things(&data);
        assert_eq!(found.len(), 2);
        assert!(is_a(found[1], &["Organization"]) && !is_a(found[0], &["Organization"]));
        assert_eq!(texts(found[1].get("name")), ["Acme"]);
        assert_eq!(texts(Some(&json!([{"name": "A"}, "B", 5, null, {}]))), ["A", "B", "5"]);
    }
}

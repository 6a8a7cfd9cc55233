//! Images in cells: which address of a value is that of an image.
//!
//! `web/src/table/display/image.ts` has the same rule. It says which cells ask for a thumbnail.

use serde_json::{Map, Value};

use crate::bounded_json::{self, Bounds};

/// Words that name an image, in a header or a field. The first that is found counts.
const NAMES: [&str; 10] =
    ["thumbnail", "logo", "avatar", "photo", "picture", "image", "images", "icon", "favicon", "screenshot"];
/// Words that may stand behind them.
const SUFFIXES: [&str; 4] = ["url", "link", "src", "address"];
/// What image files are called that can be shown.
const EXTENSIONS: [&str; 6] = ["png", "jpg", "jpeg", "gif", "webp", "ico"];

const ADDRESS_BYTES_MAX: usize = 4_096;
const DEPTH_MAX: usize = 3;
const ENTRIES_MAX: usize = 20;

/// The address of the image that a value shows: its own, or the first that its fields name. Raw JSON is read. The
/// address is a web address, or a `data:` address that holds the image itself.
pub fn image_in(header: &str, raw: &str) -> Option<String> {
    let value = parse(raw)?;
    let is_named = header.split(|letter: char| !letter.is_alphanumeric()).any(is_name);
    // Models answer with JSON as text.
    let inner = value.as_str().filter(|text| text.trim_start().starts_with(['{', '[']));
    let inner = inner.and_then(|text| parse(text.trim()));
    let value = inner.as_ref().unwrap_or(&value);
    // A logo that is called so comes before any link to an image file.
    found(value, Sign { is_named, is_file: false }, 0)
        .or_else(|| found(value, Sign { is_named, is_file: true }, 0))
}

/// What makes an address that of an image.
#[derive(Debug, Clone, Copy)]
struct Sign {
    /// The field or the header says so.
    is_named: bool,
    /// The file's extension may say so.
    is_file: bool,
}

impl Sign {
    fn named(self, is_named: bool) -> Self {
        Self { is_named, ..self }
    }
}

fn parse(text: &str) -> Option<Value> {
    bounded_json::parse(text, Bounds { counts: &[], part_bytes_max: usize::MAX }).ok()
}

fn found(value: &Value, sign: Sign, depth: usize) -> Option<String> {
    match value {
        Value::String(text) => address(text, sign),
        _ if depth == DEPTH_MAX => None,
        Value::Array(entries) => {
            entries.iter().take(ENTRIES_MAX).find_map(|entry| found(entry, sign, depth + 1))
        }
        Value::Object(fields) => in_fields(fields, sign, depth),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

/// Fields with the name of an image come first.
fn in_fields(fields: &Map<String, Value>, sign: Sign, depth: usize) -> Option<String> {
    let named = NAMES.iter().find_map(|name| {
        let field = fields.iter().take(ENTRIES_MAX * 2).find(|(key, _)| plain(key) == *name)?;
        found(field.1, sign.named(true), depth + 1)
    });
    // The image of `{"url": …, "alt": …}` below a field `logo`.
    let own = || {
        let key =
            SUFFIXES.iter().find_map(|name| fields.get(*name)).filter(|_| sign.is_named && depth > 0)?;
        found(key, sign, depth + 1)
    };
    let rest =
        || fields.values().take(ENTRIES_MAX * 2).find_map(|part| found(part, sign.named(false), depth + 1));
    named.or_else(own).or_else(rest)
}

/// `logo_url` and `logoUrl` become `logo`.
fn plain(key: &str) -> String {
    let mut letters: String =
        key.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    for suffix in SUFFIXES {
        if let Some(name) = letters.strip_suffix(suffix).filter(|name| !name.is_empty()) {
            letters.truncate(name.len());
            break;
        }
    }
    letters
}

fn is_name(word: &str) -> bool {
    let word = word.to_ascii_lowercase();
    NAMES.contains(&word.as_str())
}

/// A text that is the address of an image, by its extension or because its field says so.
fn address(text: &str, sign: Sign) -> Option<String> {
    let text = text.trim();
    let start: String = text.chars().take(11).collect::<String>().to_ascii_lowercase();
    if start == "data:image/" {
        let (head, _) = text.split_once(',')?;
        return head.to_ascii_lowercase().ends_with(";base64").then(|| text.to_owned());
    }
    if text.len() > ADDRESS_BYTES_MAX
        || text.contains(|letter: char| letter.is_whitespace() || "<>\"".contains(letter))
    {
        return None;
    }
    let address = if start.starts_with("www.") { format!("https://{text}") } else { text.to_owned() };
    let is_web =
        ["https://", "http://"].iter().any(|scheme| start.starts_with(scheme)) || start.starts_with("www.");
    (is_web && (sign.is_named || sign.is_file && has_extension(&address))).then_some(address)
}

fn has_extension(address: &str) -> bool {
    let path = address.split(['?', '#']).next().unwrap_or_default();
    // A host such as `example.ico` is no file.
    let file = path.splitn(4, '/').nth(3).and_then(|path| path.rsplit('/').next()).unwrap_or_default();
    let extension = file.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase());
    extension.is_some_and(|extension| EXTENSIONS.contains(&extension.as_str()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn pictures_are_found() {
        let check = |header: &str, value: Value, expected: Option<&str>| {
            assert_eq!(image_in(header, &value.to_string()).as_deref(), expected, "{header}: {value}");
        };
        let png = Some("https://a.example/b.png");
        check("Website", json!("https://a.example/b.png"), png);
        check("Website", json!(" HTTPS://a.example/B.JPEG?w=1#x "), Some("HTTPS://a.example/B.JPEG?w=1#x"));
        check("Website", json!("www.a.example/b.webp"), Some("https://www.a.example/b.webp"));
        check("Website", json!("https://a.example/b"), None);
        check("Website", json!("https://a.example/b.svg"), None);
        check("Website", json!("https://a.ico"), None);
        check("Website", json!("ftp://a.example/b.png"), None);
        check("Website", json!("see https://a.example/b.png"), None);
        check("Logo", json!("https://a.example/b"), Some("https://a.example/b"));
        check("Company logo URL", json!("https://a.example/b"), Some("https://a.example/b"));
        check("Logotherapy", json!("https://a.example/b"), None);
        check("Logo", json!("a.example"), None);
        check("Logo", json!(7), None);
        check("Logo", json!(null), None);
        check("Any", json!("data:image/png;base64,AAAA"), Some("data:image/png;base64,AAAA"));
        check("Any", json!("data:image/svg+xml,<svg/>"), None);
    }

    #[test]
    fn pictures_of_objects_are_those_their_fields_name() {
        let check = |value: Value, expected: Option<&str>| {
            assert_eq!(image_in("Page", &value.to_string()).as_deref(), expected, "{value}");
        };
        let image = Some("https://a.example/b");
        check(json!({ "url": "https://a.example", "logo": "https://a.example/b" }), image);
        check(json!({ "metadata": { "logoUrl": "https://a.example/b" } }), image);
        check(json!({ "image": { "alt": "A", "url": "https://a.example/b" } }), image);
        check(json!({ "images": [{ "src": "https://a.example/b" }] }), image);
        check(json!([{ "name": "A" }, { "avatar_url": "https://a.example/b" }]), image);
        check(json!(r#"{"logo": "https://a.example/b"}"#), image);
        check(json!(["https://a.example/c.png"]), Some("https://a.example/c.png"));
        check(
            json!({ "links": ["https://a.example/c.png"], "metadata": { "logo": "https://a.example/b" } }),
            image,
        );
        check(json!({ "url": "https://a.example/b" }), None);
        check(json!({ "a": { "b": { "c": { "logo": "https://a.example/b" } } } }), None);
        check(json!({ "logo": null, "links": ["https://a.example"] }), None);
        check(json!("{broken"), None);
    }
}

//! What a server says of a request that it refuses, wherever it puts the words.

use serde_json::Value;

/// A refusal's own words, in small letters.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Refusal {
    /// The field of the request that it is about, if it says so.
    param: String,
    code: String,
    pub(super) words: String,
    /// Sizes that stand in fields of their own.
    prompt_tokens: Option<u64>,
    context_tokens: Option<u64>,
}

/// How long a prompt is and how much the model takes, in tokens, as far as the server says it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct ContextSizes {
    pub(super) prompt: Option<u64>,
    pub(super) context: Option<u64>,
}

/// Longer explanations quote the request.
const WORDS_CHARS_MAX: usize = 2_000;

const TOO_LONG_CODES: [&str; 3] = ["context_length", "exceed_context_size", "string_above_max_length"];

const TOO_LONG_WORDS: [&str; 10] = [
    "context length",
    "context window",
    "context size",
    "context limit",
    "contextwindowexceeded",
    "prompt is too long",
    "input is too long",
    "input token count",
    "too many tokens",
    "reduce the length",
];

impl Refusal {
    pub(super) fn read(body: &Value) -> Self {
        let error = error_of(body);
        // FastAPI's servers name the field as a path: ["body", "max_tokens"].
        let detail = error.pointer("/detail/0").unwrap_or(&Value::Null);
        let place = detail.get("loc").and_then(Value::as_array).into_iter().flatten();
        let place = place.filter_map(Value::as_str).collect::<Vec<_>>().join(".");
        let texts = |keys: &[&str]| -> Vec<&str> {
            keys.iter().filter_map(|key| error.pointer(key)?.as_str()).collect()
        };
        let mut words =
            texts(&["", "/message", "/detail", "/detail/0/msg", "/error", "/metadata/raw"]).join(" ");
        if let Some((cut, _)) = words.char_indices().nth(WORDS_CHARS_MAX) {
            words.truncate(cut);
        }
        let number = |key: &str| error.get(key).and_then(Value::as_u64);
        Self {
            param: [texts(&["/param"]).concat(), place].concat().to_lowercase(),
            code: texts(&["/code", "/type"]).join(" ").to_lowercase(),
            words: words.to_lowercase(),
            prompt_tokens: number("n_prompt_tokens"),
            context_tokens: number("n_ctx"),
        }
    }

    /// Whether it is about this field: `stream` is not in `upstream`.
    pub(super) fn names(&self, field: &str) -> bool {
        let begins = |at: usize| {
            let before = self.words.get(..at).and_then(|before| before.chars().next_back());
            !before.is_some_and(char::is_alphanumeric)
        };
        self.param.split('.').any(|part| part == field)
            || self.words.match_indices(field).any(|(at, _)| begins(at))
    }

    /// The largest number it names below the one that was sent.
    pub(super) fn largest_below(&self, sent: u32) -> Option<u32> {
        let numbers = numbers(&self.words).into_iter().map(|(_, number, _)| number);
        let smaller = numbers.filter_map(|number| u32::try_from(number).ok());
        smaller.filter(|number| (1..sent).contains(number)).max()
    }

    /// The sizes of a prompt that is too long, if that is what it says.
    pub(super) fn context_sizes(&self) -> Option<ContextSizes> {
        let is_too_long = TOO_LONG_CODES.iter().any(|code| self.code.contains(code))
            || TOO_LONG_WORDS.iter().any(|words| self.words.contains(words));
        is_too_long.then(|| ContextSizes {
            prompt: self.prompt_tokens.or_else(|| {
                self.number_by(
                    &[" in the messages", " input tokens"],
                    &["resulted in ", "too long: ", "token count (", "request (", "context limit: "],
                )
            }),
            context: self.context_tokens.or_else(|| {
                self.number_by(
                    &[],
                    &["context length is ", "context length is only ", "context size (", "allowed (", "> "],
                )
            }),
        })
    }

    /// The first number that stands right before or right after one of these words.
    fn number_by(&self, before: &[&str], after: &[&str]) -> Option<u64> {
        let numbers = numbers(&self.words);
        let find = |words: &str, is_before: bool| {
            let number = numbers.iter().find(|(start, _, end)| {
                if is_before {
                    self.words.get(*end..).is_some_and(|rest| rest.starts_with(words))
                } else {
                    self.words.get(..*start).is_some_and(|rest| rest.ends_with(words))
                }
            });
            number.map(|(_, number, _)| *number)
        };
        before
            .iter()
            .find_map(|words| find(words, true))
            .or_else(|| after.iter().find_map(|words| find(words, false)))
    }
}

/// The object that tells of an error. Gemini's compatible form wraps it in a list.
pub(super) fn error_of(body: &Value) -> &Value {
    let error = body.pointer("/0/error").or_else(|| body.get("error"));
    error.filter(|error| !error.is_null()).unwrap_or(body)
}

/// The whole numbers in a text, with where each begins and ends. Commas may group their digits.
fn numbers(text: &str) -> Vec<(usize, u64, usize)> {
    let mut found: Vec<(usize, u64, usize)> = Vec::new();
    let mut is_grouped = false;
    for (at, character) in text.char_indices() {
        let Some(digit) = character.to_digit(10) else {
            // The comma in `8,192` belongs to the number, if a digit follows.
            is_grouped = character == ',' && found.last().is_some_and(|(_, _, end)| *end == at);
            continue;
        };
        match found.last_mut() {
            Some((_, number, end)) if *end == at || (is_grouped && *end + 1 == at) => {
                *number = number.saturating_mul(10).saturating_add(digit.into());
                *end = at + 1;
            }
            _ => found.push((at, digit.into(), at + 1)),
        }
        is_grouped = false;
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn words_are_found_wherever_they_stand() {
        for (body, field) in [
            (json!({"error": {"message": "x", "param": "max_tokens"}}), "max_tokens"),
            (json!([{"error": {"message": "Unknown name \"temperature\""}}]), "temperature"),
            (
                json!({"detail": [{"loc": ["body", "response_format"], "msg": "extra fields not permitted"}]}),
                "response_format",
            ),
            (json!({"detail": "stream must be true"}), "stream"),
            (json!({"error": "max_tokens is too large"}), "max_tokens"),
            (
                json!({"error": {"message": "Provider returned error", "metadata": {"raw": "{\"error\":\"temperature\"}"}}}),
                "temperature",
            ),
            (json!("temperature"), "temperature"),
        ] {
            let refusal = Refusal::read(&body);
            assert!(refusal.names(field), "{body} {refusal:?}");
            assert!(!refusal.names("seed"), "{body}");
            assert!(!refusal.names("em"), "{body}");
        }
        assert!(!Refusal::read(&json!({"error": {"param": "max_completion_tokens"}})).names("max_tokens"));
        assert!(
            Refusal::read(&json!({"error": {"message": "x".repeat(9_000)}})).words.len() <= WORDS_CHARS_MAX
        );
    }

    #[test]
    fn numbers_are_read_with_their_places() {
        assert_eq!(
            numbers("a 12, 3 [4096] 8,192."),
            [(2, 12, 4), (6, 3, 7), (9, 4_096, 13), (15, 8_192, 20)]
        );
        assert_eq!(numbers("é 7"), [(3, 7, 4)]);
        assert!(numbers("none, at all").is_empty());
    }
}

//! Server-sent events: some servers only answer as a stream, and some do so unasked.

use serde_json::Value;

use crate::ssrf_guard::Response;

/// The longest stream. Each token comes in an event of its own, with some hundred bytes around it.
pub(super) const STREAM_BYTES_MAX: usize = 8 * 1024 * 1024;

/// The events of an answer that is a stream; none if it is a whole answer.
pub(super) fn events(response: &Response) -> Option<Events> {
    let is_named = response.header("content-type").is_some_and(|kind| kind.starts_with("text/event-stream"));
    let begins_as_one = || {
        let start = response.body.trim_ascii_start();
        start.starts_with(b"data:") || start.starts_with(b"event:")
    };
    (is_named || begins_as_one()).then(|| Events::read(&String::from_utf8_lossy(&response.body)))
}

/// A stream, read to its end.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Events {
    pub(super) data: Vec<Value>,
    /// Whether it ended with OpenAI's word for that.
    pub(super) is_done: bool,
}

impl Events {
    fn read(text: &str) -> Self {
        let mut events = Self::default();
        for event in text.replace("\r\n", "\n").split("\n\n") {
            let lines = event.lines().filter_map(|line| line.strip_prefix("data:"));
            let data =
                lines.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect::<Vec<_>>().join("\n");
            if data.trim() == "[DONE]" {
                events.is_done = true;
            } else if let Ok(data) = serde_json::from_str(&data) {
                events.data.push(data);
            }
        }
        events
    }
}

/// Adds a piece of text to what has come of it.
pub(super) fn append(whole: &mut String, piece: Option<&Value>) {
    if let Some(piece) = piece.and_then(Value::as_str) {
        whole.push_str(piece);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn events_are_read_in_every_spelling() {
        for (text, expected, is_done) in [
            ("data: {\"a\":1}\n\ndata: [DONE]\n\n", vec![json!({"a": 1})], true),
            (
                "event: x\r\ndata:{\"a\":\r\ndata: 1}\r\n\r\n: comment\r\n\r\ndata: 2",
                vec![json!({"a": 1}), json!(2)],
                false,
            ),
            ("data: {cut", vec![], false),
            ("", vec![], false),
        ] {
            assert_eq!(Events::read(text), Events { data: expected, is_done }, "{text}");
        }
    }
}

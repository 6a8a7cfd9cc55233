//! What a server takes of a request, and what is sent instead where it refuses something.
//!
//! Servers that speak one wire differ: one wants the limit of tokens under another name, one takes no
//! temperature, one knows no schemas, one only streams. They say so with a 400, which costs nothing.
//! [`Dialect::adapted`] is the one place that reads such a refusal. It only ever takes something away, so a
//! series of refusals comes to an end.

use super::refusal::{ContextSizes, Refusal};

/// How a server is asked. The default is how most of them want it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Dialect {
    pub(super) limit_field: LimitField,
    /// The largest limit of tokens that the model takes.
    pub(super) limit_max: Option<u32>,
    pub(super) without_temperature: bool,
    pub(super) format: Format,
    pub(super) streaming: Streaming,
    /// Whether the server does not want to be told what to cache.
    pub(super) without_cache: bool,
}

/// The field that limits the length of the response.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum LimitField {
    /// The one that the server's kind usually wants.
    #[default]
    Usual,
    Other,
    Unsent,
}

/// How a server is told that the response must be JSON.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Format {
    /// With the schema, so that the server holds the model to it.
    #[default]
    Schema,
    /// That it must be JSON; the schema is in the prompt.
    AnyJson,
    /// In the prompt only.
    Unsent,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Streaming {
    #[default]
    Off,
    /// With the usage in the last event.
    WithUsage,
    /// For servers that do not know how to send the usage.
    Plain,
}

/// What a request held of those things that servers refuse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sent {
    /// The limit of tokens: its field and its value.
    pub(super) limit: Option<(&'static str, u32)>,
    pub(super) has_temperature: bool,
    pub(super) has_format: bool,
    /// Whether it says what to cache.
    pub(super) has_cache: bool,
    pub(super) wire: Wire,
}

/// Whose requests they are like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wire {
    /// The limit may have another name, or be left out. There is a format without a schema.
    OpenAi,
    /// The limit is required, and a format has a schema.
    Anthropic,
}

/// What to do about a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Adaptation {
    /// Ask in another dialect. If that helps, it is worth remembering for this server and model.
    Speak(Dialect),
    /// Ask for a response of so many tokens: this prompt leaves no room for more.
    Shorten(u32),
}

/// What a refusal comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Adapt(Adaptation),
    /// The prompt is longer than the model takes.
    TooLong(ContextSizes),
    /// Nothing that another request would mend.
    Final,
}

/// A response that is shorter is not worth asking for.
const ROOM_TOKENS_MIN: u64 = 16;

/// Words for a schema in what servers say.
const FORMAT_WORDS: [&str; 8] = [
    "response_format",
    "output_config",
    "output_format",
    "json_schema",
    "json_object",
    "structured output",
    "schema",
    "grammar",
];

/// Words for what says what to cache.
const CACHE_WORDS: [&str; 4] =
    ["cache_control", "prompt_cache_key", "prompt_cache_options", "prompt_cache_breakpoint"];

/// Words that say a number is too large, and not its field unknown.
const TOO_LARGE_WORDS: [&str; 8] =
    ["too large", "at most", "less than or equal", "maximum", "range", "exceed", " > ", "<="];

impl Dialect {
    /// The fields that this server is asked without, or with another meaning, as the wires call them.
    pub fn changes(self) -> Vec<&'static str> {
        let Self { limit_field, limit_max, without_temperature, format, streaming, without_cache } = self;
        [
            (limit_field != LimitField::Usual || limit_max.is_some(), "max_tokens"),
            (without_temperature, "temperature"),
            (format != Format::Schema, "response_format"),
            (streaming != Streaming::Off, "stream"),
            (without_cache, "cache_control"),
        ]
        .into_iter()
        .filter_map(|(is_changed, name)| is_changed.then_some(name))
        .collect()
    }

    /// The limit to send for one that is asked for.
    pub(super) fn limit(self, asked: u32) -> u32 {
        self.limit_max.map_or(asked, |limit_max| asked.min(limit_max))
    }

    /// Reads a refusal of a request in this dialect.
    pub(super) fn adapted(self, refusal: &Refusal, sent: &Sent) -> Verdict {
        if let Some(sizes) = refusal.context_sizes() {
            return match room(sizes, sent) {
                Some(room) => Verdict::Adapt(Adaptation::Shorten(room)),
                None => Verdict::TooLong(sizes),
            };
        }
        let next = self
            .other_cache(refusal, sent)
            .or_else(|| self.other_limit(refusal, sent))
            .or_else(|| self.other_temperature(refusal, sent))
            .or_else(|| self.other_format(refusal, sent))
            .or_else(|| self.other_streaming(refusal));
        next.map_or(Verdict::Final, |dialect| Verdict::Adapt(Adaptation::Speak(dialect)))
    }

    /// Words about caching name nothing else, so they are looked for first.
    fn other_cache(self, refusal: &Refusal, sent: &Sent) -> Option<Self> {
        let is_refused = sent.has_cache && CACHE_WORDS.iter().any(|word| refusal.names(word));
        is_refused.then_some(Self { without_cache: true, ..self })
    }

    fn other_limit(self, refusal: &Refusal, sent: &Sent) -> Option<Self> {
        let (field, limit) = sent.limit?;
        if !refusal.names(field) {
            return None;
        }
        if TOO_LARGE_WORDS.iter().any(|words| refusal.words.contains(words))
            && let Some(limit_max) = refusal.largest_below(limit)
        {
            return Some(Self { limit_max: Some(limit_max), ..self });
        }
        let limit_field = match self.limit_field {
            _ if sent.wire == Wire::Anthropic => return None,
            LimitField::Usual => LimitField::Other,
            LimitField::Other | LimitField::Unsent => LimitField::Unsent,
        };
        Some(Self { limit_field, ..self })
    }

    fn other_temperature(self, refusal: &Refusal, sent: &Sent) -> Option<Self> {
        let is_refused = sent.has_temperature && refusal.names("temperature");
        is_refused.then_some(Self { without_temperature: true, ..self })
    }

    fn other_format(self, refusal: &Refusal, sent: &Sent) -> Option<Self> {
        if !sent.has_format || !FORMAT_WORDS.iter().any(|word| refusal.names(word)) {
            return None;
        }
        let format = match self.format {
            Format::Schema if sent.wire == Wire::OpenAi => Format::AnyJson,
            Format::Schema | Format::AnyJson | Format::Unsent => Format::Unsent,
        };
        Some(Self { format, ..self })
    }

    fn other_streaming(self, refusal: &Refusal) -> Option<Self> {
        let streaming = match self.streaming {
            Streaming::Off if refusal.names("stream") => Streaming::WithUsage,
            Streaming::WithUsage if refusal.names("stream_options") => Streaming::Plain,
            Streaming::Off | Streaming::WithUsage | Streaming::Plain => return None,
        };
        Some(Self { streaming, ..self })
    }
}

/// The tokens that are left for the response, if the prompt fits and only the limit asks for too much.
fn room(sizes: ContextSizes, sent: &Sent) -> Option<u32> {
    let ContextSizes { prompt, context } = sizes;
    let (_, limit) = sent.limit?;
    let room = context?.checked_sub(prompt?)?;
    let is_less = room < u64::from(limit);
    u32::try_from(room).ok().filter(|_| is_less && room >= ROOM_TOKENS_MIN)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const SENT: Sent = Sent {
        limit: Some(("max_tokens", 100_000)),
        has_temperature: true,
        has_format: true,
        has_cache: true,
        wire: Wire::OpenAi,
    };

    fn said(words: &str) -> Value {
        json!({"error": {"message": words, "type": "invalid_request_error", "param": null, "code": null}})
    }

    fn verdict(dialect: Dialect, sent: &Sent, body: &Value) -> Verdict {
        dialect.adapted(&Refusal::read(body), sent)
    }

    fn check(sent: &Sent, words: &str, expected: Dialect) {
        let found = verdict(Dialect::default(), sent, &said(words));
        assert_eq!(found, Verdict::Adapt(Adaptation::Speak(expected)), "{words}");
    }

    #[test]
    fn a_limit_is_sent_as_the_server_wants_it() {
        let usual = Dialect::default();
        let other = Dialect { limit_field: LimitField::Other, ..usual };
        let at_most = |limit| Dialect { limit_max: Some(limit), ..usual };
        for (words, expected) in [
            (
                "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
                other,
            ),
            ("Unrecognized request argument supplied: max_tokens", other),
            (
                "max_tokens is too large: 100000. This model supports at most 16384 completion tokens, whereas you provided 100000.",
                at_most(16_384),
            ),
            (
                "max_tokens: 100000 > 8192, which is the maximum allowed number of output tokens for claude-x-20241022",
                at_most(8_192),
            ),
            (
                "`max_tokens` must be less than or equal to `8,192`, the maximum value for `max_tokens` is less than the `context_window` for this model",
                at_most(8_192),
            ),
            ("Invalid max_tokens value, the valid range of max_tokens is [1, 4096]", at_most(4_096)),
        ] {
            check(&SENT, words, expected);
        }
        let twice = verdict(other, &SENT, &said("Unknown parameter: max_tokens"));
        let unsent = Dialect { limit_field: LimitField::Unsent, ..usual };
        assert_eq!(twice, Verdict::Adapt(Adaptation::Speak(unsent)));
        let required = Sent { wire: Wire::Anthropic, ..SENT };
        assert_eq!(verdict(usual, &required, &said("max_tokens: Field required")), Verdict::Final);
    }

    #[test]
    fn what_a_server_refuses_is_left_out() {
        let usual = Dialect::default();
        let cold = Dialect { without_temperature: true, ..usual };
        let any_json = Dialect { format: Format::AnyJson, ..usual };
        let streamed = Dialect { streaming: Streaming::WithUsage, ..usual };
        let uncached = Dialect { without_cache: true, ..usual };
        for (words, expected) in [
            (
                "Unsupported value: 'temperature' does not support 0.5 with this model. Only the default (1) value is supported.",
                cold,
            ),
            ("`temperature` may only be set to 1 when thinking is enabled", cold),
            (
                "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.",
                any_json,
            ),
            ("output_config: Extra inputs are not permitted", any_json),
            ("The compiled grammar is too large", any_json),
            ("messages.0.content.0.cache_control: Extra inputs are not permitted", uncached),
            ("Unknown parameter: 'prompt_cache_key'.", uncached),
            ("Unrecognized request argument supplied: prompt_cache_options", uncached),
            (
                "This model only support stream mode, please enable the stream parameter to access the model.",
                streamed,
            ),
        ] {
            check(&SENT, words, expected);
        }
        let unsent = Dialect { format: Format::Unsent, ..usual };
        check(&Sent { wire: Wire::Anthropic, ..SENT }, "output_config.format: unsupported", unsent);
        let again = verdict(any_json, &SENT, &said("response_format json_object is not supported"));
        assert_eq!(again, Verdict::Adapt(Adaptation::Speak(unsent)));
        let plain = Dialect { streaming: Streaming::Plain, ..usual };
        let again = verdict(streamed, &SENT, &said("Unknown field: stream_options"));
        assert_eq!(again, Verdict::Adapt(Adaptation::Speak(plain)));
    }

    #[test]
    fn what_was_not_sent_was_not_refused() {
        let bare = Sent { limit: None, has_temperature: false, has_format: false, has_cache: false, ..SENT };
        for words in [
            "temperature is wrong",
            "max_tokens is too large: 5",
            "response_format",
            "cache_control",
            "No such upstream",
            "",
        ] {
            assert_eq!(verdict(Dialect::default(), &bare, &said(words)), Verdict::Final, "{words}");
        }
        let gone = Dialect { streaming: Streaming::Plain, ..Dialect::default() };
        assert_eq!(verdict(gone, &bare, &said("stream")), Verdict::Final);
    }

    #[test]
    fn changes_are_told_in_the_words_of_the_wire() {
        assert_eq!(Dialect::default().changes(), [""; 0]);
        let all = Dialect {
            limit_field: LimitField::Usual,
            limit_max: Some(5),
            without_temperature: true,
            format: Format::AnyJson,
            streaming: Streaming::Plain,
            without_cache: true,
        };
        let names = ["max_tokens", "temperature", "response_format", "stream", "cache_control"];
        assert_eq!(all.changes(), names);
        assert_eq!((all.limit(9), all.limit(3)), (5, 3));
    }

    #[test]
    fn a_prompt_that_fits_gets_a_shorter_response() {
        let shorten = |tokens| Verdict::Adapt(Adaptation::Shorten(tokens));
        let too_long = |prompt, context| Verdict::TooLong(ContextSizes { prompt, context });
        for (words, expected) in [
            (
                "This model's maximum context length is 4097 tokens. However, you requested 101000 tokens (1000 in the messages, 100000 in the completion).",
                shorten(3_097),
            ),
            (
                "'max_tokens' or 'max_completion_tokens' is too large: 100000. This model's maximum context length is 4096 tokens and your request has 3000 input tokens (100000 > 4096 - 3000).",
                shorten(1_096),
            ),
            (
                "input length and `max_tokens` exceed context limit: 199000 + 100000 > 200000, decrease input length or `max_tokens` and try again",
                shorten(1_000),
            ),
            ("prompt is too long: 210000 tokens > 200000 maximum", too_long(Some(210_000), Some(200_000))),
            (
                "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens.",
                too_long(Some(9_001), Some(8_192)),
            ),
            (
                "You passed 5001 input tokens and requested 100 output tokens. However, the model's context length is only 4096 tokens",
                too_long(Some(5_001), Some(4_096)),
            ),
            (
                "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
                too_long(Some(1_200_000), Some(1_048_576)),
            ),
            (
                "request (1234 tokens) exceeds the available context size (512 tokens), try increasing it",
                too_long(Some(1_234), Some(512)),
            ),
            ("Your input exceeds the context window of this model.", too_long(None, None)),
            ("litellm.ContextWindowExceededError: mocked", too_long(None, None)),
        ] {
            assert_eq!(verdict(Dialect::default(), &SENT, &said(words)), expected, "{words}");
        }
        let by_code = json!({"error": {"message": "No.", "code": "context_length_exceeded"}});
        assert_eq!(verdict(Dialect::default(), &SENT, &by_code), too_long(None, None));
        let by_field = json!({"error": {"code": 400, "message": "the request exceeds the available context size",
            "type": "exceed_context_size_error", "n_prompt_tokens": 1234, "n_ctx": 512}});
        assert_eq!(verdict(Dialect::default(), &SENT, &by_field), too_long(Some(1_234), Some(512)));
    }
}

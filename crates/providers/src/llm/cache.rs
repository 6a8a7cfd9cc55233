//! How servers are told what the prompts of several rows share, so that they read it once.
//!
//! Anthropic wants the end of it marked. `OpenAI` finds it by itself; a key brings together the requests that share it,
//! and models whose cache has a price of its own want its end marked, too. Nobody else is told anything.

use rowmill_model::SpendingSettings;
use rowmill_model::pricing::model_price;
use serde_json::{Map, Value, json};

use super::dialect::Dialect;
use super::question::{Prefix, Question};
use crate::access::Access;

/// What `OpenAI` is told.
#[derive(Debug, Clone, Copy)]
pub(super) struct OpenAiCache<'a> {
    prefix: &'a Prefix,
    /// Whether the model keeps only what is marked. It charges for what it keeps.
    is_marked: bool,
}

impl<'a> OpenAiCache<'a> {
    pub(super) fn of(access: &Access, question: &'a Question, dialect: Dialect) -> Option<Self> {
        let prefix = question.prefix.as_ref().filter(|_| is_openai(access) && !dialect.without_cache)?;
        let price = model_price(&SpendingSettings::default(), &question.model);
        Some(Self { prefix, is_marked: price.is_some_and(|price| price.cache_write.is_some()) })
    }

    /// The fields of the request itself. A conversation goes on behind what rows share, and is kept as well.
    pub(super) fn add_to(self, body: &mut Map<String, Value>, is_conversation: bool) {
        body.insert("prompt_cache_key".to_owned(), json!(self.prefix.key));
        if self.is_marked && !is_conversation {
            body.insert("prompt_cache_options".to_owned(), json!({"mode": "explicit"}));
        }
    }

    /// The content of the first turn, in parts of the kind that the wire has for texts.
    pub(super) fn content(self, text: &str, kind: &str) -> Value {
        match self.prefix.split(text).filter(|_| self.is_marked) {
            None => json!(text),
            Some((shared, rest)) => json!([
                {"type": kind, "text": shared, "prompt_cache_breakpoint": {"mode": "explicit"}},
                {"type": kind, "text": rest},
            ]),
        }
    }
}

pub(super) fn is_openai(access: &Access) -> bool {
    let host = access.base_url.host_str().unwrap_or_default();
    host == "api.openai.com" || host.ends_with(".openai.azure.com")
}

/// The first turn as Anthropic's blocks, with the end of what is shared marked; none if nothing is.
pub(super) fn anthropic_blocks(text: &str, prefix: Option<&Prefix>) -> Option<[Value; 2]> {
    let (shared, rest) = prefix?.split(text)?;
    let shared = json!({"type": "text", "text": shared, "cache_control": {"type": "ephemeral"}});
    Some([shared, json!({"type": "text", "text": rest})])
}

#[cfg(test)]
mod tests {
    use rowmill_model::prices::price_list;

    use super::*;
    use crate::llm::openai;
    use crate::ssrf_guard::NetworkPolicy;

    fn access(address: &str) -> Access {
        let base_url = address.parse().unwrap();
        Access { base_url, network_policy: NetworkPolicy::Trusted, api_key: None }
    }

    fn question(model: &str) -> Question {
        let prefix = Some(Prefix { bytes: "Rules. ".len(), key: "k1".to_owned() });
        Question { prefix, ..Question::new(model, "Rules. Row") }
    }

    #[test]
    fn openai_is_told_which_requests_share_something() {
        let own = access("https://api.openai.com/v1");
        let (body, sent) = openai::body(&own, &question("gpt-4o-mini"), Dialect::default());
        assert_eq!((&body["prompt_cache_key"], sent.has_cache), (&json!("k1"), true));
        assert_eq!(body["messages"][0]["content"], "Rules. Row");
        assert_eq!(body.get("prompt_cache_options"), None);
        let refused = Dialect { without_cache: true, ..Dialect::default() };
        let (body, sent) = openai::body(&own, &question("gpt-4o-mini"), refused);
        assert_eq!((body.get("prompt_cache_key"), sent.has_cache), (None, false));
        let other = access("https://models.example/v1");
        let (body, sent) = openai::body(&other, &question("gpt-4o-mini"), Dialect::default());
        assert_eq!((body.get("prompt_cache_key"), sent.has_cache), (None, false), "others may not know it");
    }

    #[test]
    fn the_end_is_marked_where_keeping_has_a_price() {
        let charges =
            |name: &&String| name.starts_with("gpt-") && price_list().models[*name].cache_write.is_some();
        let model = price_list().models.keys().find(charges).unwrap();
        let own = access("https://api.openai.com/v1");
        let (body, _) = openai::body(&own, &question(model), Dialect::default());
        assert_eq!(body["prompt_cache_options"], json!({"mode": "explicit"}));
        let parts = json!([
            {"type": "text", "text": "Rules. ", "prompt_cache_breakpoint": {"mode": "explicit"}},
            {"type": "text", "text": "Row"},
        ]);
        assert_eq!(body["messages"][0]["content"], parts);
    }

    #[test]
    fn a_part_is_marked_only_where_both_have_words() {
        let blocks = |text: &str, bytes: usize| {
            anthropic_blocks(text, Some(&Prefix { bytes, key: String::new() })).is_some()
        };
        assert!(blocks("Rules. Row", 7));
        assert!(!blocks("Rules. Row", 10) && !blocks("Rules. Row", 0) && !blocks("Rules. Row", 99));
        assert!(!blocks("é", 1), "not within a letter");
        assert!(anthropic_blocks("Rules. Row", None).is_none());
    }
}

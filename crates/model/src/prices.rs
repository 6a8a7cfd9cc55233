//! Prices, and the list of those that come with this version.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::spent::Usage;

/// The price of a model, in US dollars for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ModelPrice {
    #[schemars(range(min = 0.0, max = 1_000_000.0))]
    pub input: f64,
    #[schemars(range(min = 0.0, max = 1_000_000.0))]
    pub output: f64,
    /// For input that comes from the server's cache. Default: as other input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64", range(min = 0.0, max = 1_000_000.0))]
    pub cache_read: Option<f64>,
    /// For input that the server puts into its cache. Default: as other input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64", range(min = 0.0, max = 1_000_000.0))]
    pub cache_write: Option<f64>,
}

/// What providers charge for an answer in a batch, as a part of the usual price.
const BATCH_PART: f64 = 0.5;

impl ModelPrice {
    /// The price of an answer in a batch.
    #[must_use]
    pub fn in_batches(self) -> Self {
        let part = |price: f64| price * BATCH_PART;
        Self {
            input: part(self.input),
            output: part(self.output),
            cache_read: self.cache_read.map(part),
            cache_write: self.cache_write.map(part),
        }
    }

    /// What tokens that were used cost, in US dollars.
    pub fn dollars_used(self, usage: &Usage) -> f64 {
        let Usage { attempts: _, input_tokens, output_tokens, cached_tokens, cache_written_tokens } = *usage;
        let read = cached_tokens.min(input_tokens);
        let written = cache_written_tokens.min(input_tokens - read);
        #[expect(clippy::cast_precision_loss, reason = "no answer has so many tokens")]
        let [plain, read, written, output] =
            [input_tokens - read - written, read, written, output_tokens].map(|tokens| tokens as f64);
        let cached =
            self.cache_read.unwrap_or(self.input) * read + self.cache_write.unwrap_or(self.input) * written;
        self.dollars(plain, output) + cached / 1e6
    }

    /// What so many tokens cost, in US dollars.
    pub fn dollars(self, input_tokens: f64, output_tokens: f64) -> f64 {
        (self.input * input_tokens + self.output * output_tokens) / 1e6
    }
}

/// The price of a provider that is paid in credits or by the call, in US dollars.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ProviderPrice {
    /// For each credit that the provider reports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64", range(min = 0.0, max = 1_000_000.0))]
    pub usd_per_credit: Option<f64>,
    /// For each search, where the provider reports no credits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64", range(min = 0.0, max = 1_000_000.0))]
    pub usd_per_call: Option<f64>,
}

/// The prices of models that come with this version.
#[derive(Debug, Deserialize)]
pub struct PriceList {
    /// When it was made.
    pub date: String,
    pub source: String,
    pub models: BTreeMap<String, ModelPrice>,
}

static PRICE_LIST: LazyLock<PriceList> = LazyLock::new(|| {
    serde_json::from_str(include_str!("model_prices.json")).unwrap_or_else(|_| PriceList {
        date: String::new(),
        source: String::new(),
        models: BTreeMap::new(),
    })
});

/// The prices that come with this version.
pub fn price_list() -> &'static PriceList {
    &PRICE_LIST
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_cache_holds_has_prices_of_its_own() {
        let price = ModelPrice { input: 10.0, output: 100.0, cache_read: Some(1.0), cache_write: Some(20.0) };
        let used = |input_tokens, cached_tokens, cache_written_tokens| Usage {
            input_tokens,
            output_tokens: 1_000,
            cached_tokens,
            cache_written_tokens,
            ..Usage::NONE
        };
        let check = |price: ModelPrice, usage: Usage, dollars: f64| {
            let found = price.dollars_used(&usage);
            assert!((found - dollars).abs() < 1e-9, "{usage:?}: {found}");
        };
        check(price, used(1_000, 0, 0), 0.11);
        check(price, used(1_000, 500, 300), 0.1 + 0.002 + 0.000_5 + 0.006);
        check(price, used(1_000, 9_000, 9_000), 0.1 + 0.001);
        check(price.in_batches(), used(1_000, 500, 300), (0.1 + 0.002 + 0.000_5 + 0.006) / 2.0);
        let plain = ModelPrice { cache_read: None, cache_write: None, ..price };
        check(plain, used(1_000, 500, 300), 0.11);
    }
}

//! Prices, and the list of those that come with this version.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The price of a model, in US dollars for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelPrice {
    #[schemars(range(min = 0.0, max = 1_000_000.0))]
    pub input: f64,
    #[schemars(range(min = 0.0, max = 1_000_000.0))]
    pub output: f64,
}

impl ModelPrice {
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

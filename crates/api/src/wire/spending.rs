//! Prices and caps on the wire.

use std::collections::BTreeMap;

use rowmill_app::{SpendLimit, Spending, SpendingChanges};
use rowmill_model::prices::{ModelPrice, ProviderPrice, price_list};
use rowmill_model::spending::{CapPeriod, CapScope};
use rowmill_model::{Amount, Cap, Offence, ProjectId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::timestamp;

/// What the team sets. A field that is not sent stays as it is; one that is sent is replaced whole.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct SpendingBody {
    /// Prices of models, by name. They take precedence over the price list.
    #[schemars(with = "BTreeMap<String, ModelPrice>", extend("maxProperties" = 500))]
    models: Option<BTreeMap<String, ModelPrice>>,
    /// Prices of providers that are paid in credits or by the call, by id.
    #[schemars(with = "BTreeMap<String, ProviderPrice>", extend("maxProperties" = 100))]
    providers: Option<BTreeMap<String, ProviderPrice>>,
    /// Spending caps.
    #[schemars(with = "Vec<CapBody>", length(max = 100))]
    caps: Option<Vec<CapBody>>,
}

/// What may be spent: either `usd` or `credits`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct CapBody {
    scope: CapScope,
    /// Required for the scope `project`. For `run`: only the runs of this project.
    #[serde(default)]
    #[schemars(with = "String", length(max = 64))]
    project_id: Option<String>,
    /// Required for the scope `credential`: the provider's id.
    #[serde(default)]
    #[schemars(with = "String", length(max = 64))]
    provider: Option<String>,
    /// Required for all scopes but `run`.
    #[serde(default)]
    #[schemars(with = "CapPeriod")]
    period: Option<CapPeriod>,
    /// US dollars.
    #[serde(default)]
    #[schemars(with = "f64", range(min = 0, max = 1_000_000))]
    usd: Option<f64>,
    /// Credits of providers.
    #[serde(default)]
    #[schemars(with = "f64", range(min = 0, max = 1_000_000))]
    credits: Option<f64>,
}

impl SpendingBody {
    pub(crate) fn into_changes(self) -> Result<SpendingChanges, Vec<Offence>> {
        let mut offences = Vec::new();
        let caps = self.caps.map(|caps| {
            let cap = |(index, body): (usize, CapBody)| {
                let CapBody { scope, project_id, provider, period, usd, credits } = body;
                let parsed = project_id.as_deref().map(ProjectId::parse);
                if parsed == Some(None) {
                    let path = format!("caps[{index}].projectId");
                    offences.push(Offence::new(path, "is not a project of this team"));
                }
                Cap { scope, project_id: parsed.flatten(), provider, period, usd, credits }
            };
            caps.into_iter().enumerate().map(cap).collect()
        });
        let changes = SpendingChanges { models: self.models, providers: self.providers, caps };
        if offences.is_empty() { Ok(changes) } else { Err(offences) }
    }
}

/// Prices and caps of the team.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Spending")]
pub(crate) struct SpendingOut {
    price_list: PriceListOut,
    /// The team's own prices of models, by name.
    models: BTreeMap<String, ModelPrice>,
    /// The team's own prices of providers, by id.
    providers: BTreeMap<String, ProviderPrice>,
    caps: Vec<CapOut>,
}

/// The price list of models that comes with this version of the server.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "PriceList")]
struct PriceListOut {
    /// When it was made.
    #[schemars(extend("format" = "date"))]
    date: &'static str,
    /// Where it comes from.
    #[schemars(length(max = 1_000))]
    source: &'static str,
    /// How many models it has.
    models: u64,
}

/// A cap, and how it stands.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Cap")]
struct CapOut {
    scope: CapScope,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(max = 37))]
    project_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(max = 64))]
    provider: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "CapPeriod")]
    period: Option<CapPeriod>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64", range(min = 0))]
    usd: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64", range(min = 0))]
    credits: Option<f64>,
    /// What was spent in the current period, in US dollars or credits. Omitted for the scope `run`, where each run
    /// counts by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64", range(min = 0))]
    spent: Option<f64>,
    /// What is set aside for cells that are running.
    #[schemars(range(min = 0))]
    reserved: f64,
    /// Whether nothing is left.
    reached: bool,
    /// When it begins again. Omitted for the scope `run`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", extend("format" = "date-time"))]
    resets_at: Option<String>,
}

impl From<Spending> for SpendingOut {
    fn from(spending: Spending) -> Self {
        let Spending { settings, caps, now_ms } = spending;
        let list = price_list();
        let number = |parts: i64| Amount::of_parts(parts).number();
        let cap = |standing: rowmill_app::CapStanding| {
            let rowmill_app::CapStanding { cap, spent, reserved } = standing;
            let is_run = cap.scope == CapScope::Run;
            CapOut {
                reached: !is_run && spent >= cap.most(),
                resets_at: cap.resets_at_ms(now_ms).map(timestamp),
                scope: cap.scope,
                project_id: cap.project_id.map(|id| id.to_string()),
                provider: cap.provider,
                period: cap.period,
                usd: cap.usd,
                credits: cap.credits,
                spent: (!is_run).then(|| number(spent)),
                reserved: number(reserved),
            }
        };
        Self {
            price_list: PriceListOut {
                date: &list.date,
                source: &list.source,
                models: list.models.len() as u64,
            },
            models: settings.models,
            providers: settings.providers,
            caps: caps.into_iter().map(cap).collect(),
        }
    }
}

/// What a run may spend. When it is reached, the run waits; its cells stay queued.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct SpendLimitBody {
    /// US dollars.
    #[schemars(with = "f64", range(min = 0, max = 1_000_000))]
    usd: Option<f64>,
    /// Credits of providers.
    #[schemars(with = "f64", range(min = 0, max = 1_000_000))]
    credits: Option<f64>,
}

impl From<SpendLimitBody> for SpendLimit {
    fn from(SpendLimitBody { usd, credits }: SpendLimitBody) -> Self {
        Self { usd: usd.and_then(Amount::told), credits: credits.and_then(Amount::told) }
    }
}

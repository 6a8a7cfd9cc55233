//! What was used and spent, on the wire.

use rowmill_app::UsageLine;
use rowmill_model::{Amount, Spent, Usage};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What lines are added up by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "UsageGroup")]
pub(crate) enum Group {
    Day,
    Project,
    Column,
    Provider,
    Person,
}

/// What was used and spent.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SpendingUsage")]
pub(crate) struct UsageSums {
    #[schemars(extend("format" = "date"))]
    from: String,
    #[schemars(extend("format" = "date"))]
    to: String,
    group_by: Group,
    lines: Vec<UsageLineOut>,
    totals: UsageNumbers,
}

impl UsageSums {
    pub(crate) fn new(
        from: String,
        to: String,
        group_by: Group,
        lines: Vec<UsageLineOut>,
        totals: &Spent,
    ) -> Self {
        Self { from, to, group_by, lines, totals: totals.into() }
    }
}

/// What was used and spent, of one day, project, column, provider or person.
#[derive(Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SpendingUsageLine")]
pub(crate) struct UsageLineOut {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", extend("format" = "date"))]
    day: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(max = 37))]
    project_id: Option<String>,
    /// The project's title. Omitted if the project was deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(max = 255))]
    project: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(max = 64))]
    column_id: Option<String>,
    /// The column's header. Omitted if the column was deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(max = 255))]
    column: Option<String>,
    /// The provider's id, `http-api` or `web-scraper`. Empty if it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(max = 255))]
    provider: Option<String>,
    /// Who started the run: `key NAME`, `session NAME`, `autoplay` or `webhook`. Empty if it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(max = 300))]
    person: Option<String>,
    #[serde(flatten)]
    numbers: UsageNumbers,
}

/// Calls, tokens, credits and dollars.
#[derive(Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct UsageNumbers {
    /// Attempts to fill a cell, or searches of a waterfall. Reused answers are not counted.
    calls: u64,
    input_tokens: u64,
    output_tokens: u64,
    /// Of the input tokens: those that came from a server's cache, and those that it put there. Omitted if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64")]
    cached_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64")]
    cache_written_tokens: Option<u64>,
    /// Credits that providers reported. Omitted if none did.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64", range(min = 0))]
    credits: Option<f64>,
    /// US dollars: as providers reported them, else by the price list. Omitted if nothing is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64", range(min = 0))]
    usd: Option<f64>,
}

impl From<&Spent> for UsageNumbers {
    fn from(spent: &Spent) -> Self {
        let Usage { attempts, input_tokens, output_tokens, cached_tokens, cache_written_tokens } =
            spent.usage;
        let (credits, usd) = (spent.credits.map(Amount::number), spent.dollars().map(Amount::number));
        Self {
            calls: attempts,
            input_tokens,
            output_tokens,
            cached_tokens: Some(cached_tokens).filter(|tokens| *tokens > 0),
            cache_written_tokens: Some(cache_written_tokens).filter(|tokens| *tokens > 0),
            credits,
            usd,
        }
    }
}

impl UsageLineOut {
    /// What a line belongs to, and what that is called.
    pub(crate) fn of_group(by: Group, line: &UsageLine, date: String) -> (String, Self) {
        let project = || Self {
            project_id: Some(line.project.to_string()),
            project: line.title.clone(),
            ..Self::default()
        };
        match by {
            Group::Day => (date.clone(), Self { day: Some(date), ..Self::default() }),
            Group::Project => (line.project.to_string(), project()),
            Group::Column => (
                format!("{} {}", line.project, line.column),
                Self { column_id: Some(line.column.to_string()), column: line.header.clone(), ..project() },
            ),
            Group::Provider => {
                (line.provider.clone(), Self { provider: Some(line.provider.clone()), ..Self::default() })
            }
            Group::Person => {
                (line.person.clone(), Self { person: Some(line.person.clone()), ..Self::default() })
            }
        }
    }

    pub(crate) fn with(self, spent: &Spent) -> Self {
        Self { numbers: spent.into(), ..self }
    }
}

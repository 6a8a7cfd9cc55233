//! What was used and spent, by day, project, column, provider and person.

use std::collections::BTreeMap;

use axum::body::Body;
use axum::http::Method;
use jiff::civil::Date;
use rowmill_app::UsageLine;
use rowmill_model::spending::{day_of, day_starts_ms};
use rowmill_model::{Offence, ProjectId, Scopes, Spent};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::answer::{Answer, Media};
use crate::endpoint::{Call, Endpoint, Examples};
use crate::error::Error;
use crate::files::formulas::mark;
use crate::payload::{FileText, Nothing};
use crate::state::ApiState;
use crate::wire::spending_usage::{Group, UsageLineOut, UsageSums};
use crate::wire::timestamp;

const TAG: &str = "Spending";
/// For how long the ledger is kept.
const DAYS_MAX: i64 = 400;

/// Which days, and what to add up.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct UsageQuery {
    /// The first day (UTC). Default: 30 days ago.
    #[schemars(length(min = 10, max = 10), extend("format" = "date"))]
    from: Option<String>,
    /// The last day (UTC). Default: today.
    #[schemars(length(min = 10, max = 10), extend("format" = "date"))]
    to: Option<String>,
    /// What the lines are of. Default: `day`.
    #[schemars(with = "Group")]
    group_by: Option<Group>,
    /// Only of this project, by id. Default: all.
    #[schemars(length(min = 1, max = 64))]
    project_id: Option<String>,
}

/// The same, for a file of all lines.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct UsageFileQuery {
    /// The first day (UTC). Default: 30 days ago.
    #[schemars(length(min = 10, max = 10), extend("format" = "date"))]
    from: Option<String>,
    /// The last day (UTC). Default: today.
    #[schemars(length(min = 10, max = 10), extend("format" = "date"))]
    to: Option<String>,
}

pub(crate) struct GetSpendingUsage;

impl Endpoint<ApiState> for GetSpendingUsage {
    const METHOD: Method = Method::GET;
    const ID: &'static str = "getSpendingUsage";
    const SCOPES: Scopes = Scopes::READ;
    const TAG: &'static str = TAG;
    const SUMMARY: &'static str = "Get what was spent";
    const DESCRIPTION: &'static str = "Returns calls, tokens, credits and US dollars, added up by day, project, column, provider or person. Lines are \
     kept for 400 days. Comparisons of prompts are counted as the column `_comparisons`; trials of a column are not counted.";
    type Path = Nothing;
    type Query = UsageQuery;
    type Body = Nothing;
    type Out = UsageSums;

    fn examples() -> Examples {
        Examples {
            body: None,
            answer: Some(json!({
                "from": "2026-11-01", "to": "2026-11-17", "groupBy": "provider",
                "lines": [{
                    "provider": "openai", "calls": 1200, "inputTokens": 480_000, "outputTokens": 36_000,
                    "cachedTokens": 120_000, "usd": 0.0936,
                }],
                "totals": {
                    "calls": 1200, "inputTokens": 480_000, "outputTokens": 36_000,
                    "cachedTokens": 120_000, "usd": 0.0936,
                },
            })),
        }
    }

    async fn handle(
        call: Call<ApiState>,
        _: Nothing,
        query: UsageQuery,
        _: Nothing,
    ) -> Result<Answer<UsageSums>, Error> {
        let (first, last) = days(query.from.as_deref(), query.to.as_deref(), call.app().now_ms())?;
        let by = query.group_by.unwrap_or(Group::Day);
        let mut totals = Spent::NOTHING;
        let mut groups: BTreeMap<String, (UsageLineOut, Spent)> = BTreeMap::new();
        let only = query.project_id.as_deref().map(ProjectId::parse);
        for line in call.app().usage_lines(call.caller()?, first, last).await? {
            // An id that is none is of a project that spent nothing.
            if only.is_some_and(|only| only != Some(line.project)) {
                continue;
            }
            totals += line.spent;
            let (key, named) = UsageLineOut::of_group(by, &line, date_text(line.day));
            let (_, spent) = groups.entry(key).or_insert_with(|| (named, Spent::NOTHING));
            *spent += line.spent;
        }
        let lines = groups.into_values().map(|(line, spent)| line.with(&spent)).collect();
        Ok(Answer::new(UsageSums::new(date_text(first), date_text(last), by, lines, &totals)))
    }
}

pub(crate) struct ExportSpendingUsage;

impl Endpoint<ApiState> for ExportSpendingUsage {
    const METHOD: Method = Method::GET;
    const ID: &'static str = "exportSpendingUsage";
    const SCOPES: Scopes = Scopes::READ;
    const TAG: &'static str = TAG;
    const SUMMARY: &'static str = "Export what was spent";
    const DESCRIPTION: &'static str =
        "Returns calls, tokens, credits and US dollars by day, project, column, provider and person, as CSV.";
    const MEDIA: Media = Media::Csv;
    const ANSWER_HEADERS: &'static [&'static str] = &["Content-Disposition"];
    type Path = Nothing;
    type Query = UsageFileQuery;
    type Body = Nothing;
    type Out = FileText;

    fn examples() -> Examples {
        let line = "2026-11-17,proj_0190f0e0a1b27c3d8e4f0123456789ab,Leads,col_4fJq0ZtR9xWb,Summary,openai,key CI,3,900,60,,0.0002,0,0";
        Examples { body: None, answer: Some(json!(format!("{}\r\n{line}\r\n", HEADERS.join(",")))) }
    }

    async fn handle(
        call: Call<ApiState>,
        _: Nothing,
        query: UsageFileQuery,
        _: Nothing,
    ) -> Result<Answer<FileText>, Error> {
        let (first, last) = days(query.from.as_deref(), query.to.as_deref(), call.app().now_ms())?;
        let mut text = format!("{}\r\n", HEADERS.join(","));
        for line in call.app().usage_lines(call.caller()?, first, last).await? {
            push(&mut text, &line);
        }
        let name = format!("attachment; filename=\"spending {} {}.csv\"", date_text(first), date_text(last));
        Ok(Answer::streamed(Body::from(text)).as_download(&name))
    }
}

const HEADERS: [&str; 14] = [
    "day",
    "projectId",
    "project",
    "columnId",
    "column",
    "provider",
    "person",
    "calls",
    "inputTokens",
    "outputTokens",
    "credits",
    "usd",
    "cachedTokens",
    "cacheWrittenTokens",
];

fn push(text: &mut String, line: &UsageLine) {
    let Spent { usage, .. } = line.spent;
    let amount = |amount: Option<rowmill_model::Amount>| amount.map(|amount| amount.number().to_string());
    let cells = [
        date_text(line.day),
        line.project.to_string(),
        line.title.clone().unwrap_or_default(),
        line.column.to_string(),
        line.header.clone().unwrap_or_default(),
        line.provider.clone(),
        line.person.clone(),
        usage.attempts.to_string(),
        usage.input_tokens.to_string(),
        usage.output_tokens.to_string(),
        amount(line.spent.credits).unwrap_or_default(),
        amount(line.spent.dollars()).unwrap_or_default(),
        usage.cached_tokens.to_string(),
        usage.cache_written_tokens.to_string(),
    ];
    for (index, cell) in cells.iter().enumerate() {
        text.push_str(if index == 0 { "\"" } else { ",\"" });
        text.push_str(mark(cell));
        text.push_str(&cell.replace('"', "\"\""));
        text.push('"');
    }
    text.push_str("\r\n");
}

/// The first and the last day that are asked for.
fn days(from: Option<&str>, to: Option<&str>, now_ms: i64) -> Result<(i64, i64), Error> {
    let today = day_of(now_ms);
    let mut offences = Vec::new();
    let mut day = |name: &str, text: Option<&str>, usual: i64| match text.map(day_named) {
        None => usual,
        Some(Some(day)) => day,
        Some(None) => {
            offences.push(Offence::new(name, "is not a date such as 2026-11-17"));
            usual
        }
    };
    let last = day("to", to, today);
    let first = day("from", from, last - 29);
    if offences.is_empty() && (first > last || last - first > DAYS_MAX) {
        offences.push(Offence::new("from", format!("must be up to {DAYS_MAX} days before `to`")));
    }
    if offences.is_empty() { Ok((first, last)) } else { Err(Error::offences(offences)) }
}

fn day_named(text: &str) -> Option<i64> {
    let date: Date = text.parse().ok()?;
    let midnight = date.to_zoned(jiff::tz::TimeZone::UTC).ok()?;
    Some(day_of(midnight.timestamp().as_millisecond()))
}

fn date_text(day: i64) -> String {
    timestamp(day_starts_ms(day)).chars().take(10).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        let now_ms = day_starts_ms(20_000) + 5;
        assert_eq!(days(None, None, now_ms).unwrap(), (19_971, 20_000));
        assert_eq!(days(Some("2026-11-01"), Some("2026-11-17"), now_ms).unwrap(), (20_758, 20_774));
        assert_eq!(date_text(20_774), "2026-11-17");
        for (from, to) in
            [("2026-11-18", "2026-11-17"), ("2020-01-01", "2026-11-17"), ("yesterday!", "2026-11-17")]
        {
            assert!(days(Some(from), Some(to), now_ms).is_err(), "{from}");
        }
    }
}

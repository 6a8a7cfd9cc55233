//! Columns an HTTP request fills.

use rowmill_model::cell::Meta;
use rowmill_model::column::{ApiConfig, HttpMethod, StatusRange};
use rowmill_model::{Column, TeamId};
use rowmill_providers::http_api::{self, Answer, Body, Call};
use serde_json::value::RawValue;
use url::Url;

use super::fill::Fill;
use super::{ProviderCalls, column_limit, invalid, millis_since, team_part};
use crate::call_limits::CallLimit;
use crate::cell_runner::{CallOutcome, Cell};
use crate::credentials::TeamCredentials;
use crate::digest::Digest;

const PROVIDER: &str = "http-api";

impl ProviderCalls {
    /// The host's post, where the address names its host without a reference.
    pub(super) fn api_limits(&self, team: TeamId, column: &Column) -> Vec<CallLimit> {
        let url = column.api_config.as_ref().map(|config| config.url.as_str()).unwrap_or_default();
        let end = url.find("://").map(|place| place + 3);
        let rest = end.and_then(|end| url.get(end..));
        match rest.and_then(|rest| rest.split(['/', '?', '#']).next()) {
            Some(literal) if !literal.contains("@{") => {
                host(url).map(|host| self.host_limit(team, &host)).into_iter().collect()
            }
            _ => Vec::new(),
        }
    }

    /// A host is a team's own: another team's failures there are none of its business.
    pub(super) fn host_limit(&self, team: TeamId, host: &str) -> CallLimit {
        CallLimit {
            provider: PROVIDER,
            key: Digest::of(["host", &team_part(team), host]),
            rates: Vec::new(),
            at_once_max: self.config.at_once_max,
            has_circuit_breaker: true,
        }
    }

    pub(super) async fn ask_api(
        &self,
        cell: &Cell,
        credentials: &TeamCredentials,
    ) -> Result<CallOutcome, CallOutcome> {
        let config = cell.column.api_config.as_ref().filter(|config| !config.url.trim().is_empty());
        let config =
            config.ok_or_else(|| invalid("The column has no URL. Add one in the column settings."))?;
        let sent = filled(cell, config, credentials)?;
        let key = digest(cell.project.team, &sent, config);
        let in_flight = config.method == HttpMethod::Get;
        // Boxed, because it is passed on some times before it begins, and large.
        let make =
            Box::pin(async { self.request(cell, config, sent).await.unwrap_or_else(|outcome| outcome) });
        Ok(self.reused(cell, key, in_flight, make).await)
    }

    async fn request(&self, cell: &Cell, config: &ApiConfig, sent: Call) -> Result<CallOutcome, CallOutcome> {
        let address = sent.address()?;
        let source = host_of(&address);
        let host_limit = source.as_deref().map(|host| self.host_limit(cell.project.team, host));
        let limits: Vec<CallLimit> =
            host_limit.into_iter().chain(column_limit(&cell.project, &cell.column)).collect();
        let started = self.now();
        let answer = http_api::call(&self.client, sent, address, config, self.config.response_bytes_max);
        let answer = self.attempt(cell, &limits, PROVIDER, answer).await?;
        let status = match &answer {
            Answer::Value { status, .. } | Answer::Empty { status } => *status,
        };
        let mut meta = Meta::new();
        meta.insert("provider".to_owned(), PROVIDER.into());
        meta.insert("status".to_owned(), status.into());
        meta.insert("milliseconds".to_owned(), millis_since(started, self.now()));
        if let Some(source) = source {
            meta.insert("source".to_owned(), source.into());
        }
        Ok(match answer {
            Answer::Value { json, .. } => CallOutcome::Value(json.get().into(), meta),
            Answer::Empty { .. } => CallOutcome::NoData(meta),
        })
    }
}

/// The request with its references filled in.
pub(super) fn filled(
    cell: &Cell,
    config: &ApiConfig,
    credentials: &TeamCredentials,
) -> Result<Call, CallOutcome> {
    let mut fill = Fill::new(cell, Some(credentials))?;
    let mut texts = |pairs: &std::collections::BTreeMap<String, String>| -> Vec<(String, String)> {
        pairs.iter().map(|(name, text)| (name.clone(), fill.text(text))).collect()
    };
    let (headers, query) = (texts(&config.headers), texts(&config.query));
    let url = fill.address(&config.url);
    let body = match config.body.text() {
        None if config.body.is_null() => None,
        None => Some(Body::Json(fill.json(config.body.get()))),
        // A text that is JSON once it is filled in is meant as such.
        Some(text) => {
            let text = fill.text(&text);
            let is_json = text.trim_start().starts_with(['{', '[']) && is_json(&text);
            Some(if is_json { Body::Json(text) } else { Body::Text(text) })
        }
    };
    let secrets = fill.into_secrets()?;
    Ok(Call { method: config.method, url, headers, query, body, secrets })
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<&RawValue>(text).is_ok()
}

/// Names all that is sent and how the answer is read.
fn digest(team: TeamId, call: &Call, config: &ApiConfig) -> Digest {
    let Call { method, url, headers, query, body, secrets: _ } = call;
    let team = team_part(team);
    let body = match body {
        Some(Body::Json(text)) => ["json", text],
        Some(Body::Text(text)) => ["text", text],
        None => ["", ""],
    };
    let path = match &config.response_path {
        Some(path) => ["path", path],
        None => ["", ""],
    };
    let mut statuses = String::new();
    for ranges in [&config.success_statuses, &config.empty_on] {
        for range in ranges {
            match range {
                StatusRange::One(status) => statuses.push_str(&status.to_string()),
                StatusRange::Range(range) => statuses.push_str(range),
            }
            statuses.push(',');
        }
        statuses.push(';');
    }
    let headers_len = headers.len().to_string();
    let pairs = headers.iter().chain(query).flat_map(|(name, value)| [name.as_str(), value.as_str()]);
    let parts = [team.as_str(), method.word(), url, &statuses, &headers_len];
    Digest::of(parts.into_iter().chain(path).chain(body).chain(pairs))
}

/// The host an address leads to, with its port where that is not the usual one.
pub(super) fn host(url: &str) -> Option<String> {
    host_of(&Url::parse(url.trim()).ok()?)
}

pub(super) fn host_of(url: &Url) -> Option<String> {
    let host = url.host_str()?;
    Some(url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}")))
}

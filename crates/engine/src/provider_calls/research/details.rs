//! What a cell's details say of a research: who answered, what it took, and each of its steps.

use rowmill_model::Paid;
use rowmill_model::cell::Meta;
use rowmill_providers::llm::HostedSearch;
use serde_json::{Map, Value as Json, json};

use super::answer::Answer;
use super::instructions::FETCH_PAGE;
use super::record::{CallRecord, Done, Record, TurnRecord};
use super::task::Task;
use super::transcript::{Transcript, Used};
use crate::cell_runner::CallOutcome;

/// Addresses that a step shows.
const FOUND_MAX: usize = 10;

/// The outcome of a research that came to an answer.
pub(super) fn found(task: &Task<'_>, transcript: &Transcript, answer: Answer) -> CallOutcome {
    let mut meta = meta(task, transcript);
    transcript.owed().note(&mut meta);
    Paid::note(transcript.uncharged.clone(), &mut meta);
    let Answer { value, confidence, sources } = answer;
    if let Some(confidence) = confidence {
        meta.insert("confidence".to_owned(), confidence.into());
    }
    meta.insert("sources".to_owned(), sources.clone().into());
    match value {
        None => CallOutcome::NoData(meta),
        Some(value) if task.limits.include_sources => {
            let rest = json!({"confidence": confidence, "sources": sources}).to_string();
            let rest = rest.strip_prefix('{').unwrap_or_default();
            CallOutcome::Value(format!("{{\"value\":{value},{rest}").into(), meta)
        }
        Some(value) => CallOutcome::Value(value.into(), meta),
    }
}

/// Who answered, and what was done for it.
pub(super) fn meta(task: &Task<'_>, transcript: &Transcript) -> Meta {
    let Used { steps, calls: _, searches, millis, .. } = transcript.used;
    let named = transcript.model.clone().unwrap_or_else(|| task.name.clone());
    let mut meta = Meta::new();
    meta.insert("provider".to_owned(), task.model.provider.about.id.into());
    meta.insert("model".to_owned(), named.into());
    meta.insert("milliseconds".to_owned(), millis.into());
    for (name, count) in [("calls", u64::from(steps)), ("searches", u64::from(searches))] {
        if count > 0 {
            meta.insert(name.to_owned(), count.into());
        }
    }
    if let Some(note) = cost_note(task, transcript) {
        meta.insert("costNote".to_owned(), note.into());
    }
    let steps: Vec<Json> =
        transcript.history.iter().flat_map(|record| hosted(record).into_iter().chain(step(record))).collect();
    meta.insert("steps".to_owned(), steps.into());
    meta
}

/// What has no price, and so is not in the cost.
fn cost_note(task: &Task<'_>, transcript: &Transcript) -> Option<String> {
    let unpriced: Vec<&str> = transcript.unpriced.iter().map(String::as_str).collect();
    if unpriced.is_empty() {
        return None;
    }
    let limit = if task.limits.max_cost.is_some() { ", and maxCost does not limit it" } else { "" };
    let what = unpriced.join(" and ");
    Some(format!(
        "No price is known for {what}: the cost leaves it out{limit}. Set a price in Settings, Spending."
    ))
}

fn step(record: &Record) -> Option<Json> {
    let (mut step, spent, unpriced, millis) = match record {
        Record::Turn(turn) => (answered(turn), turn.spent, &turn.unpriced, turn.millis),
        Record::Called(call) => (called(call), Paid::sum(&call.paid), &call.unpriced, call.millis),
        Record::Charged | Record::Failed { .. } | Record::Waited { .. } => return None,
    };
    step.insert("milliseconds".to_owned(), millis.into());
    spent.note(&mut step);
    if !unpriced.is_empty() {
        step.insert("unpriced".to_owned(), true.into());
    }
    Some(Json::Object(step))
}

/// The searches that the model's provider made for a turn.
fn hosted(record: &Record) -> Vec<Json> {
    let Record::Turn(turn) = record else { return Vec::new() };
    let search = |search: &HostedSearch| {
        let shown = search.pages.iter().take(FOUND_MAX);
        let found: Vec<Json> = shown.map(|page| json!({"url": page.url, "title": page.title})).collect();
        let mut step = json!({"type": "search", "query": search.query, "hosted": true, "found": found});
        if let (Some(error), Some(fields)) = (&search.error, step.as_object_mut()) {
            fields.insert("error".to_owned(), error.as_str().into());
        }
        step
    };
    turn.hosted.iter().map(search).collect()
}

fn answered(turn: &TurnRecord) -> Map<String, Json> {
    let mut step = Map::from_iter([("type".to_owned(), Json::from("model"))]);
    if !turn.calls.is_empty() {
        step.insert("calls".to_owned(), turn.calls.len().into());
    }
    if turn.is_final {
        step.insert("last".to_owned(), true.into());
    }
    step
}

fn called(call: &CallRecord) -> Map<String, Json> {
    let mut step = match &call.done {
        Done::Searched { query, provider, hits } => {
            let shown = hits.iter().take(FOUND_MAX);
            let found: Vec<Json> = shown.map(|hit| json!({"url": hit.url, "title": hit.title})).collect();
            json!({"type": "search", "query": query, "provider": provider, "found": found})
        }
        Done::Read { url: _, page, links: _, chars } => {
            json!({"type": "page", "url": page.url, "title": page.title, "characters": chars})
        }
        Done::Refused { tool, asked, why } => {
            let kind = if tool == FETCH_PAGE { "page" } else { "search" };
            let name = if kind == "page" { "url" } else { "query" };
            json!({"type": kind, name: asked, "error": why})
        }
    };
    if let Some(fields) = step.as_object_mut().filter(|_| call.is_cached) {
        fields.insert("cached".to_owned(), true.into());
    }
    match step {
        Json::Object(fields) => fields,
        _ => Map::new(),
    }
}

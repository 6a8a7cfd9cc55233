//! The state of a research, made from its records.

use std::sync::Arc;

use rowmill_model::column::Research;
use rowmill_model::prices::ModelPrice;
use rowmill_model::{Amount, Paid, SpendingSettings, Spent, Usage};
use rowmill_providers::llm::{Entry, ToolCall, ToolResult, ToolWire};
use rowmill_store::spending::TeamSpending;
use serde_json::json;

use super::prices::Prices;
use super::record::{CallRecord, Done, Record, Seen, TurnRecord};
use super::transcript::Transcript;

fn turn(calls: &[&str], text: &str) -> TurnRecord {
    let call = |id: &&str| ToolCall {
        id: (*id).to_owned(),
        name: "web_search".to_owned(),
        arguments: Some(json!({"query": "x"})),
    };
    TurnRecord {
        wire: ToolWire::Chat,
        turn: json!({"role": "assistant", "content": text}),
        calls: calls.iter().map(call).collect(),
        text: text.to_owned(),
        truncated: false,
        hosted: Vec::new(),
        is_paused: false,
        is_final: false,
        told: None,
        model: None,
        spent: Spent {
            cost: Amount::told(0.25),
            usage: Usage { input_tokens: 100, output_tokens: 10, ..Usage::NONE },
            ..Spent::NOTHING
        },
        unpriced: Vec::new(),
        millis: 1_000,
    }
}

fn turned(turn: TurnRecord) -> Record {
    Record::Turn(Box::new(turn))
}

fn searched(id: &str) -> Record {
    let hit = Seen { url: "https://a.test/".to_owned(), title: "A".to_owned(), text: "Words".to_owned() };
    Record::Called(Box::new(CallRecord {
        result: ToolResult { id: id.to_owned(), text: "Found".to_owned(), is_error: false },
        done: Done::Searched { query: "x".to_owned(), provider: "brave".to_owned(), hits: vec![hit] },
        paid: vec![Paid::new("brave", 1, Spent::credits(Amount::told(1.0)))],
        unpriced: vec!["searches of Brave Search".to_owned()],
        millis: 500,
        is_cached: false,
    }))
}

fn after(records: impl IntoIterator<Item = Record>) -> Transcript {
    let mut transcript = Transcript::new("", "Who?", "openai");
    for record in records {
        // As it is stored.
        let text = serde_json::to_string(&record).unwrap();
        transcript.apply(serde_json::from_str(&text).unwrap());
    }
    transcript
}

#[test]
fn every_call_is_answered_before_the_model_is_asked_again() {
    let mut transcript = after([turned(turn(&["1", "2"], "")), searched("1")]);
    assert_eq!(transcript.pending().map(|call| call.id).as_deref(), Some("2"));
    assert_eq!(transcript.entries.len(), 2, "the results go together");
    transcript.apply(searched("2"));
    assert_eq!(transcript.pending(), None);
    let Some(Entry::Results(results)) = transcript.entries.last() else { panic!("{transcript:?}") };
    assert_eq!(results.iter().map(|result| result.id.as_str()).collect::<Vec<_>>(), ["1", "2"]);
    assert!(transcript.addresses.has("https://a.test") && transcript.page("http://www.a.test/").is_some());
    let used = transcript.used;
    assert_eq!((used.steps, used.calls, used.searches, used.millis), (1, 2, 2, 2_000));
    let owed: Vec<(&str, u64)> =
        transcript.uncharged.iter().map(|paid| (paid.provider.as_str(), paid.spent.usage.attempts)).collect();
    assert_eq!(owed, [("openai", 1), ("brave", 2)]);
    assert_eq!(transcript.owed().cost.map(Amount::number), Some(0.25));
    assert_eq!(transcript.unpriced.len(), 1, "each is named once");
    transcript.apply(Record::Charged);
    assert_eq!(transcript.owed(), Spent::NOTHING);
    assert_eq!(transcript.used.spent.cost.map(Amount::number), Some(0.25), "limits count all of it");
}

#[test]
fn calls_that_were_cut_off_or_came_too_late_are_not_made() {
    for (truncated, is_final) in [(true, false), (false, true)] {
        let transcript = after([turned(TurnRecord { truncated, is_final, ..turn(&["1"], "") })]);
        assert_eq!((transcript.pending(), transcript.entries.len()), (None, 1));
        assert!(transcript.last.is_some());
    }
}

#[test]
fn each_limit_leaves_room_for_the_last_turn() {
    let limits = |part: serde_json::Value| -> Research { serde_json::from_value(part).unwrap() };
    let transcript = after([turned(turn(&["1"], "")), searched("1")]);
    let free = prices(None);
    assert_eq!(transcript.is_near(&Research::default(), &free), None);
    for (part, expected) in [
        (json!({"maxSteps": 2}), Some("steps")),
        (json!({"maxSteps": 3}), None),
        (json!({"maxCalls": 1}), Some("calls")),
        (json!({"maxInputTokens": 3_000}), Some("input tokens")),
        (json!({"maxOutputTokens": 12}), Some("output tokens")),
        (json!({"maxSeconds": 1}), Some("seconds")),
        (json!({"maxSeconds": 2}), None),
        (json!({"maxCost": 0.3}), Some("cost")),
        (json!({"maxCost": 1}), None),
    ] {
        assert_eq!(transcript.is_near(&limits(part.clone()), &free), expected, "{part}");
    }
    assert_eq!(transcript.result_bytes_max(&limits(json!({"maxInputTokens": 2_000}))), None);
    assert!(transcript.result_bytes_max(&Research::default()).is_some());
}

/// Prices of a model, in US dollars for a thousand tokens.
fn prices(thousand: Option<f64>) -> Prices {
    let mut settings = SpendingSettings::default();
    if let Some(usd) = thousand {
        settings.models.insert(
            "m".to_owned(),
            ModelPrice { input: usd * 1e3, output: usd * 1e3, cache_read: None, cache_write: None },
        );
    }
    let spending = Arc::new(TeamSpending { settings, ..TeamSpending::default() });
    Prices { spending, provider: "openai", model: "m".to_owned() }
}

#[test]
fn the_cost_of_the_turns_to_come_counts() {
    let limits = |max_cost| Research { max_cost: Some(max_cost), ..Research::default() };
    let transcript = after([turned(turn(&["1"], "")), searched("1")]);
    // Some 600 tokens in each of two turns, 2,000 kept for the last one, and 600 that come out: nearly 4,000.
    for (thousand, max_cost, is_near) in
        [(None, 0.4, false), (Some(0.01), 0.4, false), (Some(0.1), 0.4, true), (Some(0.1), 0.8, false)]
    {
        let near = transcript.is_near(&limits(max_cost), &prices(thousand));
        assert_eq!(near, is_near.then_some("cost"), "{thousand:?} {max_cost}");
    }
    assert!(!transcript.is_over_cost(&limits(0.4), &prices(Some(0.01)), &[]));
    assert!(transcript.is_over_cost(&limits(0.4), &prices(Some(0.1)), &[]));
    assert!(!transcript.is_over_cost(&Research::default(), &prices(Some(0.1)), &[]), "there is no limit");
}

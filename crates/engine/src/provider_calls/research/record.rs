//! What happens while a cell is researched, one record after another. They are stored as they come, and a cell that
//! runs again goes on behind the last of them.

use rowmill_model::{Paid, Spent};
use rowmill_providers::llm::{HostedSearch, ToolCall, ToolResult, ToolWire};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Record {
    /// The model answered.
    Turn(Box<TurnRecord>),
    /// A call of the model was carried out, or refused.
    Called(Box<CallRecord>),
    /// What was paid before is on the run's account.
    Charged,
    /// An attempt failed at this time, in Unix milliseconds: what it took beside its steps, and the run it was made for.
    Failed { millis: u64, at_ms: i64, run: Option<u64> },
    /// The wait before the next attempt.
    Waited { millis: u64, run: Option<u64> },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TurnRecord {
    pub(super) wire: ToolWire,
    /// As the wire has it.
    pub(super) turn: Json,
    pub(super) calls: Vec<ToolCall>,
    pub(super) text: String,
    pub(super) truncated: bool,
    /// What its provider searched for by itself.
    #[serde(default)]
    pub(super) hosted: Vec<HostedSearch>,
    /// Whether its provider wants it back to go on.
    #[serde(default)]
    pub(super) is_paused: bool,
    /// Whether it had to answer.
    pub(super) is_final: bool,
    /// What it was told then.
    pub(super) told: Option<String>,
    pub(super) model: Option<String>,
    /// Its tokens, and what they cost.
    pub(super) spent: Spent,
    /// What of it has no price.
    #[serde(default)]
    pub(super) unpriced: Vec<String>,
    pub(super) millis: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CallRecord {
    pub(super) result: ToolResult,
    pub(super) done: Done,
    /// What it cost, of all who were asked.
    #[serde(default)]
    pub(super) paid: Vec<Paid>,
    #[serde(default)]
    pub(super) unpriced: Vec<String>,
    pub(super) millis: u64,
    /// Whether another cell of the run had asked for the same.
    pub(super) is_cached: bool,
}

/// What a call came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Done {
    Searched {
        query: String,
        provider: String,
        hits: Vec<Seen>,
    },
    /// `url` is the one that was asked for, `page` where it was found.
    Read {
        url: String,
        page: Seen,
        links: Vec<String>,
        chars: usize,
    },
    /// Nothing was brought: why, and what was asked for.
    Refused {
        tool: String,
        asked: String,
        why: String,
    },
}

/// A page that a tool has shown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Seen {
    pub(super) url: String,
    pub(super) title: String,
    /// What of it was shown, for checking quotes. A page's is in the result.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) text: String,
}

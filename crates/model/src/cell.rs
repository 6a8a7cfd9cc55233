//! A cell's state, kept apart from its value.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::cell_status::{CellError, CellStatus};
use crate::plan::block::Block;
use crate::plan::mark::{Mark, Phase};
use crate::record::{Cells, Damaged, Record, Slot};

/// Everything known of a cell but its value. The default is what an untouched cell has.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CellState {
    pub status: CellStatus,
    pub stale: bool,
    pub manual: bool,
    pub outcome: Option<Outcome>,
    pub error: Option<CellError>,
    pub attempts: u32,
    /// Unix milliseconds before which a queued cell is not tried again.
    pub retry_at_ms: Option<i64>,
    /// Unix milliseconds of the last change.
    pub updated_at_ms: Option<i64>,
    /// Where the value came from: provider, model, milliseconds, cost, source.
    pub meta: Option<Meta>,
}

/// Where a value came from.
pub type Meta = serde_json::Map<String, serde_json::Value>;

impl CellState {
    /// Puts together what a mark says and what the row keeps beside it.
    pub fn of(mark: Mark, detail: Detail) -> Self {
        let Detail { message, attempts, updated_at_ms, meta, made_from: _, trying } = detail;
        let trying = trying.filter(|_| mark.is_pending() && mark.tried);
        let message = message.unwrap_or_default();
        let error = mark.error.filter(|_| !mark.is_pending()).map(|code| CellError { code, message });
        Self {
            status: mark.status,
            stale: mark.stale,
            manual: mark.manual,
            outcome: (mark.no_data && !mark.is_pending()).then_some(Outcome::NoData),
            attempts: match &trying {
                Some(trying) => trying.attempts,
                None if mark.is_pending() => 0,
                None => attempts,
            },
            retry_at_ms: trying
                .as_ref()
                .filter(|_| mark.phase == Phase::Later)
                .map(|trying| trying.retry_at_ms),
            error: trying.and_then(|trying| trying.error).or(error),
            updated_at_ms,
            meta,
        }
    }
}

/// What a row keeps of a processed cell beside its value and its mark.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Detail {
    /// The words of the error the mark has the code of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub attempts: u32,
    /// Unix milliseconds.
    #[serde(rename = "updatedAt", default, skip_serializing_if = "Option::is_none")]
    pub updated_at_ms: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// A number for what the result was made from, see [`crate::plan::Plan::made_from`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_from: Option<u64>,
    /// The tries of a run that had not ended when this was written. They count where the mark says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trying: Option<Trying>,
}

/// How far a cell has come that failed and is to be tried again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Trying {
    pub attempts: u32,
    /// Unix milliseconds.
    #[serde(rename = "retryAt")]
    pub retry_at_ms: i64,
    /// Why it is tried again; none if it only waits for its turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<CellError>,
    /// When it first failed or was put off in this run, in Unix milliseconds.
    #[serde(rename = "since", default, skip_serializing_if = "Option::is_none")]
    pub since_ms: Option<i64>,
}

/// The details of a row's cells, packed as its values are: a JSON text a cell, which is read when somebody
/// asks. Most rows have none.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Details(Record);

impl Details {
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Damaged> {
        match Cells::unpack(bytes) {
            Ok(_) => Ok(Self(Record::from_bytes(bytes))),
            Err(Damaged) => Self::from_json(bytes),
        }
    }

    /// Reads them as they were once kept: one JSON object.
    fn from_json(bytes: &[u8]) -> Result<Self, Damaged> {
        let texts: BTreeMap<Slot, &RawValue> = serde_json::from_slice(bytes).map_err(|_| Damaged)?;
        Ok(Self(Record::pack(texts.iter().map(|(slot, text)| (*slot, text.get())))))
    }

    /// `None` where nothing is known but the values.
    pub fn as_bytes(&self) -> Option<&[u8]> {
        Some(self.0.as_bytes()).filter(|bytes| !bytes.is_empty())
    }

    pub fn get(&self, slot: Slot) -> Option<Detail> {
        detail(&self.0.cells().ok()?, slot)
    }

    pub fn trying(&self, slot: Slot) -> Option<Trying> {
        self.get(slot)?.trying
    }

    /// How many tries of a cell's present run have failed.
    pub fn tries(&self, slot: Slot, mark: Mark) -> u32 {
        if mark.tried { self.trying(slot).map_or(0, |trying| trying.attempts) } else { 0 }
    }

    /// When a cell first failed or was put off in its present run, in Unix milliseconds.
    pub fn waiting_since_ms(&self, slot: Slot, mark: Mark) -> Option<i64> {
        if mark.tried { self.trying(slot)?.since_ms } else { None }
    }

    /// Sets what is known of a cell; nothing is not kept.
    pub fn set(&mut self, slot: Slot, detail: &Detail) -> Result<(), Damaged> {
        let text = if *detail == Detail::default() {
            "null".to_owned()
        } else {
            serde_json::to_string(detail).map_err(|_| Damaged)?
        };
        self.0 = self.0.with([(slot, text.as_str())])?;
        Ok(())
    }
}

fn detail(details: &Cells<'_>, slot: Slot) -> Option<Detail> {
    details.get(slot).and_then(|text| serde_json::from_str(text).ok())
}

/// The outcome of a completed cell, if the value alone does not show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The provider found nothing.
    NoData,
}

/// The states of a row's cells. A cell that is absent is idle.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CellStates(pub BTreeMap<Slot, CellState>);

impl CellStates {
    /// The states of a row in which nothing ever ran.
    pub const IDLE: Self = Self(BTreeMap::new());

    /// The states of the row at a place of a block.
    pub fn of(block: &Block, place: u8, details: &Details) -> Self {
        let mut states = Self::default();
        let details = details.0.cells().ok();
        for slot in block.slots() {
            let mark = block.get(slot, place);
            if mark != Mark::default() {
                let detail = details.as_ref().and_then(|details| detail(details, slot));
                states.set(slot, CellState::of(mark, detail.unwrap_or_default()));
            }
        }
        states
    }

    pub fn get(&self, slot: Slot) -> Option<&CellState> {
        self.0.get(&slot)
    }

    /// Sets a cell's state; the default state is not kept.
    pub fn set(&mut self, slot: Slot, state: CellState) {
        if state == CellState::default() {
            self.0.remove(&slot);
        } else {
            self.0.insert(slot, state);
        }
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature is serde's")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn details_are_kept_by_cell_and_read_as_they_were_once_written() {
        let detail = |message: &str| Detail { message: Some(message.to_owned()), ..Detail::default() };
        let mut details = Details::default();
        details.set(7, &detail("seven")).unwrap();
        details.set(2, &detail("two")).unwrap();
        assert_eq!(Details::from_bytes(details.as_bytes().unwrap()), Ok(details.clone()));
        assert_eq!(
            Details::from_bytes(br#"{"2":{"message":"two"},"7":{"message":"seven"}}"#),
            Ok(details.clone())
        );
        assert_eq!(details.get(7), Some(detail("seven")));
        assert_eq!(details.get(3), None);
        details.set(7, &Detail::default()).unwrap();
        details.set(2, &Detail::default()).unwrap();
        assert_eq!(details.as_bytes(), None);
        assert_eq!(Details::from_bytes(b"{nothing"), Err(Damaged));
    }
}

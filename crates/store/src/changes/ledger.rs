//! What the cells that a transaction settles have used, by column and provider.

use std::collections::BTreeMap;

use rowmill_model::cell::Meta;
use rowmill_model::record::Slot;
use rowmill_model::spending::day_of;
use rowmill_model::{Amount, Project, Provider, Spent, Usage};
use serde_json::Value;

use crate::spending::LedgerEntry;
use crate::work::CellResult;

/// What was used so far: by day, column and provider.
#[derive(Debug, Default)]
pub(super) struct Ledger(BTreeMap<(i64, Slot, String), Spent>);

impl Ledger {
    pub(super) fn note(&mut self, project: &Project, slot: Slot, result: &CellResult, now_ms: i64) {
        let spent = result.spent();
        if spent == Spent::NOTHING {
            return;
        }
        let day = day_of(now_ms);
        let mut add =
            |provider: String, spent: Spent| *self.0.entry((day, slot, provider)).or_default() += spent;
        let meta = match result {
            CellResult::Value(_, meta) | CellResult::NoData(meta) | CellResult::Failed(_, meta) => Some(meta),
            CellResult::Retry { .. } | CellResult::Later { .. } | CellResult::Skipped(_) => None,
        };
        let tried = meta.and_then(|meta| meta.get("tried")).and_then(Value::as_array);
        if let Some(tried) = tried {
            let mut rest = spent;
            for (provider, part) in tried.iter().filter_map(Value::as_object).filter_map(search) {
                rest = without(rest, part);
                add(provider, part);
            }
            // The cell's own price may come from a list that knows the sum only.
            if rest != Spent::NOTHING {
                add(String::new(), rest);
            }
            return;
        }
        let named = meta.and_then(|meta| meta.get("provider")).and_then(Value::as_str).map(str::to_owned);
        add(named.unwrap_or_else(|| usual(project, slot)), spent);
    }

    pub(super) fn take(&mut self, project: &Project, person: &str) -> Vec<LedgerEntry> {
        let column = |slot: Slot| project.table.columns.iter().find(|column| column.slot == slot);
        let entries = std::mem::take(&mut self.0).into_iter().filter_map(|((day, slot, provider), spent)| {
            let column = column(slot)?.id.clone();
            Some(LedgerEntry { day, column, provider, person: person.to_owned(), spent })
        });
        entries.collect()
    }
}

/// One search of a waterfall.
fn search(entry: &Meta) -> Option<(String, Spent)> {
    let provider = entry.get("taskType")?.as_str()?.to_owned();
    let is_asked = entry.get("outcome").and_then(Value::as_str) != Some("not_asked");
    let spent = Spent::of(entry);
    Some((provider, Spent { usage: Usage { attempts: u64::from(is_asked), ..Usage::NONE }, ..spent }))
        .filter(|(_, spent)| *spent != Spent::NOTHING)
}

/// What is left of a sum of which a part is known. The attempt of the cell is its searches'.
fn without(sum: Spent, part: Spent) -> Spent {
    let less = |sum: Option<Amount>, part: Option<Amount>| {
        let left = sum?.parts() - part.map_or(0, Amount::parts);
        (left > 0).then(|| Amount::of_parts(left))
    };
    Spent {
        cost: less(sum.cost, part.cost),
        list_cost: less(sum.list_cost, part.list_cost),
        credits: less(sum.credits, part.credits),
        usage: Usage::NONE,
    }
}

/// Whom a column asks, where the result does not say.
fn usual(project: &Project, slot: Slot) -> String {
    let column = project.table.columns.iter().find(|column| column.slot == slot);
    let config = column.and_then(|column| column.ai_config.as_ref());
    config.and_then(|config| config.provider).map_or("", |provider| Provider::of_ai(provider).id).to_owned()
}

//! What the cells that a transaction settles have used, by column and provider.
//!
//! A finder's searches are in a result's list `tried`, and what a research paid to whom is in `paid`.

use std::collections::BTreeMap;

use rowmill_model::cell::Meta;
use rowmill_model::record::Slot;
use rowmill_model::spending::day_of;
use rowmill_model::{Amount, Paid, Project, Provider, Spent, Usage};
use serde_json::Value;

use crate::spending::LedgerEntry;
use crate::work::CellResult;

/// What was used so far: by day, column and provider.
#[derive(Debug, Default)]
pub(super) struct Ledger(BTreeMap<(i64, Slot, String), Line>);

#[derive(Debug, Default)]
struct Line {
    spent: Spent,
    tries: u64,
}

impl Ledger {
    pub(super) fn note(&mut self, project: &Project, slot: Slot, result: &CellResult, now_ms: i64) {
        let day = day_of(now_ms);
        // A try counts once, however many were asked.
        let mut attempts = result.spent().usage.attempts;
        for Paid { provider, spent } in payments(result, || usual(project, slot)) {
            let line = self.0.entry((day, slot, provider)).or_default();
            line.spent += spent;
            line.tries += std::mem::take(&mut attempts);
        }
    }

    pub(super) fn take(&mut self, project: &Project, person: &str) -> Vec<LedgerEntry> {
        let column = |slot: Slot| project.table.columns.iter().find(|column| column.slot == slot);
        let entries = std::mem::take(&mut self.0).into_iter().filter_map(|((day, slot, provider), line)| {
            let column = column(slot)?.id.clone();
            let Line { spent, tries } = line;
            Some(LedgerEntry { day, column, provider, person: person.to_owned(), spent, tries })
        });
        entries.collect()
    }
}

/// What a result paid to whom; `usual` is whom its column asks, for results that do not say.
pub fn payments(result: &CellResult, usual: impl FnOnce() -> String) -> Vec<Paid> {
    let spent = result.spent();
    if spent == Spent::NOTHING {
        return Vec::new();
    }
    let of_meta = |name: &str| result.meta().and_then(|meta| meta.get(name));
    let named = || of_meta("provider").and_then(Value::as_str).map(str::to_owned);
    let tried = of_meta("tried").and_then(Value::as_array);
    let mut parts: Vec<Paid> = match tried {
        Some(tried) => tried.iter().filter_map(Value::as_object).filter_map(search).collect(),
        None => result.meta().map(Paid::of).unwrap_or_default(),
    };
    if tried.is_none() && parts.is_empty() {
        return vec![Paid { provider: named().unwrap_or_else(usual), spent }];
    }
    let rest = parts.iter().fold(spent, |rest, part| without(rest, part.spent));
    // The cell's own price may come from a list that knows the sum only.
    if rest != Spent::NOTHING {
        let provider = if tried.is_some() { String::new() } else { named().unwrap_or_default() };
        parts.push(Paid { provider, spent: rest });
    }
    parts
}

/// One search of a waterfall.
fn search(entry: &Meta) -> Option<Paid> {
    let provider = entry.get("taskType")?.as_str()?;
    let is_asked = entry.get("outcome").and_then(Value::as_str) != Some("not_asked");
    let spent = Spent { usage: Usage::NONE, ..Spent::of(entry) };
    Some(Paid::new(provider, is_asked.into(), spent)).filter(|paid| paid.spent != Spent::NOTHING)
}

/// The money that is left of a sum of which a part is known. The attempt of the cell is its searches'.
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

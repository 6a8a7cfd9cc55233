//! What a run is likely to cost, in words.

use rowmill_model::estimate::{BasisFrom, Estimate};
use serde_json::{Value, json};

use crate::answer_size::put;

/// Columns that are named one by one.
const NAMED_MAX: usize = 5;

/// The likely cost, rounded to what can be known.
pub(crate) fn likely(estimate: &Estimate) -> Value {
    estimate.usd.map_or(Value::Null, |usd| json!((usd.likely * 1e4).round() / 1e4))
}

/// In words: what the number is, or why there is none.
pub(crate) fn note(estimate: &Estimate) -> String {
    let of = |from: BasisFrom| -> Vec<&str> {
        let columns = estimate.basis.iter().filter(move |basis| basis.from == from);
        columns.map(|basis| basis.header.as_str()).collect()
    };
    let unknown = of(BasisFrom::Unknown);
    let missing =
        estimate.basis.iter().find_map(|basis| Some((&basis.header, basis.missing_credential.as_ref()?)));
    let disabled = estimate.basis.iter().find_map(|basis| Some((&basis.header, basis.disabled.as_ref()?)));
    if estimate.cells == 0 {
        "Nothing would run.".to_owned()
    } else if let Some((header, words)) = disabled {
        format!("{header} is disabled, and its cells would fail: {words}")
    } else if let Some((header, words)) = missing {
        format!("{header} lacks a credential, and its cells would fail: {words}")
    } else if !unknown.is_empty() {
        let named: Vec<&str> = unknown.iter().take(NAMED_MAX).copied().collect();
        let more = if unknown.len() > NAMED_MAX { ", …" } else { "" };
        format!(
            "Unknown: no finished cell of {}{more} reports a cost and no price is known. Run a few rows first (limit) to \
             learn it, or have a price set (Settings, Spending).",
            named.join(", ")
        )
    } else if estimate.is_free() {
        "These columns call nobody who is paid.".to_owned()
    } else if of(BasisFrom::SampledRows).is_empty() {
        "US dollars, from the average of finished cells.".to_owned()
    } else {
        "US dollars, by the price list, from sampled rows. Run a few rows first (limit) for a closer estimate.".to_owned()
    }
}

/// The estimate without the columns one by one, where they are many.
pub(crate) fn shown(estimate: &Estimate) -> Value {
    let mut shown = json!(estimate);
    if estimate.basis.len() > NAMED_MAX {
        put(&mut shown, "basis", json!([]));
    }
    shown
}

#[cfg(test)]
mod tests {
    use rowmill_model::estimate::{ColumnBasis, DollarRange};

    use super::*;

    #[test]
    fn an_estimate_says_what_it_does_not_know() {
        let estimate = |columns: &[(BasisFrom, Option<f64>)]| {
            let basis = columns.iter().map(|(from, _)| ColumnBasis {
                column_id: String::new(),
                header: "Greeting".to_owned(),
                cells: 10,
                from: *from,
                sample: 1,
                model: None,
                usd: None,
                missing_credential: None,
                disabled: None,
            });
            let basis: Vec<ColumnBasis> = basis.collect();
            let likely: Option<f64> = columns.iter().map(|(_, usd)| *usd).sum();
            let usd = likely.map(|likely| DollarRange { low: 0.0, likely, high: likely });
            Estimate { cells: 10 * basis.len() as u64, usd, basis, ..Estimate::default() }
        };
        let known = estimate(&[(BasisFrom::LastCells, Some(0.02))]);
        assert_eq!((likely(&known), note(&known).contains("finished cells")), (json!(0.02), true));
        let unknown = estimate(&[(BasisFrom::LastCells, Some(0.02)), (BasisFrom::Unknown, None)]);
        assert_eq!(likely(&unknown), Value::Null);
        assert!(note(&unknown).starts_with("Unknown: no finished cell of Greeting"));
        assert!(note(&estimate(&[(BasisFrom::SampledRows, Some(1.0))])).contains("price list"));
        assert_eq!(note(&estimate(&[])), "Nothing would run.");
        let mut disabled = unknown.clone();
        disabled.basis[1].disabled = Some("All providers are disabled.".to_owned());
        assert!(note(&disabled).starts_with("Greeting is disabled"), "{}", note(&disabled));
        let mut lacking = unknown;
        lacking.basis[1].missing_credential = Some("No language model is configured.".to_owned());
        assert!(
            note(&lacking).contains("Greeting lacks a credential")
                && note(&lacking).contains("language model")
        );
    }
}

//! What cells are likely to cost, judging by those that ran.

use rowmill_app::{ListRows, Start, StoredProject};
use rowmill_model::filter::Operator;
use rowmill_model::{Amount, CellStatus, Column, Spent};
use serde_json::{Value, json};

use crate::context::Context;
use crate::refusal::Refusal;
use crate::row_view::view;

/// How many finished cells of a column are looked at.
const SAMPLE_ROWS: u32 = 50;

/// What a number of cells in each of some columns may cost.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Estimate {
    /// US dollars; none if no column tells.
    pub(crate) dollars: Option<f64>,
    /// The columns whose cells never told a cost.
    pub(crate) unknown: Vec<String>,
}

impl Estimate {
    fn add(&mut self, column: &Column, cells: u64, each: Option<f64>) {
        match each {
            Some(each) => {
                #[expect(clippy::cast_precision_loss, reason = "an estimate")]
                let dollars = each * cells as f64;
                self.dollars = Some(self.dollars.unwrap_or_default() + dollars);
            }
            None if cells > 0 => self.unknown.push(column.header.clone()),
            None => {}
        }
    }

    /// The cost, rounded to what can be known.
    pub(crate) fn cost(&self) -> Value {
        self.dollars.map_or(Value::Null, |dollars| json!((dollars * 1e4).round() / 1e4))
    }

    /// In words: what the number is, and what it leaves out.
    pub(crate) fn note(&self) -> String {
        const NAMED_MAX: usize = 5;
        let named: Vec<&str> = self.unknown.iter().take(NAMED_MAX).map(String::as_str).collect();
        let more = if self.unknown.len() > NAMED_MAX { ", …" } else { "" };
        match (self.dollars, named.is_empty()) {
            (None, true) => "Nothing would run.".to_owned(),
            (None, false) => format!(
                "Unknown: no finished cell of {}{more} reports a cost. Run a few rows first (limit) to learn it.",
                named.join(", ")
            ),
            (Some(_), true) => "US dollars, from the average of finished cells.".to_owned(),
            (Some(_), false) => format!(
                "US dollars, from the average of finished cells; without {}{more}, whose cells report no cost.",
                named.join(", ")
            ),
        }
    }
}

/// What these cells may cost.
pub(crate) async fn estimate(
    context: &Context<'_>,
    stored: &StoredProject,
    cells: &[(&Column, u64)],
) -> Result<Estimate, Refusal> {
    let mut estimate = Estimate::default();
    for (column, count) in cells {
        let each = if *count > 0 { average(context, stored, column).await? } else { None };
        estimate.add(column, *count, each);
    }
    Ok(estimate)
}

/// What a cell of a column costs in the mean, as far as its providers tell.
async fn average(
    context: &Context<'_>,
    stored: &StoredProject,
    column: &Column,
) -> Result<Option<f64>, Refusal> {
    let finished = json!([{
        "columnId": column.id.as_str(),
        "operator": Operator::StatusIs.word(),
        "value": CellStatus::Completed.word(),
    }]);
    let list = ListRows {
        view_id: None,
        filters: Some(finished),
        sorting: None,
        search: None,
        start: Start::Offset(0),
        limit: SAMPLE_ROWS,
        include_total: false,
    };
    let page = context.app.list_rows(stored, list).await?;
    let mut costs = Vec::new();
    for row in &page.rows {
        let view = view(&stored.project.table, row)?;
        let meta = view.state(column).and_then(|state| state.meta.as_ref());
        costs.extend(meta.and_then(|meta| Spent::of(meta).cost).map(Amount::number));
    }
    #[expect(clippy::cast_precision_loss, reason = "at most fifty")]
    let mean = (!costs.is_empty()).then(|| costs.iter().sum::<f64>() / costs.len() as f64);
    Ok(mean)
}

#[cfg(test)]
mod tests {
    use rowmill_model::Table;

    use super::*;

    #[test]
    fn an_estimate_says_what_it_does_not_know() {
        let table = Table::new();
        let column = &table.columns[0];
        let estimate = |cells: &[(u64, Option<f64>)]| {
            let mut estimate = Estimate::default();
            for (count, each) in cells {
                estimate.add(column, *count, *each);
            }
            estimate
        };
        assert_eq!(estimate(&[(10, Some(0.002))]).cost(), json!(0.02));
        assert_eq!(estimate(&[(10, None)]).cost(), Value::Null);
        assert!(estimate(&[(10, None)]).note().starts_with("Unknown: no finished cell of Input"));
        assert!(estimate(&[(10, Some(1.0)), (1, None)]).note().contains("without Input"));
        assert_eq!(estimate(&[(0, None)]).note(), "Nothing would run.");
    }
}

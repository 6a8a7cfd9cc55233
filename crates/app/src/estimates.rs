//! What a run is likely to take: from the last cells of its columns, else from some of its rows.

use std::collections::BTreeMap;
use std::sync::Arc;

use rowmill_model::cell::Meta;
use rowmill_model::column::{AiConfig, RateLimit};
use rowmill_model::estimate::{BasisFrom, ColumnBasis, DollarRange, Estimate};
use rowmill_model::filter::Operator;
use rowmill_model::prices::ModelPrice;
use rowmill_model::pricing::model_price;
use rowmill_model::row::RowView;
use rowmill_model::{Amount, CellStatus, Column, ProjectId, SpendingSettings, Spent};
use rowmill_query::Start;
use rowmill_store::{PageStart, ProcessingStatus, Rows, StoredProject, StoredRow, Trigger};
use serde_json::{Value, json};

use crate::app::App;
use crate::caller::Caller;
use crate::error::Result;
use crate::forecaster::Forecast;
use crate::rows::ListRows;
use crate::runs::TriggerRows;
use crate::tester::TrialCell;

/// How many finished cells of a column are looked at.
const LAST_CELLS: u32 = 50;
/// How many rows at both ends of the table are searched for them.
const EDGE_ROWS: u32 = 100;
/// With as many cells the whole table is not searched.
const ENOUGH_CELLS: usize = 5;
/// How many rows are looked at where there are none.
const SAMPLED_ROWS: usize = 20;
const SAMPLED_BYTES: usize = 4 * 1024 * 1024;
/// Runs of more columns are not estimated.
const COLUMNS_MAX: usize = 50;
/// A token of a prompt has so many bytes: within a fifth for most texts.
const BYTES_A_TOKEN: f64 = 4.0;
/// What is sent around a prompt, in tokens.
const AROUND_TOKENS: f64 = 60.0;
/// What an answer has where no cell has told: at least, most likely, at most unless the column says so.
const OUTPUT_TOKENS: (f64, f64, f64) = (30.0, 250.0, 1_000.0);
/// How long a call takes where no cell has told, in milliseconds.
const MILLISECONDS: f64 = 3_000.0;

/// What is known of a column's cells. All lists are of cells that ran, or of rows that would.
#[derive(Debug, Default)]
struct Sample {
    count: u64,
    input_tokens: Vec<f64>,
    output_tokens: Vec<f64>,
    usd: Vec<f64>,
    credits: Vec<f64>,
    milliseconds: Vec<f64>,
}

/// What one column's cells take together.
struct ColumnEstimate {
    basis: ColumnBasis,
    input_tokens: f64,
    output_tokens: f64,
    credits: Option<f64>,
    milliseconds: f64,
    forecast: Forecast,
}

/// What all columns are judged by.
struct Known {
    settings: SpendingSettings,
    status: Option<ProcessingStatus>,
    edges: Vec<StoredRow>,
}

impl App {
    /// What a run of these cells is likely to take; `None` if it has too many columns.
    pub async fn estimate(
        &self,
        caller: Caller,
        project: &str,
        trigger: &TriggerRows,
    ) -> Result<Option<Estimate>> {
        let stored = self.project_to_change(caller, project).await?;
        let (rows, pick) = self.rows_to_run(&stored, trigger).await?;
        let is_meant = |column: &&Column| {
            column.kind.is_processed() && pick.slots.as_ref().is_none_or(|slots| slots.contains(&column.slot))
        };
        let columns: Vec<&Column> = stored.project.table.columns.iter().filter(is_meant).collect();
        if columns.len() > COLUMNS_MAX {
            return Ok(None);
        }
        let id = stored.project.id;
        let known = Known {
            settings: self.store.spending(stored.project.team).await?.settings,
            status: self.store.processing_status(id).await?,
            edges: self.edge_rows(id).await?,
        };
        let by = self.starter(caller, trigger.is_session).await?;
        let mut estimates = Vec::new();
        for column in columns {
            let mut pick = pick.clone();
            pick.slots = Some(vec![column.slot]);
            let trigger = Trigger {
                project: stored.project.id,
                rows: rows.clone(),
                pick,
                limit: trigger.limit,
                dry_run: true,
                now_ms: self.clock.now_ms(),
            };
            let cells = self.store.start_run(trigger, by.clone()).await?.rows;
            if cells > 0 {
                estimates.push(self.estimate_column(&stored, column, cells, &rows, &known).await?);
            }
        }
        Ok(Some(sum(estimates)))
    }

    async fn estimate_column(
        &self,
        stored: &StoredProject,
        column: &Column,
        cells: u64,
        rows: &Rows,
        known: &Known,
    ) -> Result<ColumnEstimate> {
        let Known { settings, status, edges } = known;
        let has_run = status
            .as_ref()
            .is_some_and(|status| status.tally.column(column.slot, status.row_count).completed > 0);
        let forecast = match self.tester.get() {
            Some(trial) => trial.forecast(&stored.project, column).await,
            None => Forecast::default(),
        };
        let price = forecast.model.as_deref().and_then(|model| model_price(settings, model));
        let sample =
            if has_run { self.last_cells(stored, column, price, edges).await? } else { Sample::default() };
        let mut estimate = ColumnEstimate {
            basis: ColumnBasis {
                column_id: column.id.to_string(),
                header: column.header.clone(),
                cells,
                from: BasisFrom::Unknown,
                sample: sample.count,
                model: price.and(forecast.model.clone()),
                usd: None,
            },
            input_tokens: total(&sample.input_tokens, cells),
            output_tokens: total(&sample.output_tokens, cells),
            credits: mean(&sample.credits).map(|each| each * count(cells)),
            milliseconds: mean(&sample.milliseconds).unwrap_or(MILLISECONDS) * count(cells),
            forecast,
        };
        if let Some(usd) = DollarRange::of_sample(&sample.usd, cells) {
            (estimate.basis.from, estimate.basis.usd) = (BasisFrom::LastCells, Some(usd));
        } else if estimate.forecast.providers.is_empty() {
            estimate.basis.from = BasisFrom::Free;
            estimate.basis.usd = Some(DollarRange::default());
        } else if let Some(config) = &column.ai_config {
            self.guess_model(stored, column, config, rows, price, &mut estimate).await?;
        } else {
            guess_finders(settings, &mut estimate);
        }
        Ok(estimate)
    }

    /// The first and the last rows of a project, where cells that ran are most likely found.
    async fn edge_rows(&self, project: ProjectId) -> Result<Vec<StoredRow>> {
        let page =
            |start: u64| self.store.rows_within(project, PageStart::Offset(start), EDGE_ROWS, SAMPLED_BYTES);
        let first = page(0).await?;
        let mut rows = first.rows;
        let read = rows.len() as u64;
        if first.total > read {
            rows.extend(page(first.total.saturating_sub(EDGE_ROWS.into()).max(read)).await?.rows);
        }
        Ok(rows)
    }

    /// The last cells of a column that ran, those that were reused apart.
    async fn last_cells(
        &self,
        stored: &StoredProject,
        column: &Column,
        price: Option<ModelPrice>,
        edges: &[StoredRow],
    ) -> Result<Sample> {
        let near = last_of(stored, column, edges)?;
        if near.len() >= ENOUGH_CELLS {
            return Ok(Sample::of(&near, price));
        }
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
            limit: LAST_CELLS,
            include_total: false,
        };
        let page = self.list_rows(stored, list).await?;
        Ok(Sample::of(&last_of(stored, column, &page.rows)?, price))
    }

    /// Where no cell has run: what would be sent for some rows, and what an answer usually has.
    async fn guess_model(
        &self,
        stored: &StoredProject,
        column: &Column,
        config: &AiConfig,
        rows: &Rows,
        price: Option<ModelPrice>,
        estimate: &mut ColumnEstimate,
    ) -> Result<()> {
        let sizes = self.prompt_bytes(stored, column, rows).await?;
        let schema = config.output_schema.as_ref().map_or(0, |schema| schema.to_string().len());
        let usual = config.prompt.len() + config.system.as_ref().map_or(0, String::len);
        let bytes = mean(&sizes).unwrap_or_else(|| count(usual as u64)) + count(schema as u64);
        let input = bytes / BYTES_A_TOKEN + AROUND_TOKENS;
        let (least, likely, most) = OUTPUT_TOKENS;
        let most = config.max_tokens.map_or(most, f64::from);
        let (least, likely) = (least.min(most), likely.min(most));
        let cells = count(estimate.basis.cells);
        (estimate.input_tokens, estimate.output_tokens) = (input * cells, likely * cells);
        estimate.basis.sample = sizes.len() as u64;
        if let Some(price) = price {
            // Counting bytes is right to about a fifth.
            let of = |input: f64, output: f64| price.dollars(input * cells, output * cells);
            estimate.basis.from = BasisFrom::SampledRows;
            estimate.basis.usd = Some(DollarRange {
                low: of(input * 0.8, least),
                likely: of(input, likely),
                high: of(input * 1.25, most),
            });
        }
        Ok(())
    }

    /// How many bytes the prompts of some rows have.
    async fn prompt_bytes(&self, stored: &StoredProject, column: &Column, rows: &Rows) -> Result<Vec<f64>> {
        let Some(trial) = self.tester.get() else { return Ok(Vec::new()) };
        let id = stored.project.id;
        let sampled: Vec<StoredRow> = match rows {
            Rows::All => {
                let most = u32::try_from(SAMPLED_ROWS).unwrap_or(u32::MAX);
                self.store.rows_within(id, PageStart::Offset(0), most, SAMPLED_BYTES).await?.rows
            }
            Rows::At(positions) => {
                let step = positions.len().div_ceil(SAMPLED_ROWS).max(1);
                let some = positions.iter().step_by(step).copied().collect();
                self.store.rows_at_within(id, some, SAMPLED_BYTES).await?.rows
            }
        };
        let column = Arc::new(column.clone());
        let mut sizes = Vec::with_capacity(sampled.len());
        for row in sampled {
            let project = Arc::clone(&stored.project);
            let cell = TrialCell { project, column: Arc::clone(&column), row: row.id, values: row.values };
            // A row that lacks an input is passed over by the run, too.
            let Ok(resolved) = trial.resolve(&cell).await else { continue };
            let bytes = |name: &str| resolved.get(name).and_then(Value::as_str).map_or(0, str::len);
            sizes.push(count((bytes("prompt") + bytes("system")) as u64));
        }
        Ok(sizes)
    }
}

/// The provenance of the last cells of a column among these rows.
fn last_of(stored: &StoredProject, column: &Column, rows: &[StoredRow]) -> Result<Vec<Meta>> {
    let mut found = Vec::new();
    for row in rows {
        let view = RowView::new(&stored.project.table, row.values.cells()?, &row.states);
        let Some(state) = view.state(column).filter(|state| state.status == CellStatus::Completed) else {
            continue;
        };
        if let Some(meta) = state.meta.as_ref().filter(|meta| !meta.contains_key("cached")) {
            found.push((state.updated_at_ms, meta.clone()));
        }
    }
    found.sort_by_key(|(at_ms, _)| std::cmp::Reverse(*at_ms));
    Ok(found.into_iter().take(LAST_CELLS as usize).map(|(_, meta)| meta).collect())
}

impl Sample {
    fn of(cells: &[Meta], price: Option<ModelPrice>) -> Self {
        let mut sample = Self::default();
        for meta in cells {
            sample.add(&Spent::of(meta), meta.get("milliseconds").and_then(Value::as_f64), price);
        }
        sample
    }

    fn add(&mut self, spent: &Spent, milliseconds: Option<f64>, price: Option<ModelPrice>) {
        self.count += 1;
        let (input, output) = (count(spent.usage.input_tokens), count(spent.usage.output_tokens));
        self.input_tokens.push(input);
        self.output_tokens.push(output);
        // The model may be another one by now: its price counts, unless the provider tells its own.
        let by_price = price.filter(|_| input + output > 0.0).map(|price| price.dollars(input, output));
        self.usd.extend(
            spent.cost.map(Amount::number).or(by_price).or_else(|| spent.list_cost.map(Amount::number)),
        );
        self.credits.extend(spent.credits.map(Amount::number));
        self.milliseconds.extend(milliseconds);
    }
}

/// Where no search has been made: one credit a cell, at the prices the team has set. At most, every finder is asked.
fn guess_finders(settings: &SpendingSettings, estimate: &mut ColumnEstimate) {
    let prices = |provider: &String| {
        let price = settings.providers.get(provider)?;
        price.usd_per_call.or(price.usd_per_credit)
    };
    let each: Option<Vec<f64>> = estimate.forecast.providers.iter().map(prices).collect();
    let cells = count(estimate.basis.cells);
    estimate.credits = estimate.credits.or(Some(cells));
    if let Some(each) = each {
        estimate.basis.from = BasisFrom::SampledRows;
        let likely = each.first().copied().unwrap_or_default();
        estimate.basis.usd =
            Some(DollarRange { low: 0.0, likely: likely * cells, high: each.iter().sum::<f64>() * cells });
    }
}

fn sum(columns: Vec<ColumnEstimate>) -> Estimate {
    let mut estimate = Estimate { usd: Some(DollarRange::default()), ..Estimate::default() };
    let (mut input, mut output) = (0.0, 0.0);
    let (mut by_limit, mut busy_seconds) = (BTreeMap::<String, f64>::new(), 0.0_f64);
    for column in columns {
        let ColumnEstimate { mut basis, input_tokens, output_tokens, credits, milliseconds, forecast } =
            column;
        basis.usd = basis.usd.map(DollarRange::rounded);
        estimate.cells += basis.cells;
        (input, output) = (input + input_tokens, output + output_tokens);
        estimate.usd = estimate.usd.zip(basis.usd).map(|(sum, usd)| sum.plus(usd).rounded());
        if let Some(credits) = credits {
            estimate.credits = Some(estimate.credits.unwrap_or_default() + credits);
        }
        for limit in &forecast.limits {
            let a_second = |rate: &RateLimit| f64::from(rate.requests) / f64::from(rate.per_seconds.max(1));
            let slowest = limit.rates.iter().map(a_second).fold(f64::INFINITY, f64::min);
            *by_limit.entry(limit.name.clone()).or_default() += count(basis.cells) / slowest.max(1e-9);
        }
        busy_seconds += milliseconds / 1e3 / count(forecast.at_once.max(1) as u64);
        estimate.basis.push(basis);
    }
    estimate.input_tokens = whole(input);
    estimate.output_tokens = whole(output);
    estimate.seconds = whole(by_limit.into_values().fold(busy_seconds, f64::max).ceil());
    estimate
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / count(values.len() as u64))
}

fn total(values: &[f64], cells: u64) -> f64 {
    mean(values).unwrap_or_default() * count(cells)
}

#[expect(clippy::cast_precision_loss, reason = "an estimate")]
fn count(number: u64) -> f64 {
    number as f64
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it saturates")]
fn whole(number: f64) -> u64 {
    number.round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(cells: u64, usd: Option<DollarRange>, rate: Option<(u32, u32)>) -> ColumnEstimate {
        let limits = rate.map(|(requests, per_seconds)| crate::forecaster::ForecastLimit {
            name: "one".to_owned(),
            rates: vec![RateLimit { requests, per_seconds }],
        });
        let from = if usd.is_some() { BasisFrom::LastCells } else { BasisFrom::Unknown };
        let header = String::new();
        let basis =
            ColumnBasis { column_id: String::new(), header, cells, from, sample: 1, model: None, usd };
        let forecast = Forecast { limits: limits.into_iter().collect(), at_once: 10, ..Forecast::default() };
        ColumnEstimate {
            basis,
            input_tokens: 1.0,
            output_tokens: 2.0,
            credits: None,
            milliseconds: 1_000.0 * count(cells),
            forecast,
        }
    }

    #[test]
    fn columns_are_added_up_and_share_what_limits_them() {
        let usd = Some(DollarRange { low: 1.0, likely: 2.0, high: 3.0 });
        let both = sum(vec![column(60, usd, Some((30, 60))), column(40, usd, Some((30, 60)))]);
        assert_eq!((both.cells, both.usd.unwrap().likely), (100, 4.0));
        assert_eq!(both.seconds, 200, "a hundred calls at one every two seconds");
        assert_eq!(sum(vec![column(100, usd, None)]).seconds, 10, "ten at once, a second each");
        assert_eq!(
            sum(vec![column(1, usd, None), column(1, None, None)]).usd,
            None,
            "never less than it costs"
        );
        let nothing = sum(Vec::new());
        assert_eq!((nothing.cells, nothing.usd.unwrap().high), (0, 0.0));
    }
}

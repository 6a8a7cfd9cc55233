//! What a run is likely to take: from the last cells of its columns, else from some of its rows.

use std::sync::Arc;

use rowmill_model::cell::Meta;
use rowmill_model::column::AiConfig;
use rowmill_model::estimate::{BasisFrom, ColumnBasis, DollarRange, Estimate};
use rowmill_model::filter::Operator;
use rowmill_model::plan::Pick;
use rowmill_model::prices::ModelPrice;
use rowmill_model::pricing::{cost_today, model_price};
use rowmill_model::row::RowView;
use rowmill_model::{Amount, CellStatus, Column, ProjectId, SpendingSettings, Spent};
use rowmill_query::Start;
use rowmill_store::{PageStart, ProcessingStatus, Rows, StoredProject, StoredRow, Triggered, WantedSlots};
use serde_json::{Value, json};

use crate::app::App;
use crate::error::Result;
use crate::estimate_sum::{ColumnEstimate, count, sum};
use crate::forecaster::Forecast;
use crate::research_estimates::{ResearchCost, guess_research};
use crate::rows::ListRows;
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

/// What all columns are judged by.
struct Known {
    settings: SpendingSettings,
    status: Option<ProcessingStatus>,
    edges: Vec<StoredRow>,
}

impl App {
    /// What a run of these cells is likely to take, which was rehearsed; `None` if it has too many columns.
    pub(crate) async fn estimate(
        &self,
        stored: &StoredProject,
        rows: &Rows,
        pick: &Pick,
        rehearsed: &Triggered,
    ) -> Result<Option<Estimate>> {
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
        let mut estimates = Vec::new();
        for column in columns {
            if let Some(cells) = rehearsed.cells.get(&column.slot) {
                estimates.push(self.estimate_column(stored, column, *cells, rows, &known).await?);
            }
        }
        Ok(Some(Estimate { not_run: Some(rehearsed.left), ..sum(estimates) }))
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
        let price = if column.is_in_batches() { price.map(ModelPrice::in_batches) } else { price };
        let sample = if has_run {
            self.last_cells(stored, column, (settings, price), edges).await?
        } else {
            Sample::default()
        };
        let mut estimate = ColumnEstimate {
            basis: ColumnBasis {
                column_id: column.id.to_string(),
                header: column.header.clone(),
                cells,
                from: BasisFrom::Unknown,
                sample: sample.count,
                model: price.and(forecast.model.clone()),
                usd: None,
                missing_credential: forecast.missing_credential.clone(),
                disabled: column.disabled_reason().map(str::to_owned),
            },
            input_tokens: total(&sample.input_tokens, cells),
            output_tokens: total(&sample.output_tokens, cells),
            credits: mean(&sample.credits).map(|each| each * count(cells)),
            is_batch: column.is_in_batches(),
            milliseconds: mean(&sample.milliseconds).unwrap_or(MILLISECONDS),
            forecast,
        };
        if estimate.basis.disabled.is_some() {
            estimate.basis.sample = 0;
        } else if let Some(usd) = DollarRange::of_sample(&sample.usd, cells) {
            (estimate.basis.from, estimate.basis.usd) = (BasisFrom::LastCells, Some(usd));
        } else if estimate.forecast.missing_credential.is_some() {
            // Nothing is paid without it, but it will be added, or the run is of no use.
            estimate.basis.sample = 0;
        } else if estimate.forecast.providers.is_empty() {
            estimate.basis.from = BasisFrom::Free;
            estimate.basis.usd = Some(DollarRange::default());
        } else if let Some(config) = &column.ai_config {
            self.guess_model(stored, column, config, rows, (settings, price), &mut estimate).await?;
        } else {
            guess_finders(settings, &mut estimate);
        }
        Ok(estimate)
    }

    /// The first and the last rows of a project, where cells that ran are most likely found.
    async fn edge_rows(&self, project: ProjectId) -> Result<Vec<StoredRow>> {
        let page = |start: u64| {
            self.store.rows_within(project, PageStart::Offset(start), EDGE_ROWS, SAMPLED_BYTES.into())
        };
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
        prices: (&SpendingSettings, Option<ModelPrice>),
        edges: &[StoredRow],
    ) -> Result<Sample> {
        let near = last_of(stored, column, edges)?;
        if near.len() >= ENOUGH_CELLS {
            return Ok(Sample::of(&near, prices));
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
            slots: WantedSlots::All,
        };
        let page = self.list_rows(stored, list).await?;
        Ok(Sample::of(&last_of(stored, column, &page.rows)?, prices))
    }

    /// Where no cell has run: what would be sent for some rows, and what an answer usually has.
    async fn guess_model(
        &self,
        stored: &StoredProject,
        column: &Column,
        config: &AiConfig,
        rows: &Rows,
        (settings, price): (&SpendingSettings, Option<ModelPrice>),
        estimate: &mut ColumnEstimate,
    ) -> Result<()> {
        let sizes = self.prompt_bytes(stored, column, rows).await?;
        let schema = config.output_schema.as_ref().map_or(0, |schema| schema.get().len());
        let usual = config.prompt.len() + config.system.as_ref().map_or(0, String::len);
        let bytes = mean(&sizes).unwrap_or_else(|| count(usual as u64)) + count(schema as u64);
        let input = bytes / BYTES_A_TOKEN + AROUND_TOKENS;
        estimate.basis.sample = sizes.len() as u64;
        if let Some(limits) = &config.research {
            let each = guess_research(limits, settings, price, &estimate.forecast, input);
            guess_of_research(estimate, &each);
            return Ok(());
        }
        let (least, likely, most) = OUTPUT_TOKENS;
        let most = config.max_tokens.map_or(most, f64::from);
        let (least, likely) = (least.min(most), likely.min(most));
        let cells = count(estimate.basis.cells);
        (estimate.input_tokens, estimate.output_tokens) = (input * cells, likely * cells);
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
                self.store.rows_within(id, PageStart::Offset(0), most, SAMPLED_BYTES.into()).await?.rows
            }
            Rows::At(positions) => {
                let step = positions.len().div_ceil(SAMPLED_ROWS).max(1);
                let some = positions.iter().step_by(step).copied().collect();
                self.store.rows_at_within(id, some, SAMPLED_BYTES.into()).await?.rows
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
    fn of(cells: &[Meta], (settings, price): (&SpendingSettings, Option<ModelPrice>)) -> Self {
        let mut sample = Self::default();
        for meta in cells {
            let spent = Spent::of(meta);
            sample.count += 1;
            sample.input_tokens.push(count(spent.usage.input_tokens));
            sample.output_tokens.push(count(spent.usage.output_tokens));
            // The model may be another one by now: its price counts, unless the provider tells its own.
            sample.usd.extend(cost_today(settings, price, meta));
            sample.credits.extend(spent.credits.map(Amount::number));
            sample.milliseconds.extend(meta.get("milliseconds").and_then(Value::as_f64));
        }
        sample
    }
}

/// Where no cell has been researched: what one usually takes within its limits.
fn guess_of_research(estimate: &mut ColumnEstimate, each: &ResearchCost) {
    let ResearchCost { usual, credits, usd } = *each;
    let cells = count(estimate.basis.cells);
    estimate.input_tokens = usual.input_tokens * cells;
    estimate.output_tokens = usual.output_tokens * cells;
    estimate.milliseconds = (usual.steps + usual.searches) * MILLISECONDS;
    estimate.credits = estimate.credits.or(credits.map(|each| each * cells));
    if let Some(usd) = usd {
        estimate.basis.from = BasisFrom::SampledRows;
        estimate.basis.usd = Some(usd.times(cells));
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

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / count(values.len() as u64))
}

fn total(values: &[f64], cells: u64) -> f64 {
    mean(values).unwrap_or_default() * count(cells)
}

//! Comparing prompts and models: several variants of an AI column on some rows, scored against expected answers. Nothing
//! is saved, but what it costs is counted.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use parking_lot::Mutex;
use rowmill_model::column::AiConfig;
use rowmill_model::filter::Operator;
use rowmill_model::row::{RowView, Source};
use rowmill_model::scoring::Scoring;
use rowmill_model::template::Catalogue;
use rowmill_model::{Column, ColumnType, Offence, RowId, Spent, Value as CellValue};
use rowmill_query::Start;
use rowmill_store::spending::person;
use rowmill_store::{StoredProject, StoredRow, WantedSlots};
use serde_json::{Map, Value, json};

use crate::app::App;
use crate::blocking::in_turn;
use crate::caller::Caller;
use crate::comparison_judge::{Judge, JudgeModel};
use crate::comparison_run::{ComparedCell, ComparedOutcome, Comparing, Job, run_all};
use crate::correcting::Correcting;
use crate::error::{Error, Noun, Result};
use crate::pattern_checks::effort;
use crate::rows::ListRows;
use crate::trials::{TrialColumn, in_column};

/// A comparison is over after this time.
const TIME_MAX: Duration = Duration::from_mins(2);
/// All values of a comparison together.
const VALUES_BYTES_MAX: usize = 4 * 1024 * 1024;
/// The rows it is made on, together.
const ROWS_BYTES_MAX: usize = 16 * 1024 * 1024;

/// What is to be compared.
#[derive(Debug)]
pub struct CompareColumn {
    /// The column, as in a column creation.
    pub column: Map<String, Value>,
    /// The column that is being edited, if there is one.
    pub column_id: Option<String>,
    pub variants: Vec<NewVariant>,
    pub rows: SampleRows,
    pub expected: Option<Expected>,
    /// Whether a browser asks.
    pub is_session: bool,
}

/// A variant: what is different from the column.
#[derive(Debug)]
pub struct NewVariant {
    pub name: Option<String>,
    pub ai_config: Map<String, Value>,
}

/// On which rows.
#[derive(Debug)]
pub enum SampleRows {
    Ids(Vec<String>),
    /// The first ones, of those with an expected answer if there is a column of them.
    First(u32),
}

/// The answers that are right.
#[derive(Debug)]
pub struct Expected {
    /// The column they are in, by id or header.
    pub column_id: String,
    pub scoring: Scoring,
    /// The fields that count, for [`Scoring::Json`]; all if there are none.
    pub fields: Vec<String>,
    /// Whom to ask, for [`Scoring::Judge`].
    pub judge: JudgeModel,
}

#[derive(Debug)]
pub struct Comparison {
    pub rows: Vec<ComparedRow>,
    pub variants: Vec<ComparedVariant>,
    /// The variant with the best score; of equals the cheaper one, then the faster one.
    pub best: Option<usize>,
    /// All calls together, the judge's included.
    pub spent: Spent,
    pub milliseconds: u64,
}

#[derive(Debug)]
pub struct ComparedRow {
    pub id: RowId,
    /// Raw JSON.
    pub expected: Option<Box<str>>,
}

#[derive(Debug)]
pub struct ComparedVariant {
    pub name: String,
    /// The whole configuration, to be saved into the column.
    pub ai_config: AiConfig,
    /// In the order of the rows.
    pub cells: Vec<ComparedCell>,
    /// The mean of the cells' scores, and how many have one.
    pub score: Option<f64>,
    pub scored: u64,
    /// The mean of what is known.
    pub usd_per_1000_rows: Option<f64>,
    pub milliseconds: Option<f64>,
    pub fixes: Vec<String>,
}

impl App {
    /// Runs variants of a column on some rows without saving a value.
    pub async fn compare(
        self: &Arc<Self>,
        caller: Caller,
        project: &str,
        request: CompareColumn,
    ) -> Result<Comparison> {
        let CompareColumn { column, column_id, variants, rows, expected, is_session } = request;
        let began = self.clock.monotonic();
        let stored = self.project_to_change(caller, project).await?;
        let expected_column = match &expected {
            Some(expected) => Some(expected_column(&stored, &expected.column_id)?),
            None => None,
        };
        let catalogue = self.credentials(caller.team()).await?.catalogue();
        let mut columns = Vec::with_capacity(variants.len());
        for (place, variant) in variants.iter().enumerate() {
            let made = in_turn(effort([&column]), || {
                self.variant(&stored, &column, column_id.as_deref(), variant, place, &catalogue)
            });
            columns.push(made.await?);
        }
        let judge = match &expected {
            Some(Expected { scoring: Scoring::Judge, judge, .. }) => {
                Some(Judge::new(&stored.project, &usual_judge(judge, &columns), &self.limits)?)
            }
            _ => None,
        };
        let rows = self.sample(&stored, rows, expected_column).await?;
        let compared = compared_rows(&stored, rows, expected_column)?;
        let (scoring, fields) = match expected {
            Some(Expected { scoring, fields, .. }) => (Some(scoring), fields),
            None => (None, Vec::new()),
        };
        let comparing = Arc::new(Comparing {
            project: Arc::clone(&stored.project),
            settings: self.store.spending(stored.project.team).await?.settings,
            person: person(Some(&self.starter(caller, is_session).await?)),
            deadline: began + TIME_MAX,
            seconds_max: TIME_MAX.as_secs(),
            scoring,
            fields,
            judge,
            bytes_left: AtomicUsize::new(VALUES_BYTES_MAX),
            spent: Mutex::new(Spent::NOTHING),
        });
        let jobs = self.jobs(&columns, &compared).await?;
        let cells = run_all(self, Arc::clone(&comparing), jobs).await;
        let variants = gather(variants, columns, cells);
        let spent = *comparing.spent.lock();
        let milliseconds = self.clock.monotonic().saturating_duration_since(began).as_millis();
        Ok(Comparison {
            rows: compared.into_iter().map(|(row, expected)| ComparedRow { id: row.id, expected }).collect(),
            best: best(&variants),
            variants,
            spent,
            milliseconds: u64::try_from(milliseconds).unwrap_or(u64::MAX),
        })
    }

    /// The column as a variant has it.
    fn variant(
        &self,
        stored: &StoredProject,
        column: &Map<String, Value>,
        edited: Option<&str>,
        variant: &NewVariant,
        place: usize,
        catalogue: &Catalogue,
    ) -> Result<Arc<TrialColumn>> {
        let mut body = column.clone();
        let config = body.entry("aiConfig").or_insert_with(|| Value::Object(Map::new()));
        if !config.is_object() {
            *config = Value::Object(Map::new());
        }
        if let Value::Object(config) = config {
            config.extend(variant.ai_config.clone());
        }
        // Answers that were kept cost nothing and take no time: they are no measure.
        body.insert("cacheTtlSeconds".to_owned(), 0.into());
        let in_variant = |path: String| {
            if path.starts_with("aiConfig") { format!("variants[{place}].{path}") } else { in_column(&path) }
        };
        let made = self
            .trial_column(&stored.project, body, edited, catalogue, Correcting::Freely)
            .map_err(|error| error.with_paths(in_variant))?;
        if made.column.kind == ColumnType::Ai {
            return Ok(Arc::new(made));
        }
        let words = "is not an AI column; only prompts and models can be compared";
        Err(Error::invalid(vec![Offence::new("column.templateId", words)]))
    }

    async fn sample(
        &self,
        stored: &StoredProject,
        rows: SampleRows,
        expected: Option<&Column>,
    ) -> Result<Vec<StoredRow>> {
        let id = stored.project.id;
        let ids = match rows {
            SampleRows::Ids(ids) => ids,
            SampleRows::First(limit) => {
                let operator = Operator::IsNotEmpty.word();
                let answered = |column: &Column| json!([{ "columnId": column.id, "operator": operator }]);
                let list = ListRows {
                    view_id: None,
                    filters: expected.map(answered),
                    sorting: None,
                    search: None,
                    start: Start::Offset(0),
                    limit,
                    include_total: false,
                    slots: WantedSlots::All,
                };
                return Ok(self.list_rows(stored, list).await?.rows);
            }
        };
        let parsed: Vec<Option<RowId>> = ids.iter().map(|id| RowId::parse(id)).collect();
        let known = self.store.positions(id, parsed.iter().flatten().copied().collect()).await?;
        let mut known = known.into_iter();
        let positions: Vec<Option<u64>> =
            parsed.iter().map(|id| id.and_then(|_| known.next().flatten())).collect();
        let unknown = positions.iter().enumerate().filter(|(_, position)| position.is_none());
        let details: Vec<Offence> =
            unknown.map(|(place, _)| Offence::new(format!("rowIds[{place}]"), "does not exist")).collect();
        if !details.is_empty() {
            return Err(Error::SomeNotFound { noun: Noun::Row, details });
        }
        let positions = positions.into_iter().flatten().collect();
        Ok(self.store.rows_at_within(id, positions, ROWS_BYTES_MAX.into()).await?.rows)
    }

    /// Every variant on every row. A row's variants come together, so that what is cut off leaves whole rows.
    async fn jobs(
        &self,
        columns: &[Arc<TrialColumn>],
        rows: &[(StoredRow, Option<Box<str>>)],
    ) -> Result<Vec<Job>> {
        let mut payees = Vec::with_capacity(columns.len());
        for column in columns {
            let forecast = self.trial()?.forecast(&column.project, &column.column).await;
            payees.push(Arc::new(forecast.providers));
        }
        let jobs = rows.iter().enumerate().flat_map(|(place, (row, expected))| {
            columns.iter().zip(&payees).enumerate().map(move |(variant, (column, providers))| Job {
                variant,
                place,
                column: Arc::clone(column),
                providers: Arc::clone(providers),
                row: row.clone(),
                expected: expected.clone(),
            })
        });
        Ok(jobs.collect())
    }
}

fn expected_column<'s>(stored: &'s StoredProject, name: &str) -> Result<&'s Column> {
    stored.project.table.named(name).ok_or_else(|| Error::SomeNotFound {
        noun: Noun::Column,
        details: vec![Offence::new("expected.columnId", "does not exist")],
    })
}

/// Whoever the first variant asks judges, unless somebody else is named.
fn usual_judge(named: &JudgeModel, columns: &[Arc<TrialColumn>]) -> JudgeModel {
    if *named != JudgeModel::default() {
        return named.clone();
    }
    let first = columns.first().and_then(|column| column.column.ai_config.as_ref());
    first.map_or_else(JudgeModel::default, |config| JudgeModel {
        provider: config.provider,
        model: config.model.clone(),
    })
}

/// The rows, each with what is expected in it.
fn compared_rows(
    stored: &StoredProject,
    rows: Vec<StoredRow>,
    expected: Option<&Column>,
) -> Result<Vec<(StoredRow, Option<Box<str>>)>> {
    let table = &stored.project.table;
    let source = expected.map(|column| Source::compile(table, column));
    let mut compared = Vec::with_capacity(rows.len());
    for row in rows {
        let answer = {
            let view = RowView::new(table, row.values.cells()?, &row.states);
            let answer = source.as_ref().and_then(|source| source.value(&view));
            answer.filter(|raw| !CellValue::parse(raw).is_empty()).map(|raw| raw.as_ref().into())
        };
        compared.push((row, answer));
    }
    Ok(compared)
}

fn gather(
    variants: Vec<NewVariant>,
    columns: Vec<Arc<TrialColumn>>,
    mut cells: Vec<(usize, usize, ComparedCell)>,
) -> Vec<ComparedVariant> {
    cells.sort_by_key(|(variant, place, _)| (*variant, *place));
    let mut by_variant: Vec<Vec<ComparedCell>> = columns.iter().map(|_| Vec::new()).collect();
    for (variant, _, cell) in cells {
        if let Some(cells) = by_variant.get_mut(variant) {
            cells.push(cell);
        }
    }
    let named = variants.into_iter().zip(columns).zip(by_variant).enumerate();
    named
        .map(|(place, ((variant, column), cells))| {
            let name = variant.name.filter(|name| !name.trim().is_empty());
            let scores: Vec<f64> = cells.iter().filter_map(|cell| cell.score).collect();
            let tried = || cells.iter().filter(|cell| !matches!(cell.outcome, ComparedOutcome::NotTried(_)));
            let dollars: Vec<f64> = tried().filter_map(ComparedCell::dollars).collect();
            let times: Vec<f64> = tried().filter_map(ComparedCell::milliseconds).collect();
            ComparedVariant {
                name: name.unwrap_or_else(|| format!("Variant {}", place + 1)),
                ai_config: column.column.ai_config.clone().unwrap_or_default(),
                score: mean(&scores),
                scored: scores.len() as u64,
                usd_per_1000_rows: mean(&dollars).map(|each| each * 1_000.0),
                milliseconds: mean(&times),
                fixes: column.fixes.clone(),
                cells,
            }
        })
        .collect()
}

#[expect(clippy::cast_precision_loss, reason = "there are few")]
fn mean(numbers: &[f64]) -> Option<f64> {
    (!numbers.is_empty()).then(|| numbers.iter().sum::<f64>() / numbers.len() as f64)
}

/// The best score; of equals the cheaper one, then the faster one. What is unknown counts as most.
fn best(variants: &[ComparedVariant]) -> Option<usize> {
    let scored =
        variants.iter().enumerate().filter_map(|(place, variant)| Some((place, variant, variant.score?)));
    let rest = |variant: &ComparedVariant| {
        [variant.usd_per_1000_rows, variant.milliseconds].map(|number| number.unwrap_or(f64::INFINITY))
    };
    let order = |a: &(usize, &ComparedVariant, f64), b: &(usize, &ComparedVariant, f64)| {
        let ([a_usd, a_time], [b_usd, b_time]) = (rest(a.1), rest(b.1));
        b.2.total_cmp(&a.2).then(a_usd.total_cmp(&b_usd)).then(a_time.total_cmp(&b_time))
    };
    scored.min_by(order).map(|(place, ..)| place)
}

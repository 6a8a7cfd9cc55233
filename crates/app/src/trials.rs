//! Trying things before they are kept: a column on one row, a provider's credential.

use std::sync::Arc;

use rowmill_model::corrections::{self, Corrected};
use rowmill_model::filter::Predicate;
use rowmill_model::path::allowance::{self, ROW_VISITS_MAX};
use rowmill_model::plan::{condition_not_met, missing_input, missing_prompt_input};
use rowmill_model::pricing::note_list_cost;
use rowmill_model::provider::Provider;
use rowmill_model::row::{RowView, Source};
use rowmill_model::template::Catalogue;
use rowmill_model::{CellError, Column, ColumnType, Offence, Project, RowId, Value as CellValue};
use rowmill_store::StoredRow;
use serde_json::{Map, Value};

use crate::app::App;
use crate::blocking::in_turn;
use crate::caller::Caller;
use crate::correcting::{Correcting, allowed};
use crate::error::{Error, Noun, Result};
use crate::fan_out_targets::FanOutTargets;
use crate::ids::column_id;
use crate::pattern_checks::effort;
use crate::tester::{Trial, TrialCell, TrialOutcome};

/// What is to be tried.
#[derive(Debug)]
pub struct TryColumn {
    pub row_id: String,
    /// The column, as in a column creation.
    pub column: Map<String, Value>,
    /// The column that is being edited, if there is one.
    pub column_id: Option<String>,
    /// Only return what would be sent.
    pub dry_run: bool,
    /// What becomes of a column that is not right as it was sent.
    pub correcting: Correcting,
}

#[derive(Debug)]
pub struct Tried {
    pub resolved: Map<String, Value>,
    pub outcome: Option<TrialOutcome>,
    pub fixes: Vec<String>,
}

/// A column to try, in a project that has it.
#[derive(Debug, Clone)]
pub(crate) struct TrialColumn {
    pub(crate) project: Arc<Project>,
    pub(crate) column: Arc<Column>,
    pub(crate) fixes: Vec<String>,
}

impl TrialColumn {
    /// With the columns of a fan-out's target named by their ids.
    fn with_targets(mut self, targets: &FanOutTargets, stored: &Project) -> Result<Self> {
        let id = self.column.id.clone();
        let table = &mut Arc::make_mut(&mut self.project).table;
        self.fixes.extend(targets.settle(table, id.as_str(), stored.table.by_id(id.as_str()))?);
        if let Some(column) = table.by_id(id.as_str()) {
            self.column = Arc::new(column.clone());
        }
        Ok(self)
    }
}

/// The result of a credential test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderTest {
    pub ok: bool,
    pub message: String,
    pub milliseconds: u64,
}

impl App {
    /// Says who calls the outside. The first to say so is kept.
    pub fn try_with(&self, trial: Arc<dyn Trial>) {
        self.tester.set(trial);
    }

    pub(crate) fn trial(&self) -> Result<&dyn Trial> {
        self.tester.get().ok_or_else(|| Error::Internal("this process cannot make outside calls".into()))
    }

    /// Runs a column on one row without keeping anything.
    pub async fn try_column(&self, caller: Caller, project: &str, request: TryColumn) -> Result<Tried> {
        let TryColumn { row_id, column, column_id: edited, dry_run, correcting } = request;
        let stored = self.project_to_change(caller, project).await?;
        let id = RowId::parse(&row_id).ok_or(Error::NotFound(Noun::Row))?;
        let row = self.store.row(stored.project.id, id).await?.ok_or(Error::NotFound(Noun::Row))?;
        let catalogue = self.credentials(caller.team()).await?.catalogue();
        let targets = self.fan_out_targets(caller, Some(project), std::slice::from_ref(&column)).await?;
        let made = in_turn(effort([&column]), || {
            self.trial_column(&stored.project, column, edited.as_deref(), &catalogue, correcting)
        });
        let TrialColumn { project, column, fixes } = made
            .await
            .and_then(|trial| trial.with_targets(&targets, &stored.project))
            .map_err(|error| error.with_paths(|path| in_column(&path)))?;
        let (resolved, outcome) = self.try_cell(project, column, &row, dry_run).await?;
        Ok(Tried { resolved, outcome, fixes })
    }

    /// The project as it would be with this column in it, or with this change to a column.
    pub(crate) fn trial_column(
        &self,
        project: &Project,
        mut column: Map<String, Value>,
        edited: Option<&str>,
        catalogue: &Catalogue,
        correcting: Correcting,
    ) -> Result<TrialColumn> {
        self.check_size("", &column)?;
        let table = &project.table;
        let corrected = match edited {
            Some(name) => {
                let edited = table.named(name).ok_or(Error::NotFound(Noun::Column))?;
                column.remove("templateId");
                corrections::patch(table, edited.id.as_str(), &column, catalogue, &self.limits)
            }
            None => corrections::create(table, &column, column_id()?, catalogue, &self.limits),
        };
        let Corrected { table, column, fixes, .. } =
            allowed(corrected, correcting).map_err(Error::invalid)?;
        let project = Arc::new(Project { table, ..project.clone() });
        let column = project.table.by_id(column.as_str()).ok_or(Error::NotFound(Noun::Column))?;
        let column = Arc::new(column.clone());
        Ok(TrialColumn { project, column, fixes })
    }

    async fn try_cell(
        &self,
        project: Arc<Project>,
        column: Arc<Column>,
        row: &StoredRow,
        dry_run: bool,
    ) -> Result<(Map<String, Value>, Option<TrialOutcome>)> {
        let view = RowView::new(&project.table, row.values.cells()?, &row.states);
        match column.kind {
            ColumnType::Manual => {
                let words = "is a manual column; there is nothing to try";
                return Err(Error::invalid(vec![Offence::new("column.templateId", words)]));
            }
            ColumnType::Reference => {
                let value = view.value(&column).unwrap_or_else(|| "null".into());
                let outcome = TrialOutcome::Completed(value.into(), Map::new());
                return Ok((Map::new(), (!dry_run).then_some(outcome)));
            }
            ColumnType::Ai | ColumnType::Task | ColumnType::Api => {}
        }
        let skipped = self.would_skip(&project, &column, &view);
        let cell =
            TrialCell { project: Arc::clone(&project), column, row: row.id, values: row.values.clone() };
        let trial = self.trial()?;
        let resolved = match trial.resolve(&cell).await {
            Ok(resolved) => resolved,
            Err(error) => return Ok((Map::new(), Some(TrialOutcome::Failed(error, Map::new())))),
        };
        let outcome = match skipped {
            Some(error) => Some(TrialOutcome::Skipped(error)),
            None if dry_run => None,
            None => Some(self.priced(&project, trial.run(&cell).await).await?),
        };
        Ok((resolved, outcome))
    }

    /// With what it comes to by the team's prices.
    async fn priced(&self, project: &Project, mut outcome: TrialOutcome) -> Result<TrialOutcome> {
        if let TrialOutcome::Completed(_, meta) | TrialOutcome::Failed(_, meta) = &mut outcome {
            let settings = self.store.spending(project.team).await?.settings;
            note_list_cost(&settings, meta);
        }
        Ok(outcome)
    }

    /// Why a run would pass over the cell: an input that is empty, or the condition.
    pub(crate) fn would_skip(
        &self,
        project: &Project,
        column: &Column,
        row: &RowView<'_>,
    ) -> Option<CellError> {
        allowance::within(ROW_VISITS_MAX, || self.find_skip(project, column, row)).0
    }

    fn find_skip(&self, project: &Project, column: &Column, row: &RowView<'_>) -> Option<CellError> {
        let required = column.dependencies.iter().filter(|dependency| dependency.required);
        for dependency in required {
            let Some(input) = project.table.by_id(dependency.column_id.as_str()) else { continue };
            let value = Source::compile(&project.table, input).value(row);
            if value.is_none_or(|raw| CellValue::parse(&raw).is_empty()) {
                return Some(missing_input(&input.header));
            }
        }
        if let Some(error) = missing_prompt_input(column, row) {
            return Some(error);
        }
        let condition = Predicate::compile(&column.run_condition, &project.table);
        (!condition.holds(row, self.clock.now())).then(|| condition_not_met(&condition))
    }

    /// Asks a provider whether the team's credential works.
    pub async fn test_provider(&self, caller: Caller, provider: &str) -> Result<ProviderTest> {
        let team = caller.with_key()?.team;
        let provider = Provider::named(provider).ok_or(Error::NotFound(Noun::Provider))?;
        let began_ms = self.clock.now_ms();
        let answered = self.trial()?.test(team, provider).await;
        let milliseconds = u64::try_from(self.clock.now_ms() - began_ms).unwrap_or_default();
        let (ok, message) = match answered {
            Ok(message) => (true, message),
            Err(message) => (false, message),
        };
        Ok(ProviderTest { ok, message, milliseconds })
    }
}

pub(crate) fn in_column(path: &str) -> String {
    if path.is_empty() { "column".to_owned() } else { format!("column.{path}") }
}

//! Who tries columns and credentials for the application: the workers' own way to the outside.

use std::sync::Arc;

use async_trait::async_trait;
use rowmill_app::{Forecast, ForecastLimit, Trial, TrialCell, TrialOutcome};
use rowmill_engine::{CallLimit, CallOutcome, Cell, Payees, ProviderCalls, busy};
use rowmill_model::{CellError, Column, Project, Provider, TeamId};
use serde_json::{Map, Value};

#[derive(Debug)]
pub(crate) struct Trials(pub(crate) Arc<ProviderCalls>);

#[async_trait]
impl Trial for Trials {
    async fn resolve(&self, cell: &TrialCell) -> Result<Map<String, Value>, CellError> {
        self.0.resolve(&in_trial(cell)).await
    }

    async fn run(&self, cell: &TrialCell) -> TrialOutcome {
        match self.0.try_once(&in_trial(cell)).await {
            CallOutcome::Value(raw, meta) => TrialOutcome::Completed(raw, meta),
            CallOutcome::NoData(meta) => TrialOutcome::Completed("null".into(), meta),
            CallOutcome::Skipped(error) => TrialOutcome::Skipped(error),
            CallOutcome::Failed(call_failure) => TrialOutcome::Failed(call_failure.error, call_failure.meta),
            CallOutcome::Later(_, cause) => TrialOutcome::Failed(busy(cause), Map::new()),
        }
    }

    async fn forecast(&self, project: &Project, column: &Column) -> Forecast {
        let (Payees { providers, model, .. }, limits, at_once) = self.0.forecast(project, column).await;
        let limit =
            |CallLimit { key, rates, .. }: CallLimit| ForecastLimit { name: format!("{key:?}"), rates };
        Forecast { providers, model, limits: limits.into_iter().map(limit).collect(), at_once }
    }

    async fn test(&self, team: TeamId, provider: &'static Provider) -> Result<String, String> {
        self.0.test(team, provider).await
    }
}

fn in_trial(cell: &TrialCell) -> Cell {
    let TrialCell { project, column, row, values } = cell;
    Cell::in_trial(Arc::clone(project), Arc::clone(column), *row, values.clone())
}

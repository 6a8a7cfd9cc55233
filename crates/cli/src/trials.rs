//! Who tries columns and credentials for the application: the workers' own way to the outside.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use rowmill_app::{Forecast, ForecastLimit, Trial, TrialCell, TrialOutcome};
use rowmill_engine::{CallForecast, CallLimit, CallOutcome, Cell, Payees, ProviderCalls, busy};
use rowmill_model::{CellError, Column, Project, Provider, TeamId};
use serde_json::{Map, Value};

#[derive(Debug)]
pub(crate) struct Trials {
    pub(crate) calls: Arc<ProviderCalls>,
    /// Cells that a worker runs at once.
    pub(crate) concurrency: usize,
}

#[async_trait]
impl Trial for Trials {
    async fn resolve(&self, cell: &TrialCell) -> Result<Map<String, Value>, CellError> {
        self.calls.resolve(&in_trial(cell)).await
    }

    async fn run(&self, cell: &TrialCell) -> TrialOutcome {
        outcome(self.calls.try_once(&in_trial(cell)).await)
    }

    async fn run_within(&self, cell: &TrialCell, time: Duration) -> TrialOutcome {
        outcome(self.calls.try_within(&in_trial(cell), time).await)
    }

    async fn forecast(&self, project: &Project, column: &Column) -> Forecast {
        let CallForecast { payees, limits, at_once, missing_credential } =
            self.calls.forecast(project, column).await;
        let Payees { providers, model, search_providers, .. } = payees;
        let limit = |(limit, calls): (CallLimit, f64)| {
            let CallLimit { key, rates, .. } = limit;
            ForecastLimit { name: format!("{key:?}"), rates, calls }
        };
        let limits = limits.into_iter().map(limit).collect();
        let at_once = at_once.min(self.concurrency);
        Forecast { providers, model, search_providers, limits, at_once, missing_credential }
    }

    async fn test(&self, team: TeamId, provider: &'static Provider) -> Result<String, String> {
        self.calls.test(team, provider).await
    }
}

fn outcome(outcome: CallOutcome) -> TrialOutcome {
    match outcome {
        CallOutcome::Value(raw, meta) => TrialOutcome::Completed(raw, meta),
        CallOutcome::NoData(meta) => TrialOutcome::Completed("null".into(), meta),
        CallOutcome::Skipped(error) => TrialOutcome::Skipped(error),
        CallOutcome::Failed(call_failure) => TrialOutcome::Failed(call_failure.error, call_failure.meta),
        CallOutcome::Later(_, cause, meta) => TrialOutcome::Failed(busy(cause), meta),
    }
}

fn in_trial(cell: &TrialCell) -> Cell {
    let TrialCell { project, column, row, values } = cell;
    Cell::in_trial(Arc::clone(project), Arc::clone(column), *row, values.clone())
}

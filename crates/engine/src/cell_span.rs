//! The span of a cell that runs: whose it is and what came of it, and nothing that is in it.

use rowmill_store::CellResult;
use rowmill_telemetry::{Kind, Span};

use crate::cell_runner::Cell;

/// Begins the span of a cell, in the trace of the request that started its run. A cell whose run has none, because it was
/// started without a request or while tracing was off, begins a trace of its own.
pub(crate) fn begin(cell: &Cell) -> Option<Span> {
    let mut span = Span::begin(Kind::Internal, cell.trace, || "cell".into())?;
    let team = cell.project.team;
    span.set_team(team.0.as_u128(), || team.to_string());
    if span.context().is_sampled {
        span.set("rowmill.project.id", cell.project.id.to_string());
        span.set("rowmill.column.id", cell.column.id.as_str().to_owned());
    }
    Some(span)
}

/// Ends it with what is to be written.
pub(crate) fn end(span: Option<Span>, result: &CellResult) {
    let Some(mut span) = span else { return };
    let (outcome, error) = match result {
        CellResult::Value(..) => ("value", None),
        CellResult::NoData(_) => ("no_data", None),
        CellResult::Skipped(error) => ("skipped", Some(error)),
        CellResult::Later { error, .. } => ("later", error.as_ref()),
        CellResult::Retry { error, .. } => ("retry", Some(error)),
        CellResult::Failed(error, _) => ("failed", Some(error)),
    };
    if let Some(error) = error {
        span.set("error.type", error.code.word());
    }
    span.end(outcome, matches!(result, CellResult::Retry { .. } | CellResult::Failed(..)));
}

//! What runs were estimated to take.

use std::collections::BTreeMap;

use rowmill_model::ProjectId;
use rowmill_model::estimate::Estimate;
use rowmill_store::{ENDED_RUNS_MAX, Result};
use rusqlite::{Connection, OptionalExtension};

use crate::convert::{backend, damaged};

pub(crate) fn note(connection: &Connection, project: ProjectId, run: u64, estimate: &Estimate) -> Result<()> {
    let document = serde_json::to_string(estimate).map_err(damaged)?;
    let project = project.uuid().into_bytes();
    connection
        .execute(
            "INSERT INTO run_estimates (project, run, document) VALUES (?1, ?2, ?3) \
             ON CONFLICT DO UPDATE SET document = excluded.document",
            (project, run, document),
        )
        .map_err(backend)?;
    // As long as the runs themselves.
    connection
        .execute(
            "DELETE FROM run_estimates WHERE project = ?1 AND run < ?2",
            (project, run.saturating_sub(ENDED_RUNS_MAX)),
        )
        .map(|_| ())
        .map_err(backend)
}

pub(crate) fn read(
    connection: &Connection,
    project: ProjectId,
    runs: &[u64],
) -> Result<BTreeMap<u64, Estimate>> {
    let mut query = connection
        .prepare_cached("SELECT document FROM run_estimates WHERE project = ?1 AND run = ?2")
        .map_err(backend)?;
    let mut estimates = BTreeMap::new();
    for run in runs {
        let found: Option<String> = query
            .query_row((project.uuid().as_bytes(), run), |row| row.get(0))
            .optional()
            .map_err(backend)?;
        if let Some(text) = found {
            estimates.insert(*run, serde_json::from_str(&text).map_err(damaged)?);
        }
    }
    Ok(estimates)
}

//! What runs were estimated to take.

use std::collections::BTreeMap;

use rowmill_model::ProjectId;
use rowmill_model::estimate::Estimate;
use rowmill_store::{ENDED_RUNS_MAX, Result};

use crate::convert::{damaged, signed, to_text, unsigned};
use crate::transaction::Tx;

pub(crate) async fn note(tx: &mut Tx, project: ProjectId, run: u64, estimate: &Estimate) -> Result<()> {
    let document = to_text(estimate)?;
    let sql = "INSERT INTO rowmill.run_estimates (project, run, document) VALUES ($1, $2, $3) \
               ON CONFLICT (project, run) DO UPDATE SET document = excluded.document";
    tx.query(sql, &[&project.uuid(), &signed(run), &document]).await?;
    // As long as the runs themselves.
    tx.at_last(
        "DELETE FROM rowmill.run_estimates WHERE project = $1 AND run < $2",
        vec![Box::new(project.uuid()), Box::new(signed(run.saturating_sub(ENDED_RUNS_MAX)))],
    );
    Ok(())
}

pub(crate) async fn read(tx: &mut Tx, project: ProjectId, runs: &[u64]) -> Result<BTreeMap<u64, Estimate>> {
    let runs: Vec<i64> = runs.iter().copied().map(signed).collect();
    let sql = "SELECT run, document FROM rowmill.run_estimates WHERE project = $1 AND run = ANY($2)";
    let found = tx.query(sql, &[&project.uuid(), &runs]).await?;
    let estimate = |row: &tokio_postgres::Row| {
        Ok((unsigned(row.get(0)), serde_json::from_str(row.get(1)).map_err(damaged)?))
    };
    found.iter().map(estimate).collect()
}

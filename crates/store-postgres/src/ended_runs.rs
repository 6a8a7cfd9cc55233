//! The history of a project's runs: those that are over.

use rowmill_model::ProjectId;
use rowmill_model::documents::{read_ended_run, write_ended_run};
use rowmill_model::plan::EndedRun;
use rowmill_store::{ENDED_RUNS_KEPT_MS, ENDED_RUNS_MAX, Result};

use crate::convert::{damaged, signed};
use crate::database::Database;
use crate::transaction::Tx;

/// Keeps a run that is over, and forgets the oldest ones.
pub(crate) fn keep(tx: &mut Tx, num: i64, run: &EndedRun) -> Result<()> {
    let text = write_ended_run(run).map_err(damaged)?;
    let number = signed(run.number);
    tx.at_last(
        "INSERT INTO rowmill.runs (project, number, ended_at, run) VALUES ($1, $2, $3, $4)",
        vec![Box::new(num), Box::new(number), Box::new(run.ended_at_ms), Box::new(text)],
    );
    // Of those that are too old two at a time: as each new one is kept, all of them go in the end.
    tx.at_last(
        "DELETE FROM rowmill.runs WHERE project = $1 AND (number <= $2 OR ended_at < $3 AND number IN \
         (SELECT number FROM rowmill.runs WHERE project = $1 ORDER BY number LIMIT 2))",
        vec![
            Box::new(num),
            Box::new(number.saturating_sub(signed(ENDED_RUNS_MAX))),
            Box::new(run.ended_at_ms - ENDED_RUNS_KEPT_MS),
        ],
    );
    Ok(())
}

/// Runs that are over, newest first.
pub(crate) async fn read(
    database: &Database,
    project: ProjectId,
    before: u64,
    limit: u32,
) -> Result<Vec<EndedRun>> {
    let before = i64::try_from(before).unwrap_or(i64::MAX);
    let sql = "SELECT r.run FROM rowmill.runs r JOIN rowmill.counters c USING (project) \
               WHERE c.id = $1 AND r.number < $2 ORDER BY r.number DESC LIMIT $3";
    let found = database.ask(sql, &[&project.uuid(), &before, &i64::from(limit)]).await?;
    found.iter().map(|row| read_ended_run(row.get(0)).map_err(damaged)).collect()
}

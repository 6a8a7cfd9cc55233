//! Purging the rows of deleted projects, a little at a time.

use rowmill_store::Result;

use crate::transaction::Tx;

/// Rows deleted in one go.
const SWEEP_ROWS: i64 = 2_000;
/// Likewise of values that are stored apart, which are large.
const SWEEP_WIDE_VALUES: i64 = 200;

/// Says whether something is left to sweep. Nodes sweep different graves.
pub(crate) async fn sweep_some(tx: &mut Tx) -> Result<bool> {
    let sql = "SELECT project FROM rowmill.graves ORDER BY project LIMIT 1 FOR UPDATE SKIP LOCKED";
    let graves = tx.query(sql, &[]).await?;
    let Some(project) = graves.first().map(|row| row.get::<_, i64>(0)) else { return Ok(false) };
    // First what is stored apart from the rows, so that nothing is left without one.
    let sql = "DELETE FROM rowmill.wide_values WHERE (project, position, slot) IN \
               (SELECT project, position, slot FROM rowmill.wide_values WHERE project = $1 LIMIT $2) RETURNING 1";
    if !tx.query(sql, &[&project, &SWEEP_WIDE_VALUES]).await?.is_empty() {
        return Ok(true);
    }
    let swept = tx
        .queries(&[
            (
                "DELETE FROM rowmill.rows WHERE project = $1 AND position IN \
                 (SELECT position FROM rowmill.rows WHERE project = $1 LIMIT $2) RETURNING 1",
                &[&project, &SWEEP_ROWS],
            ),
            (
                "DELETE FROM rowmill.rows WHERE project = $1 AND position IN \
                 (SELECT position FROM rowmill.rows WHERE project = $1 LIMIT $2) RETURNING 1",
                &[&-project, &SWEEP_ROWS],
            ),
            (
                "DELETE FROM rowmill.lookups WHERE project = $1 AND (slot, hash, position) IN \
                 (SELECT slot, hash, position FROM rowmill.lookups WHERE project = $1 LIMIT $2) RETURNING 1",
                &[&project, &SWEEP_ROWS],
            ),
        ])
        .await?;
    if swept.iter().all(Vec::is_empty) {
        for sql in [
            "DELETE FROM rowmill.live WHERE project = $1",
            "DELETE FROM rowmill.guests WHERE project = $1",
            "DELETE FROM rowmill.blocks WHERE project IN ($1, -$1::int8)",
            "DELETE FROM rowmill.trash WHERE project IN ($1, -$1::int8)",
            "DELETE FROM rowmill.past_guests WHERE project = $1",
            "DELETE FROM rowmill.ready WHERE project = $1",
            "DELETE FROM rowmill.retries WHERE project = $1",
            "DELETE FROM rowmill.claims WHERE project = $1",
            "DELETE FROM rowmill.runs WHERE project = $1",
            "DELETE FROM rowmill.asked_columns WHERE project = $1",
            "DELETE FROM rowmill.graves WHERE project = $1",
        ] {
            tx.at_last(sql, vec![Box::new(project)]);
        }
    }
    Ok(true)
}

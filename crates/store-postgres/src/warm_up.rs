//! What to load after a start.

use async_trait::async_trait;
use rowmill_model::ProjectId;
use rowmill_store::warm_up::{ASKED_FOR_MS, AskedColumn, AskedColumns, asked_in, noted};
use rowmill_store::{Result, WarmUpStore};
use tokio_postgres::Row;

use crate::convert::signed;
use crate::database::CommitDoubt::Repeat;
use crate::store::PostgresStore;
use crate::transaction::Tx;

#[async_trait]
impl WarmUpStore for PostgresStore {
    async fn note_asked(&self, project: ProjectId, asked: Vec<AskedColumn>, now_ms: i64) -> Result<()> {
        // No transaction is begun for what is there already.
        let sql = "SELECT columns FROM rowmill.projects LEFT JOIN rowmill.asked_columns USING (project) WHERE id = $1";
        let found = self.node.database.ask(sql, &[&project.uuid()]).await?;
        let is_new = |row: &Row| noted(row.get(0), &asked, now_ms).is_some();
        if !found.first().is_some_and(is_new) {
            return Ok(());
        }
        let input = (project, asked, now_ms);
        self.node()
            .write(Repeat, input, |tx, (project, asked, now_ms)| Box::pin(note(tx, *project, asked, *now_ms)))
            .await
    }

    async fn asked_columns(&self, limit: u32, now_ms: i64) -> Result<Vec<AskedColumns>> {
        let sql = "SELECT id, columns FROM rowmill.asked_columns JOIN rowmill.projects USING (project) \
                   WHERE asked_at > $1 ORDER BY asked_at DESC, project DESC LIMIT $2";
        let since = now_ms - ASKED_FOR_MS;
        let found = self.node.database.ask(sql, &[&since, &i64::from(limit)]).await?;
        let asked = found.iter().map(|row| AskedColumns {
            project: ProjectId::from_uuid(row.get(0)),
            columns: asked_in(row.get(1), now_ms),
        });
        Ok(asked.filter(|asked| !asked.columns.is_empty()).collect())
    }

    async fn projects_with_views(&self, rows_min: u64, limit: u32) -> Result<Vec<ProjectId>> {
        let input = (rows_min, limit);
        self.node.read(input, |tx, (rows_min, limit)| Box::pin(with_views(tx, *rows_min, *limit))).await
    }
}

async fn note(tx: &mut Tx, project: ProjectId, asked: &[AskedColumn], now_ms: i64) -> Result<()> {
    // While this is held the project is not deleted, so that nothing is left without one. Other nodes take turns.
    let sql = "SELECT project FROM rowmill.projects WHERE id = $1 FOR KEY SHARE";
    let found = tx.query(sql, &[&project.uuid()]).await?;
    let Some(num) = found.first().map(|row| row.get::<_, i64>(0)) else { return Ok(()) };
    let sql = "SELECT columns FROM rowmill.asked_columns WHERE project = $1 FOR UPDATE";
    let known = tx.query(sql, &[&num]).await?;
    let Some(columns) = noted(known.first().map(|row| row.get(0)), asked, now_ms) else { return Ok(()) };
    let sql = "INSERT INTO rowmill.asked_columns (project, asked_at, columns) VALUES ($1, $2, $3) \
               ON CONFLICT (project) DO UPDATE SET asked_at = excluded.asked_at, columns = excluded.columns";
    tx.query(sql, &[&num, &now_ms, &columns]).await.map(|_| ())
}

async fn with_views(tx: &mut Tx, rows_min: u64, limit: u32) -> Result<Vec<ProjectId>> {
    let sql = "SELECT p.id FROM rowmill.projects p JOIN rowmill.counters c USING (project) \
               WHERE c.row_count >= $1 AND p.views <> '[]' \
               ORDER BY (p.document::json ->> 'updatedAt')::int8 DESC, project DESC LIMIT $2";
    let found = tx.query(sql, &[&signed(rows_min), &i64::from(limit)]).await?;
    Ok(found.iter().map(|row| ProjectId::from_uuid(row.get(0))).collect())
}

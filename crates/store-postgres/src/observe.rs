//! What an operator sees: the projects with work, the size of the database, and the connections.

use async_trait::async_trait;
use rowmill_model::documents::read_tally;
use rowmill_model::{ProjectId, TeamId};
use rowmill_store::{BusyProject, DatabaseStats, ObserveStore, PoolStats, Result};

use crate::convert::{damaged, unsigned};
use crate::store::PostgresStore;

/// Cells that wait are ready, or wait for their time, or for others of their project that are or do. Found by loose
/// index scans, because a project may have a million of them.
const BUSY: &str = "WITH RECURSIVE \
     ready (project) AS ((SELECT project FROM rowmill.ready ORDER BY project LIMIT 1) UNION ALL \
     SELECT next.project FROM ready CROSS JOIN LATERAL (SELECT project FROM rowmill.ready r \
     WHERE r.project > ready.project ORDER BY r.project LIMIT 1) next), \
     late (project) AS ((SELECT project FROM rowmill.retries ORDER BY project LIMIT 1) UNION ALL \
     SELECT next.project FROM late CROSS JOIN LATERAL (SELECT project FROM rowmill.retries r \
     WHERE r.project > late.project ORDER BY r.project LIMIT 1) next), \
     held (project) AS ((SELECT project FROM rowmill.claims ORDER BY project LIMIT 1) UNION ALL \
     SELECT next.project FROM held CROSS JOIN LATERAL (SELECT project FROM rowmill.claims r \
     WHERE r.project > held.project ORDER BY r.project LIMIT 1) next) \
     SELECT p.id, p.team, c.version, c.tally \
     FROM (SELECT * FROM ready UNION SELECT * FROM late UNION SELECT * FROM held) busy \
     JOIN rowmill.projects p USING (project) JOIN rowmill.counters c USING (project) \
     WHERE c.tally IS NOT NULL ORDER BY p.id";

/// A standby has no place to write its log to.
const SIZES: &str = "SELECT pg_database_size(current_database())::int8, \
     CASE WHEN pg_is_in_recovery() THEN NULL \
     ELSE pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::int8 END";

#[async_trait]
impl ObserveStore for PostgresStore {
    async fn busy_projects(&self, most: u32) -> Result<Vec<BusyProject>> {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let mut busy = Vec::new();
        for row in &self.node.database.ask(BUSY, &[]).await? {
            let tally: &str = row.get(3);
            let project = BusyProject {
                project: ProjectId::from_uuid(row.get(0)),
                team: TeamId(row.get(1)),
                version: unsigned(row.get(2)),
                tally: read_tally(tally).map_err(damaged)?,
            };
            // A time that nobody waits for any more may still be noted.
            if project.tally.pending() > 0 && busy.len() < most {
                busy.push(project);
            }
        }
        Ok(busy)
    }

    async fn database_stats(&self) -> Result<DatabaseStats> {
        let found = self.node.database.ask(SIZES, &[]).await?;
        let sizes = found.first().map(|row| (row.get::<_, i64>(0), row.get::<_, Option<i64>>(1)));
        let (bytes, written) = sizes.unwrap_or_default();
        Ok(DatabaseStats {
            bytes: unsigned(bytes),
            wal_bytes: None,
            wal_written_bytes: written.map(unsigned),
        })
    }

    fn pool_stats(&self) -> PoolStats {
        self.node.database.pool_stats()
    }
}

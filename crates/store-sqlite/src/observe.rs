//! What an operator sees: the projects with work, the size of the files, and the connections.

use std::path::{Path, PathBuf};

use async_trait::async_trait;
use rowmill_model::documents::read_tally;
use rowmill_model::{ProjectId, TeamId};
use rowmill_store::{BusyProject, DatabaseStats, ObserveStore, PoolStats, Result};
use rusqlite::Connection;

use crate::convert::{backend, damaged, uuid_of};
use crate::readers::ReadKind;
use crate::store::SqliteStore;

/// Cells that wait are ready, or wait for their time, or for others of their project that are or do.
const BUSY: &str = "SELECT p.id, p.team, p.version, t.tally \
     FROM (SELECT project FROM ready UNION SELECT project FROM retries UNION SELECT project FROM claims) busy \
     JOIN projects p ON p.num = busy.project JOIN tallies t ON t.project = busy.project ORDER BY p.id";

#[async_trait]
impl ObserveStore for SqliteStore {
    async fn busy_projects(&self, most: u32) -> Result<Vec<BusyProject>> {
        self.readers.read_long(ReadKind::Scan, move |connection| busy(connection, most)).await
    }

    async fn database_stats(&self) -> Result<DatabaseStats> {
        Ok(DatabaseStats {
            bytes: bytes_of(self.readers.file()),
            wal_bytes: Some(bytes_of(&with_suffix(self.readers.file(), "-wal"))),
            wal_written_bytes: None,
        })
    }

    fn pool_stats(&self) -> PoolStats {
        let (in_use, idle) = self.readers.connections();
        let count = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        PoolStats {
            in_use: count(in_use),
            idle: count(idle),
            max: None,
            waiting: count(self.writer.waiting()),
        }
    }
}

fn busy(connection: &Connection, most: u32) -> Result<Vec<BusyProject>> {
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let mut query = connection.prepare_cached(BUSY).map_err(backend)?;
    let mut found = query.query(()).map_err(backend)?;
    let mut busy = Vec::new();
    while busy.len() < most
        && let Some(row) = found.next().map_err(backend)?
    {
        let tally: String = row.get(3).map_err(backend)?;
        let project = BusyProject {
            project: ProjectId::from_uuid(uuid_of(row, 0).map_err(backend)?),
            team: TeamId(uuid_of(row, 1).map_err(backend)?),
            version: row.get(2).map_err(backend)?,
            tally: read_tally(&tally).map_err(damaged)?,
        };
        // A time that nobody waits for any more may still be noted.
        if project.tally.pending() > 0 {
            busy.push(project);
        }
    }
    Ok(busy)
}

/// A file that is not there takes nothing.
fn bytes_of(file: &Path) -> u64 {
    std::fs::metadata(file).map_or(0, |found| found.len())
}

fn with_suffix(file: &Path, suffix: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

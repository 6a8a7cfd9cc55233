//! How many bytes the values of rows take. SQLite knows the length of a value without reading it.

use async_trait::async_trait;
use rowmill_model::{ProjectId, TeamId};
use rowmill_store::{Result, TeamBytes, ValueBytesStore};
use rusqlite::{Connection, OptionalExtension};

use crate::convert::{backend, uuid_of};
use crate::positions::key_range;
use crate::readers::ReadKind;
use crate::store::SqliteStore;
use crate::wide_values::value_bytes;

#[async_trait]
impl ValueBytesStore for SqliteStore {
    async fn team_bytes(&self, team: TeamId) -> Result<TeamBytes> {
        self.readers.read_long(ReadKind::List, move |connection| of_team(connection, team)).await
    }

    async fn count_bytes(&self, project: ProjectId) -> Result<()> {
        let count = move |connection: &Connection| count_before(connection, project);
        match self.readers.read_long(ReadKind::Scan, count).await? {
            Some(before) => {
                self.writer.write(move |connection| write_before(connection, project, before)).await
            }
            None => Ok(()),
        }
    }
}

fn of_team(connection: &Connection, team: TeamId) -> Result<TeamBytes> {
    let mut query = connection
        .prepare_cached(
            "SELECT id, value_bytes + value_bytes_before FROM projects JOIN counters ON project = num WHERE team = ?1",
        )
        .map_err(backend)?;
    let mut found = query.query([team.0.as_bytes()]).map_err(backend)?;
    let (mut bytes, mut uncounted) = (0_i64, Vec::new());
    while let Some(row) = found.next().map_err(backend)? {
        match row.get::<_, Option<i64>>(1).map_err(backend)? {
            Some(counted) => bytes = bytes.saturating_add(counted),
            None => uncounted.push(ProjectId::from_uuid(uuid_of(row, 0).map_err(backend)?)),
        }
    }
    Ok(TeamBytes { bytes: u64::try_from(bytes).unwrap_or_default(), uncounted })
}

/// What the values took when the counter began. `None` if that is known, or there is no such project.
fn count_before(connection: &Connection, project: ProjectId) -> Result<Option<i64>> {
    let found: Option<(i64, i64)> = connection
        .prepare_cached(
            "SELECT num, value_bytes FROM projects JOIN counters ON project = num \
             WHERE id = ?1 AND value_bytes_before IS NULL",
        )
        .and_then(|mut query| {
            query.query_row([project.uuid().as_bytes()], |row| Ok((row.get(0)?, row.get(1)?))).optional()
        })
        .map_err(backend)?;
    let Some((num, counted)) = found else { return Ok(None) };
    let keys = key_range(num);
    let all: i64 = connection
        .prepare_cached(concat!("SELECT ", value_bytes!(sum), " FROM rows WHERE key BETWEEN ?1 AND ?2"))
        .and_then(|mut query| query.query_row((keys.start(), keys.end()), |row| row.get(0)))
        .map_err(backend)?;
    Ok(Some(all - counted))
}

fn write_before(connection: &Connection, project: ProjectId, before: i64) -> Result<()> {
    connection
        .execute(
            "UPDATE counters SET value_bytes_before = ?2 \
             WHERE project = (SELECT num FROM projects WHERE id = ?1) AND value_bytes_before IS NULL",
            (project.uuid().as_bytes(), before),
        )
        .map(|_| ())
        .map_err(backend)
}

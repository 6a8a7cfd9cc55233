//! How many bytes the values of rows take. The server knows the length of a value without reading it.

use async_trait::async_trait;
use rowmill_model::{ProjectId, TeamId};
use rowmill_store::{Result, TeamBytes, ValueBytesStore};

use crate::database::CommitDoubt::Repeat;
use crate::store::PostgresStore;
use crate::transaction::Tx;

/// How many positions are counted by one statement, which must end in time.
const COUNT_POSITIONS: i64 = 1_000_000;

#[async_trait]
impl ValueBytesStore for PostgresStore {
    async fn team_bytes(&self, team: TeamId) -> Result<TeamBytes> {
        self.node().read(team, |tx, team| Box::pin(of_team(tx, *team))).await
    }

    async fn count_bytes(&self, project: ProjectId) -> Result<()> {
        let node = self.node();
        let _turn = node.long_turn(u64::MAX).await;
        let Some(before) = node.read(project, |tx, project| Box::pin(count_before(tx, *project))).await?
        else {
            return Ok(());
        };
        let input = (project, before);
        node.write(Repeat, input, |tx, (project, before)| Box::pin(write_before(tx, *project, *before))).await
    }
}

async fn of_team(tx: &mut Tx, team: TeamId) -> Result<TeamBytes> {
    let sql = "SELECT c.id, c.value_bytes + c.value_bytes_before FROM rowmill.projects \
               JOIN rowmill.counters c USING (project) WHERE team = $1";
    let (mut bytes, mut uncounted) = (0_i64, Vec::new());
    for row in &tx.query(sql, &[&team.0]).await? {
        match row.get::<_, Option<i64>>(1) {
            Some(counted) => bytes = bytes.saturating_add(counted),
            None => uncounted.push(ProjectId::from_uuid(row.get(0))),
        }
    }
    Ok(TeamBytes { bytes: u64::try_from(bytes).unwrap_or_default(), uncounted })
}

/// What the values took when the counter began. `None` if that is known, or there is no such project.
async fn count_before(tx: &mut Tx, project: ProjectId) -> Result<Option<i64>> {
    let sql = "SELECT project, next_position, value_bytes FROM rowmill.counters \
               WHERE id = $1 AND value_bytes_before IS NULL";
    let found = tx.query(sql, &[&project.uuid()]).await?;
    let Some(row) = found.first() else { return Ok(None) };
    let (num, end, counted): (i64, i64, i64) = (row.get(0), row.get(1), row.get(2));
    let sql = "SELECT coalesce(sum(octet_length(vals) + coalesce(wide_bytes, 0)), 0)::int8 FROM rowmill.rows \
               WHERE project = $1 AND position >= $2 AND position < $3";
    let (mut all, mut first) = (0_i64, 0);
    while first < end {
        let past = first.saturating_add(COUNT_POSITIONS);
        let sum = tx.query(sql, &[&num, &first, &past]).await?;
        all = all.saturating_add(sum.first().map_or(0, |row| row.get(0)));
        first = past;
    }
    Ok(Some(all - counted))
}

async fn write_before(tx: &mut Tx, project: ProjectId, before: i64) -> Result<()> {
    let sql =
        "UPDATE rowmill.counters SET value_bytes_before = $2 WHERE id = $1 AND value_bytes_before IS NULL";
    tx.query(sql, &[&project.uuid(), &before]).await.map(|_| ())
}

//! The state of projects: their rows in `counters`, which every writer locks first.

use std::sync::LazyLock;

use rowmill_model::ProjectId;
use rowmill_model::documents::read_tally;
use rowmill_model::plan::Tally;
use rowmill_model::record::Slot;
use rowmill_store::{Result, StoreError};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use crate::convert::{damaged, narrow, unsigned};
use crate::database::Database;
use crate::transaction::Tx;

/// What every read and write needs to know of a project: its line in `counters`.
#[derive(Debug, Clone)]
pub(crate) struct State {
    pub(crate) num: i64,
    pub(crate) id: ProjectId,
    pub(crate) version: u64,
    pub(crate) row_count: u64,
    pub(crate) next_position: u64,
    pub(crate) change_seq: u64,
    pub(crate) lookup_slots: Vec<Slot>,
    pub(crate) tally: Option<String>,
    pub(crate) tallied_at_ms: Option<i64>,
    /// Rows in the trash.
    pub(crate) trashed_count: u64,
    /// Which webhooks are to be told of changes. It is known only of a project that is locked.
    pub(crate) subscriptions: Option<String>,
}

impl State {
    pub(crate) fn tally(&self) -> Result<Tally> {
        let tally = self.tally.as_deref().map(read_tally).transpose();
        tally.map(Option::unwrap_or_default).map_err(damaged)
    }
}

static STATE_OF_ONE: LazyLock<String> = LazyLock::new(|| select_states("NULL::text", "WHERE id = $1"));
static STATES_OF_SOME: LazyLock<String> = LazyLock::new(|| select_states("NULL::text", "WHERE id = ANY($1)"));
static LOCK_AND_WAIT: LazyLock<String> =
    LazyLock::new(|| select_states(SUBSCRIPTIONS, "WHERE id = ANY($1) ORDER BY id FOR UPDATE"));
static LOCK_OR_SKIP: LazyLock<String> =
    LazyLock::new(|| select_states(SUBSCRIPTIONS, "WHERE id = ANY($1) ORDER BY id FOR UPDATE SKIP LOCKED"));

/// The webhooks of a project's team. Where no team has any, the first question is the only one, and is asked once.
const SUBSCRIPTIONS: &str = "CASE WHEN EXISTS (SELECT 1 FROM rowmill.webhooks WHERE subscriptions IS NOT NULL) THEN \
     (SELECT w.subscriptions FROM rowmill.projects p JOIN rowmill.webhooks w USING (team) \
     WHERE p.project = counters.project) END";

/// A query that [`read_state`] reads the rows of.
fn select_states(subscriptions: &str, condition: &str) -> String {
    format!(
        "SELECT project, id, version, row_count, next_position, change_seq, lookup_slots, tally, tallied_at, \
         trashed_count, {subscriptions} \
         FROM rowmill.counters {condition}"
    )
}

pub(crate) async fn state(tx: &mut Tx, id: ProjectId) -> Result<Option<State>> {
    let found = tx.query(&STATE_OF_ONE, &[&id.uuid()]).await?;
    found.first().map(read_state).transpose()
}

/// The states of those of these projects that exist.
pub(crate) async fn states(database: &Database, ids: Vec<Uuid>) -> Result<Vec<State>> {
    let found = database.ask(&STATES_OF_SOME, &[&ids]).await?;
    found.iter().map(read_state).collect()
}

pub(crate) async fn existing(tx: &mut Tx, id: ProjectId) -> Result<State> {
    state(tx, id).await?.ok_or(StoreError::UnknownProject)
}

/// What to do about a project that another transaction changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Busy {
    Wait,
    Skip,
}

/// Locks projects for this transaction, always in the order of their ids, so that no two transactions deadlock.
/// Deleted projects are left out.
pub(crate) async fn lock(tx: &mut Tx, ids: &[ProjectId], busy: Busy) -> Result<Vec<State>> {
    Ok(lock_and_query(tx, ids, busy, &[]).await?.0)
}

/// Locks projects and runs more queries in the same round trip. These see everything that was committed before the
/// projects were locked: in READ COMMITTED, each statement sees what was committed before it begins.
pub(crate) async fn lock_and_query(
    tx: &mut Tx,
    ids: &[ProjectId],
    busy: Busy,
    more: &[(&'static str, &[&(dyn ToSql + Sync)])],
) -> Result<(Vec<State>, Vec<Vec<Row>>)> {
    let ids: Vec<Uuid> = ids.iter().map(|id| id.uuid()).collect();
    let sql: &'static str = match busy {
        Busy::Wait => &LOCK_AND_WAIT,
        Busy::Skip => &LOCK_OR_SKIP,
    };
    let locking: [&(dyn ToSql + Sync); 1] = [&ids];
    let mut questions: Vec<(&'static str, &[&(dyn ToSql + Sync)])> = vec![(sql, &locking)];
    questions.extend(more);
    let mut answers = tx.queries(&questions).await?;
    let rest = answers.split_off(1);
    Ok((answers.iter().flatten().map(read_state).collect::<Result<_>>()?, rest))
}

/// Locks one project that must exist.
pub(crate) async fn lock_one(tx: &mut Tx, id: ProjectId) -> Result<State> {
    lock(tx, &[id], Busy::Wait).await?.pop().ok_or(StoreError::UnknownProject)
}

/// Locks a project that must exist and be at this version.
pub(crate) async fn lock_at(tx: &mut Tx, id: ProjectId, version: u64) -> Result<State> {
    let state = lock_one(tx, id).await?;
    if state.version == version { Ok(state) } else { Err(StoreError::Stale) }
}

fn read_state(row: &Row) -> Result<State> {
    Ok(State {
        num: row.get(0),
        id: ProjectId::from_uuid(row.get(1)),
        version: unsigned(row.get(2)),
        row_count: unsigned(row.get(3)),
        next_position: unsigned(row.get(4)),
        change_seq: unsigned(row.get(5)),
        lookup_slots: row.get::<_, Vec<i64>>(6).into_iter().map(narrow).collect::<Result<_>>()?,
        tally: row.get(7),
        tallied_at_ms: row.get(8),
        trashed_count: unsigned(row.get(9)),
        subscriptions: row.get(10),
    })
}

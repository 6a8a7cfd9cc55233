//! Loads what a change of rows needs, in few round trips. [`rowmill_store::changes`] decides, and the result is applied
//! together with the commit (`apply.rs`).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rowmill_model::documents::write_tally;
use rowmill_model::plan::{Plan, PlanChange, Tally, block_of, position_of};
use rowmill_model::record::Slot;
use rowmill_model::{Project, ProjectId, RowId};
use rowmill_store::changes::{CellClaim, Finished, Look, PartRow, ProjectAtStart, RowChanges};
use rowmill_store::{Change, Result, StoreError};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::claimed_rows::{ClaimedRows, VersionedRow};
use crate::convert::{narrow, signed, unexpected_answer, unsigned};
use crate::documents::{self, Documents};
use crate::project_state::{self, Busy, State};
use crate::row_version::RowVersion;
use crate::stored_rows::{part_columns, part_row};
use crate::transaction::Tx;
use crate::wide_values::{self, joined, listed};
use crate::{apply, ended_runs, ledger, webhooks};

/// Rows in runs of positions: neighbours are found at the cost of one. OFFSET keeps the planner from going over all
/// rows of a project and comparing each with the runs.
const ROWS_AT: &str = concat!(
    "SELECT ",
    part_columns!(),
    ", r.xmin FROM unnest($2::int8[], $3::int8[]) run (first, last) \
     CROSS JOIN LATERAL (SELECT position, id, vals, details, wide, wide_bytes, xmin FROM rowmill.rows \
     WHERE project = $1 AND position BETWEEN run.first AND run.last OFFSET 0) r"
);
const BLOCKS_AT: &str = "SELECT block, marks FROM rowmill.blocks WHERE project = $1 AND block = ANY($2)";
const CLAIMS_AT: &str = "SELECT token, worker, slot, block, places FROM rowmill.claims \
     WHERE project = $1 AND block = ANY($2)";

/// How many blocks' rows are read at once to find out whether results are stale.
const REFRESHED_BLOCKS: usize = 16;

/// A project, locked by the transaction that changes its rows.
pub(crate) struct OpenProject {
    pub(crate) state: State,
    pub(crate) changes: RowChanges<RowVersion>,
}

impl OpenProject {
    /// Opens a project as it is stored.
    pub(crate) async fn open(tx: &mut Tx, documents: &Documents, state: State) -> Result<Self> {
        let parsed = documents::planned(tx, documents, &state).await?;
        Self::with(state, parsed.project, parsed.plan)
    }

    /// Opens a project that this transaction saves: the document is written and the version moves on.
    pub(crate) fn open_saved(tx: &mut Tx, mut state: State, project: Project) -> Result<Self> {
        documents::write_document(tx, state.num, &project)?;
        state.version += 1;
        let plan = Arc::new(Plan::of(&project));
        Self::with(state, Arc::new(project), plan)
    }

    fn with(state: State, project: Arc<Project>, plan: Arc<Plan>) -> Result<Self> {
        let mut changes = RowChanges::new(ProjectAtStart {
            project,
            plan,
            row_count: state.row_count,
            next_position: state.next_position,
            change_seq: state.change_seq,
            lookup_slots: state.lookup_slots.clone(),
            trashed_count: state.trashed_count,
            subscribed: webhooks::subscribed(state.subscriptions.as_deref())?,
        });
        changes.open_tally(state.tally.clone());
        Ok(Self { state, changes })
    }

    pub(crate) fn num(&self) -> i64 {
        self.state.num
    }

    /// Loads rows and blocks that are not loaded yet.
    pub(crate) async fn load(
        &mut self,
        tx: &mut Tx,
        positions: impl IntoIterator<Item = u64>,
        blocks: impl IntoIterator<Item = u64>,
    ) -> Result<()> {
        let is_missing = |position: &u64| !self.changes.has_row(*position);
        let positions: BTreeSet<u64> = positions.into_iter().filter(is_missing).collect();
        let (firsts, lasts) = runs_of(positions.iter().copied());
        let is_closed = |block: &u64| !self.changes.is_block_open(*block);
        let blocks: BTreeSet<i64> = blocks.into_iter().filter(is_closed).map(signed).collect();
        let blocks: Vec<i64> = blocks.into_iter().collect();
        if positions.is_empty() && blocks.is_empty() {
            return Ok(());
        }
        let num = self.num();
        let answers = tx
            .queries(&[
                (ROWS_AT, &[&num, &firsts, &lasts]),
                (BLOCKS_AT, &[&num, &blocks]),
                (CLAIMS_AT, &[&num, &blocks]),
            ])
            .await?;
        self.take(&answers, blocks.into_iter().map(unsigned))
    }

    /// Takes the answers to [`ROWS_AT`], [`BLOCKS_AT`] and [`CLAIMS_AT`].
    fn take(&mut self, answers: &[Vec<Row>], blocks: impl IntoIterator<Item = u64>) -> Result<()> {
        let [rows, marks, claims] = answers else { return Err(unexpected_answer()) };
        for row in rows {
            self.changes.know(part_row(row)?, row.get(6))?;
        }
        self.take_blocks(marks, claims)?;
        blocks.into_iter().try_for_each(|block| self.changes.open_block(block, Vec::new()))
    }

    /// Takes block and marks; token, worker, slot, block and places.
    pub(crate) fn take_blocks<'a>(
        &mut self,
        marks: impl IntoIterator<Item = &'a Row>,
        claims: impl IntoIterator<Item = &'a Row>,
    ) -> Result<()> {
        for row in marks {
            self.changes.open_block(unsigned(row.get(0)), row.get(1))?;
        }
        for row in claims {
            let claim = CellClaim {
                worker: row.get(1),
                slot: narrow(row.get(2))?,
                block: unsigned(row.get(3)),
                places: row.get::<_, &[u8]>(4).iter().copied().collect(),
            };
            self.changes.open_claim(unsigned(row.get(0)), claim);
        }
        Ok(())
    }

    /// Loads rows by id.
    pub(crate) async fn load_ids(&mut self, tx: &mut Tx, ids: &[RowId]) -> Result<()> {
        let ids: Vec<Uuid> = ids.iter().map(|id| id.uuid()).collect();
        let sql = concat!(
            "SELECT ",
            part_columns!(),
            ", r.xmin FROM rowmill.rows r WHERE r.project = $1 AND r.id = ANY($2)"
        );
        for row in &tx.query(sql, &[&self.num(), &ids]).await? {
            self.changes.know_by_id(part_row(row)?, row.get(6))?;
        }
        Ok(())
    }

    /// Loads of loaded rows what is looked at, if it lies apart.
    pub(crate) async fn load_values(&mut self, tx: &mut Tx, looks: &[(u64, Look<'_>)]) -> Result<()> {
        let mut unread: BTreeSet<(u64, Slot)> = BTreeSet::new();
        for (position, look) in looks {
            let slots = self.changes.unread_at(*position, *look).into_iter();
            unread.extend(slots.map(|slot| (*position, slot)));
        }
        let unread: Vec<(u64, Slot)> = unread.into_iter().collect();
        for (position, slot, text) in wide_values::read(tx, self.num(), &unread).await? {
            self.changes.fill(position, slot, text)?;
        }
        Ok(())
    }

    /// Loads of rows that are to be deleted what that needs, with their blocks.
    pub(crate) async fn load_for_deletion(&mut self, tx: &mut Tx, ids: &[RowId]) -> Result<()> {
        let uuids: Vec<Uuid> = ids.iter().map(|id| id.uuid()).collect();
        let matched = self.changes.matched_slots();
        let sql = "SELECT position, id, xmin, octet_length(vals) + coalesce(wide_bytes, 0), \
                   CASE WHEN $4 THEN vals END, \
                   CASE WHEN $4 AND wide IS NOT NULL THEN rowmill.wide_of(project, position, wide, $3) END \
                   FROM rowmill.rows WHERE project = $1 AND id = ANY($2)";
        let by_value = self.changes.deletes_by_value();
        for row in &tx.query(sql, &[&self.num(), &uuids, &listed(&matched), &by_value]).await? {
            let (id, position) = (RowId::from_uuid(row.get(1)), unsigned(row.get(0)));
            let value_bytes = usize::try_from(row.get::<_, i64>(3)).unwrap_or_default();
            let near = row.get::<_, Option<&[u8]>>(4);
            let values = near.map(|near| joined(near, row.get(5), &matched)).transpose()?;
            self.changes.know_for_deletion((id, position), values.as_ref(), value_bytes, row.get(2))?;
        }
        let blocks: Vec<u64> = ids.iter().filter_map(|id| self.changes.position(*id)).map(block_of).collect();
        self.load(tx, [], blocks).await
    }

    /// Loads a run of blocks that have marks, `most` of them; says which.
    pub(crate) async fn load_blocks_from(&mut self, tx: &mut Tx, first: u64, most: u64) -> Result<Vec<u64>> {
        let sql = "SELECT block, marks FROM rowmill.blocks WHERE project = $1 AND block >= $2 \
                   ORDER BY block LIMIT $3";
        let marks = tx.query(sql, &[&self.num(), &signed(first), &signed(most)]).await?;
        let blocks: Vec<u64> = marks.iter().map(|row| unsigned(row.get(0))).collect();
        let (Some(first), Some(last)) = (blocks.first(), blocks.last()) else { return Ok(blocks) };
        let sql = "SELECT token, worker, slot, block, places FROM rowmill.claims \
                   WHERE project = $1 AND block BETWEEN $2 AND $3";
        let claims = tx.query(sql, &[&self.num(), &signed(*first), &signed(*last)]).await?;
        self.take_blocks(&marks, &claims)?;
        Ok(blocks)
    }

    /// Goes over every block after the columns changed. Where columns came back from the trash, it finds out whether the
    /// results of `refreshed` are stale.
    pub(crate) async fn replan(
        &mut self,
        tx: &mut Tx,
        change: &PlanChange,
        refreshed: &[Slot],
    ) -> Result<()> {
        self.changes.begin_replan(change)?;
        let blocks = self.load_blocks_from(tx, 0, u64::MAX >> 1).await?;
        self.changes.replan_loaded(change)?;
        self.changes.end_replan();
        let some = if refreshed.is_empty() { &[][..] } else { blocks.as_slice() };
        for blocks in some.chunks(REFRESHED_BLOCKS) {
            let firsts: Vec<i64> = blocks.iter().map(|block| signed(position_of(*block, 0))).collect();
            let lasts: Vec<i64> = blocks.iter().map(|block| signed(position_of(*block, u8::MAX))).collect();
            let found = tx.query(ROWS_AT, &[&self.num(), &firsts, &lasts]).await?;
            let mut rows = found.iter().map(part_row).collect::<Result<Vec<PartRow>>>()?;
            self.complete(tx, &mut rows, Look::Refresh(refreshed)).await?;
            rows.iter().try_for_each(|row| self.changes.refresh(row, refreshed))?;
        }
        Ok(())
    }

    /// Reads of rows that are not loaded what is looked at, if it lies apart.
    pub(crate) async fn complete(&self, tx: &mut Tx, rows: &mut [PartRow], look: Look<'_>) -> Result<()> {
        let mut unread = Vec::new();
        for row in rows.iter() {
            unread.extend(self.changes.unread(row, look).into_iter().map(|slot| (row.position, slot)));
        }
        let found = wide_values::read(tx, self.num(), &unread).await?;
        let mut by_position: BTreeMap<u64, Vec<(Slot, Arc<str>)>> = BTreeMap::new();
        for (position, slot, text) in found {
            by_position.entry(position).or_default().push((slot, text));
        }
        for row in rows {
            let values = by_position.remove(&row.position).into_iter().flatten();
            values.into_iter().try_for_each(|(slot, text)| row.fill(slot, text))?;
        }
        Ok(())
    }

    /// Adds all writes to the transaction, and returns the change to tell listeners. Without a time, the time of the
    /// counts stays.
    pub(crate) fn finish(self, tx: &mut Tx, now_ms: impl Into<Option<i64>>) -> Result<Change> {
        let Self { mut state, changes } = self;
        let now_ms = now_ms.into();
        // Without a time, the last one that is known.
        let at_ms = now_ms.or(state.tallied_at_ms).unwrap_or_default();
        let (team, project) = (changes.project.team, changes.project.id);
        let finished = changes.finish(at_ms)?;
        let Finished { mut writes, row_count, next_position, value_bytes_change, trashed_count, .. } =
            finished;
        let Finished { lookup_slots, tally, ended_runs: runs, change, .. } = finished;
        (state.row_count, state.next_position) = (row_count, next_position);
        state.trashed_count = trashed_count;
        (state.lookup_slots, state.change_seq) = (lookup_slots, change.seq);
        if tally.is_some() || now_ms.is_some() {
            state.tallied_at_ms = now_ms.or(state.tallied_at_ms).or(Some(0));
        }
        state.tally = tally.or(state.tally.take());
        if state.tally.is_none() && state.tallied_at_ms.is_some() {
            // The time is kept with the counts, wherever they are moved to.
            let none = write_tally(&Tally::default());
            state.tally = Some(none.map_err(|error| StoreError::Damaged(error.to_string()))?);
        }
        runs.iter().try_for_each(|run| ended_runs::keep(tx, state.num, run))?;
        webhooks::add(tx, team, std::mem::take(&mut writes.deliveries));
        ledger::add(tx, team, project, &writes.ledger);
        apply::writes(tx, &state, value_bytes_change, writes);
        Ok(change)
    }
}

/// All projects that one transaction is about.
pub(crate) struct OpenProjects(pub(crate) BTreeMap<ProjectId, OpenProject>);

impl OpenProjects {
    pub(crate) async fn open(tx: &mut Tx, documents: &Documents, states: Vec<State>) -> Result<Self> {
        let mut projects = BTreeMap::new();
        for state in states {
            projects.insert(state.id, OpenProject::open(tx, documents, state).await?);
        }
        Ok(Self(projects))
    }

    /// Locks projects and loads these rows of them, as they are known or else read: in one round trip where it is one
    /// project whose number is known. `lacks` says of a known row whether it lacks a value that is looked at. Says which
    /// version the rows have that are written.
    pub(crate) async fn open_at(
        tx: &mut Tx,
        documents: &Documents,
        claimed: &ClaimedRows,
        positions: &BTreeMap<ProjectId, BTreeSet<u64>>,
        lacks: &(dyn Fn(&OpenProject, &PartRow) -> bool + Sync),
    ) -> Result<(Self, RowVersion)> {
        let ids: Vec<ProjectId> = positions.keys().copied().collect();
        let mut known: BTreeMap<ProjectId, Vec<VersionedRow>> =
            positions.iter().map(|(id, rows)| (*id, claimed.take(*id, rows.iter().copied()))).collect();
        let num = match ids.as_slice() {
            [one] => documents.num(*one),
            _ => None,
        };
        let Some(num) = num else {
            let (states, mut answers) =
                project_state::lock_and_query(tx, &ids, Busy::Wait, &[(RowVersion::OF_WRITTEN, &[])]).await?;
            let version = RowVersion::read(answers.pop())?;
            let mut projects = Self::open(tx, documents, states).await?;
            projects.know(&mut known, lacks)?;
            for (project, open) in &mut projects.0 {
                let rows = positions.get(project).into_iter().flatten().copied();
                open.load(tx, rows.clone(), rows.map(block_of)).await?;
            }
            return Ok((projects, version));
        };
        let rows = positions.values().flatten().copied();
        let blocks: BTreeSet<u64> = rows.clone().map(block_of).collect();
        let at_hand: BTreeSet<u64> = known.values().flatten().map(|(row, _)| row.position).collect();
        let (firsts, lasts) = runs_of(rows.filter(|position| !at_hand.contains(position)));
        let asked: Vec<i64> = blocks.iter().copied().map(signed).collect();
        let (states, mut answers) = project_state::lock_and_query(
            tx,
            &ids,
            Busy::Wait,
            &[
                (ROWS_AT, &[&num, &firsts, &lasts]),
                (BLOCKS_AT, &[&num, &asked]),
                (CLAIMS_AT, &[&num, &asked]),
                (RowVersion::OF_WRITTEN, &[]),
            ],
        )
        .await?;
        let version = RowVersion::read(answers.pop())?;
        let mut projects = Self::open(tx, documents, states).await?;
        projects.know(&mut known, lacks)?;
        for open in projects.0.values_mut() {
            open.take(&answers, blocks.iter().copied())?;
            open.load(tx, at_hand.iter().copied(), []).await?;
        }
        Ok((projects, version))
    }

    /// Takes rows that were known before. One that lacks a value is read anew: what is read now may not go with a row that
    /// was read earlier.
    fn know(
        &mut self,
        known: &mut BTreeMap<ProjectId, Vec<VersionedRow>>,
        lacks: &(dyn Fn(&OpenProject, &PartRow) -> bool + Sync),
    ) -> Result<()> {
        for (project, open) in &mut self.0 {
            for (row, version) in known.remove(project).into_iter().flatten() {
                if !lacks(open, &row) {
                    open.changes.know(row, version)?;
                }
            }
        }
        Ok(())
    }

    /// Drops the projects in which nothing changed, so that they are not written.
    pub(crate) fn retain_touched(&mut self) {
        self.0.retain(|_, open| open.changes.is_touched());
    }

    pub(crate) fn finish(self, tx: &mut Tx, now_ms: impl Into<Option<i64>> + Copy) -> Result<Vec<Change>> {
        self.0.into_values().map(|open| open.finish(tx, now_ms)).collect()
    }
}

/// Where runs of neighbouring positions begin and end. The positions must be in order.
fn runs_of(positions: impl IntoIterator<Item = u64>) -> (Vec<i64>, Vec<i64>) {
    let (mut firsts, mut lasts) = (Vec::new(), Vec::<i64>::new());
    for position in positions.into_iter().map(signed) {
        match lasts.last_mut() {
            Some(last) if *last + 1 == position => *last = position,
            _ => {
                firsts.push(position);
                lasts.push(position);
            }
        }
    }
    (firsts, lasts)
}

//! Rows in the trash: deleted, listed, restored, emptied and swept up.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use rowmill_model::plan::{Block, block_of, place_of, position_of};
use rowmill_model::{Deletion, KeyId, ProjectId, RowId};
use rowmill_store::changes::{Look, PartRow, Places, RawRow, TrashEntry};
use rowmill_store::{Change, Restored, Result, SWEEP_ENTRIES, TrashPage, TrashPlace, TrashedRow};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::convert::{signed, unexpected_answer, unsigned};
use crate::documents::Documents;
use crate::project_state;
use crate::row_changes::OpenProject;
use crate::stored_rows::{part_columns, part_row, raw_row, row_columns};
use crate::transaction::Tx;

const MARKS_AT: &str = "SELECT block, marks FROM rowmill.blocks WHERE project = $1 AND block = ANY($2)";
const ENTRIES_AT: &str = "SELECT batch, block, places, deleted_at, deleted_by FROM rowmill.trash \
     WHERE project = $1 AND block = ANY($2)";

/// Moves rows to the trash.
pub(crate) async fn trash(
    tx: &mut Tx,
    documents: &Documents,
    project: ProjectId,
    rows: &[RowId],
    deletion: Deletion,
) -> Result<(u64, Vec<Change>)> {
    let state = project_state::lock_one(tx, project).await?;
    let mut open = OpenProject::open(tx, documents, state).await?;
    open.load_for_deletion(tx, rows).await?;
    let positions: Vec<u64> = rows.iter().filter_map(|row| open.changes.position(*row)).collect();
    load_trash(tx, &mut open, &positions, false).await?;
    let mut deleted = 0_u64;
    for row in rows {
        // A row that is named twice is gone the second time.
        let Some(position) = open.changes.position(*row) else { continue };
        open.changes.trash(position, deletion)?;
        deleted += 1;
    }
    Ok((deleted, vec![open.finish(tx, None)?]))
}

/// Loads what of these rows' blocks is in the trash: the marks, and the entries where rows are to come back.
async fn load_trash(
    tx: &mut Tx,
    open: &mut OpenProject,
    positions: &[u64],
    with_entries: bool,
) -> Result<()> {
    let blocks: BTreeSet<u64> = positions.iter().copied().map(block_of).collect();
    let asked: Vec<i64> = blocks.iter().copied().map(signed).collect();
    let (num, trash_num) = (open.num(), -open.num());
    let none: Vec<i64> = Vec::new();
    let wanted = if with_entries { &asked } else { &none };
    let answers = tx.queries(&[(MARKS_AT, &[&trash_num, &asked]), (ENTRIES_AT, &[&num, wanted])]).await?;
    let [marks, entries] = answers.as_slice() else { return Err(unexpected_answer()) };
    let mut marks: HashMap<u64, Vec<u8>> =
        marks.iter().map(|row| (unsigned(row.get(0)), row.get(1))).collect();
    let mut by_block: BTreeMap<u64, Vec<TrashEntry>> = BTreeMap::new();
    for row in entries {
        let entry = read_entry(row)?;
        by_block.entry(entry.block).or_default().push(entry);
    }
    for block in blocks {
        let entries = by_block.remove(&block).unwrap_or_default();
        open.changes.open_trash(block, marks.remove(&block).unwrap_or_default(), entries)?;
    }
    Ok(())
}

fn read_entry(row: &Row) -> Result<TrashEntry> {
    Ok(TrashEntry {
        batch: unsigned(row.get(0)),
        block: unsigned(row.get(1)),
        places: Places::from_bytes(row.get(2))?,
        deletion: Deletion { at_ms: row.get(3), by: row.get::<_, Option<Uuid>>(4).map(KeyId::from_uuid) },
    })
}

/// Brings rows back.
pub(crate) async fn restore(
    tx: &mut Tx,
    documents: &Documents,
    project: ProjectId,
    rows: &[RowId],
    now_ms: i64,
) -> Result<(Restored, Vec<Change>)> {
    let state = project_state::lock_one(tx, project).await?;
    let mut open = OpenProject::open(tx, documents, state).await?;
    let uuids: Vec<Uuid> = rows.iter().map(|row| row.uuid()).collect();
    let sql =
        concat!("SELECT ", part_columns!(), " FROM rowmill.rows r WHERE r.project = $1 AND r.id = ANY($2)");
    let found = tx.query(sql, &[&-open.num(), &uuids]).await?;
    let mut found = found.iter().map(part_row).collect::<Result<Vec<PartRow>>>()?;
    open.complete(tx, &mut found, Look::Restore).await?;
    let positions: Vec<u64> = found.iter().map(|row| row.position).collect();
    load_trash(tx, &mut open, &positions, true).await?;
    open.load(tx, [], positions.iter().copied().map(block_of)).await?;
    let mut guests = PastGuests::load(tx, open.num(), &positions).await?;
    let by_id: HashMap<RowId, PartRow> = found.into_iter().map(|row| (row.id, row)).collect();
    let mut restored = Restored::default();
    let mut seen = HashSet::new();
    for id in rows {
        let Some(row) = by_id.get(id).filter(|row| open.changes.is_trashed(row.position)) else { continue };
        if !seen.insert(*id) {
            continue;
        }
        if !guests.take_back(row.position) {
            restored.guests_elsewhere.push(*id);
            continue;
        }
        open.changes.restore(row)?;
        restored.rows += 1;
    }
    if restored.rows == 0 {
        return Ok((restored, Vec::new()));
    }
    guests.write(tx, open.num());
    Ok((restored, vec![open.finish(tx, now_ms)?]))
}

/// The guests whose rows are to come back, and where their other rows are.
struct PastGuests {
    /// By position: the guest, the position of the row the guest has now, and whether that row is there.
    known: HashMap<u64, (String, u64, bool)>,
    /// By guest, which row is theirs again, and which was.
    taken: BTreeMap<String, (u64, u64)>,
    /// The rows that come back.
    back: HashSet<u64>,
}

impl PastGuests {
    async fn load(tx: &mut Tx, num: i64, positions: &[u64]) -> Result<Self> {
        let positions: Vec<i64> = positions.iter().copied().map(signed).collect();
        let sql = "SELECT p.position, g.guest_id, g.position, r.position IS NOT NULL FROM rowmill.past_guests p \
                   JOIN rowmill.guests g ON g.project = p.project AND g.guest_id = p.guest_id \
                   LEFT JOIN rowmill.rows r ON r.project = p.project AND r.position = g.position \
                   WHERE p.project = $1 AND p.position = ANY($2)";
        let found = tx.query(sql, &[&num, &positions]).await?;
        let known = found
            .iter()
            .map(|row| (unsigned(row.get(0)), (row.get(1), unsigned(row.get(2)), row.get(3))))
            .collect();
        Ok(Self { known, taken: BTreeMap::new(), back: HashSet::new() })
    }

    /// Makes a row its guest's again, if it was one's and the guest has no other; says whether it may come back.
    fn take_back(&mut self, position: u64) -> bool {
        match self.known.get(&position) {
            Some((guest, other, is_there)) => {
                if *is_there || self.back.contains(other) || self.taken.contains_key(guest) {
                    return false;
                }
                self.taken.insert(guest.clone(), (position, *other));
            }
            // Another row of its guest may have come back a moment ago.
            None if self.taken.values().any(|(_, other)| *other == position) => return false,
            None => {}
        }
        self.back.insert(position)
    }

    fn write(self, tx: &mut Tx, num: i64) {
        if self.taken.is_empty() {
            return;
        }
        let (guests, places): (Vec<String>, Vec<(u64, u64)>) = self.taken.into_iter().unzip();
        let (back, past): (Vec<i64>, Vec<i64>) =
            places.into_iter().map(|(back, past)| (signed(back), signed(past))).unzip();
        tx.at_last(
            "DELETE FROM rowmill.past_guests WHERE project = $1 AND position = ANY($2)",
            vec![Box::new(num), Box::new(back.clone())],
        );
        tx.at_last(
            "UPDATE rowmill.guests g SET position = new.position \
             FROM unnest($2::text[], $3::int8[]) new (guest_id, position) \
             WHERE g.project = $1 AND g.guest_id = new.guest_id",
            vec![Box::new(num), Box::new(guests.clone()), Box::new(back)],
        );
        keep_past_guests(tx, num, guests, past);
    }
}

/// Notes that rows were guests' who have others by now.
pub(crate) fn keep_past_guests(tx: &mut Tx, num: i64, guests: Vec<String>, positions: Vec<i64>) {
    if guests.is_empty() {
        return;
    }
    tx.at_last(
        "INSERT INTO rowmill.past_guests (project, guest_id, position) \
         SELECT $1, * FROM unnest($2::text[], $3::int8[]) ON CONFLICT DO NOTHING",
        vec![Box::new(num), Box::new(guests), Box::new(positions)],
    );
}

/// A page of a project's trash, the last deleted rows first.
pub(crate) async fn page(
    tx: &mut Tx,
    project: ProjectId,
    after: Option<TrashPlace>,
    limit: u32,
    bytes_max: usize,
) -> Result<TrashPage> {
    let state = project_state::existing(tx, project).await?;
    let mut page = TrashPage { total: state.trashed_count, ..TrashPage::default() };
    let last = TrashPlace { batch: i64::MAX.unsigned_abs(), position: i64::MAX.unsigned_abs() };
    let after = after.unwrap_or(last);
    // Every entry has a row, so as many entries are enough; the first may be told already.
    let sql = "SELECT batch, block, places, deleted_at, deleted_by FROM rowmill.trash \
               WHERE project = $1 AND (batch, block) <= ($2, $3) ORDER BY batch DESC, block DESC LIMIT $4";
    let most = i64::from(limit) + 2;
    let found =
        tx.query(sql, &[&state.num, &signed(after.batch), &signed(block_of(after.position)), &most]).await?;
    let mut places: Vec<(TrashPlace, Deletion)> = Vec::new();
    for row in &found {
        let TrashEntry { batch, block, places: in_block, deletion } = read_entry(row)?;
        let mut in_block: Vec<u8> = in_block.iter().collect();
        in_block.reverse();
        let place = |place| TrashPlace { batch, position: position_of(block, place) };
        let next = in_block.into_iter().map(place).filter(|place| *place < after);
        places.extend(next.map(|place| (place, deletion)));
    }
    page.more = places.len() > limit as usize;
    places.truncate(limit as usize);
    let mut bytes = 0_usize;
    for some in places.chunks(PAGE_ROWS) {
        let positions: Vec<i64> = some.iter().map(|(place, _)| signed(place.position)).collect();
        let sql = concat!(
            "SELECT ",
            row_columns!(),
            " FROM rowmill.rows r WHERE r.project = $1 AND r.position = ANY($2)"
        );
        let found = tx.query(sql, &[&-state.num, &positions]).await?;
        let rows: HashMap<u64, &Row> = found.iter().map(|row| (unsigned(row.get(0)), row)).collect();
        for (place, deletion) in some {
            if bytes >= bytes_max {
                page.more = true;
                return Ok(page);
            }
            let Some(row) = rows.get(&place.position) else { continue };
            let RawRow { id, values, .. } = raw_row(row)?;
            bytes = bytes.saturating_add(values.as_bytes().len());
            page.rows.push(TrashedRow { id, place: *place, values, deletion: *deletion });
        }
    }
    Ok(page)
}

/// Rows that are read at once.
const PAGE_ROWS: usize = 50;

/// Empties a project's trash: nobody sees its rows any more, and they are swept up later.
pub(crate) async fn empty(tx: &mut Tx, project: ProjectId) -> Result<u64> {
    let state = project_state::lock_one(tx, project).await?;
    for sql in [
        "UPDATE rowmill.trash SET project = -project, deleted_at = 0 WHERE project = $1",
        "UPDATE rowmill.counters SET trashed_count = 0 WHERE project = $1",
    ] {
        tx.at_last(sql, vec![Box::new(state.num)]);
    }
    Ok(state.trashed_count)
}

/// Removes some of the rows of one project that were deleted at a time or before. Says whether there were any.
pub(crate) async fn sweep_some(tx: &mut Tx, until_ms: i64) -> Result<bool> {
    let sql = "SELECT c.id FROM rowmill.trash t JOIN rowmill.counters c ON c.project = abs(t.project) \
               WHERE t.deleted_at <= $1 ORDER BY t.deleted_at LIMIT 1";
    let found = tx.query(sql, &[&until_ms]).await?;
    let Some(project) = found.first().map(|row| ProjectId::from_uuid(row.get(0))) else { return Ok(false) };
    // Whoever brings rows back, or sweeps on another node, has the lock.
    let state = project_state::lock_one(tx, project).await?;
    let sql = "DELETE FROM rowmill.trash WHERE (project, batch, block) IN (SELECT project, batch, block \
               FROM rowmill.trash WHERE project IN ($1, -$1::int8) AND deleted_at <= $2 ORDER BY deleted_at LIMIT $3) \
               RETURNING project, block, places";
    let swept = tx.query(sql, &[&state.num, &until_ms, &i64::from(SWEEP_ENTRIES)]).await?;
    let mut by_block: BTreeMap<u64, Vec<Places>> = BTreeMap::new();
    let mut counted = 0;
    for row in &swept {
        let places = Places::from_bytes(row.get(2))?;
        by_block.entry(unsigned(row.get(1))).or_default().push(places);
        // What was emptied out is not counted any more.
        if row.get::<_, i64>(0) > 0 {
            counted += signed(places.count());
        }
    }
    let blocks: Vec<i64> = by_block.keys().copied().map(signed).collect();
    let stored = tx.query(MARKS_AT, &[&-state.num, &blocks]).await?;
    let mut marks: HashMap<u64, Block> = HashMap::new();
    for row in &stored {
        marks.insert(unsigned(row.get(0)), Block::decode(row.get(1))?);
    }
    let mut positions: Vec<i64> = Vec::new();
    for (block, places) in by_block {
        for position in places.into_iter().flat_map(Places::iter).map(|place| position_of(block, place)) {
            positions.push(signed(position));
            if let Some(marks) = marks.get_mut(&block) {
                marks.clear(place_of(position));
            }
        }
    }
    write_marks(tx, -state.num, marks);
    for sql in [
        "DELETE FROM rowmill.rows WHERE project = -$1::int8 AND position = ANY($2)",
        "DELETE FROM rowmill.wide_values WHERE project = $1 AND position = ANY($2)",
        "DELETE FROM rowmill.past_guests WHERE project = $1 AND position = ANY($2)",
    ] {
        tx.at_last(sql, vec![Box::new(state.num), Box::new(positions.clone())]);
    }
    tx.at_last(
        "UPDATE rowmill.counters SET trashed_count = greatest(trashed_count - $2, 0) WHERE project = $1",
        vec![Box::new(state.num), Box::new(counted)],
    );
    Ok(true)
}

fn write_marks(tx: &mut Tx, num: i64, marks: HashMap<u64, Block>) {
    for (block, marks) in marks {
        let marks = marks.encode();
        if marks.is_empty() {
            tx.at_last(
                "DELETE FROM rowmill.blocks WHERE project = $1 AND block = $2",
                vec![Box::new(num), Box::new(signed(block))],
            );
        } else {
            tx.at_last(
                "UPDATE rowmill.blocks SET marks = $3 WHERE project = $1 AND block = $2",
                vec![Box::new(num), Box::new(signed(block)), Box::new(marks)],
            );
        }
    }
}

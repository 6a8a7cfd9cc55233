//! Applying a write set: one statement a table, left with the transaction and sent together with the commit.

use std::collections::BTreeMap;
use std::error::Error;

use bytes::{BufMut as _, BytesMut};
use rowmill_model::cell::Details;
use rowmill_model::record::Slot;
use rowmill_model::{KeyId, Record};
use rowmill_store::RowWrite;
use rowmill_store::changes::{CellClaim, Places, TrashEntry, WriteSet};
use tokio_postgres::types::{IsNull, ToSql, Type, accepts, to_sql_checked};
use uuid::Uuid;

use crate::convert::signed;
use crate::copy::{self, Copied};
use crate::project_state::State;
use crate::row_version::RowVersion;
use crate::transaction::{Param, Tx};
use crate::wide_values::WideArrays;

/// Writes over rows, and fails if one is not as it was known. They are there: whoever deletes a row takes its cells
/// away from those who run them.
const UPDATE_ROWS: &str = "UPDATE rowmill.rows r SET details = new.details, \
     wide = new.wide, wide_bytes = new.wide_bytes, \
     vals = CASE WHEN r.xmin = new.version THEN new.vals ELSE rowmill.moved_on()::text::bytea END \
     FROM unnest($2::int8[], $3::xid[], $4::bytea[], $5::bytea[], $6::bytea[], $7::int8[]) \
     new (position, version, vals, details, wide, wide_bytes) \
     WHERE r.project = $1 AND r.position = new.position";

/// Leaves everything with the transaction, the counters last. The bytes of values are counted on.
pub(crate) fn writes(tx: &mut Tx, state: &State, value_bytes_change: i64, writes: WriteSet<RowVersion>) {
    let mut apply = Apply { tx, num: state.num };
    apply.wide_values(&writes);
    apply.rows(writes.rows_inserted, writes.rows_updated, &writes.rows_deleted);
    apply.lookups(&writes.lookups);
    apply.live(&writes.live);
    apply.blocks(writes.blocks, &writes.blocks_deleted);
    apply.ready(writes.ready_anew, &writes.ready);
    apply.claims(&writes.claims_made, &writes.claims_changed, &writes.claims_deleted);
    apply.retries(&writes.retries_done, &writes.retries_made);
    apply.trash_rows(&writes.rows_trashed, &writes.rows_restored);
    apply.trash_marks(writes.trash_marks);
    apply.trash_entries(&writes.trash_made, &writes.trash_changed);
    apply.counters(state, value_bytes_change);
}

/// Rows as parallel lists.
struct RowArrays {
    positions: Vec<i64>,
    ids: Vec<Uuid>,
    vals: Vec<Packed<Record>>,
    details: Vec<Packed<Details>>,
    wide: Vec<Option<Vec<u8>>>,
    wide_bytes: Vec<Option<i64>>,
}

impl RowArrays {
    fn of(rows: Vec<RowWrite>) -> Self {
        let positions = rows.iter().map(|row| signed(row.position)).collect();
        let ids = rows.iter().map(|row| row.id.uuid()).collect();
        let wide = rows.iter().map(RowWrite::note).collect();
        let wide_bytes = rows.iter().map(RowWrite::wide_bytes).collect();
        let packed = |row: RowWrite| (Packed(row.near), Packed(row.details));
        let (vals, details) = rows.into_iter().map(packed).unzip();
        Self { positions, ids, vals, details, wide, wide_bytes }
    }
}

/// Something that is sent as the bytes it is made of, without a copy.
#[derive(Debug)]
struct Packed<T>(T);

trait AsBytes: std::fmt::Debug {
    /// `None` is sent as NULL.
    fn as_bytes(&self) -> Option<&[u8]>;
}

impl AsBytes for Record {
    fn as_bytes(&self) -> Option<&[u8]> {
        Some(Self::as_bytes(self))
    }
}

impl AsBytes for Details {
    fn as_bytes(&self) -> Option<&[u8]> {
        Self::as_bytes(self)
    }
}

impl<T: AsBytes> ToSql for Packed<T> {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        let Some(bytes) = self.0.as_bytes() else { return Ok(IsNull::Yes) };
        out.put_slice(bytes);
        Ok(IsNull::No)
    }

    accepts!(BYTEA);
    to_sql_checked!();
}

struct Apply<'t> {
    tx: &'t mut Tx,
    num: i64,
}

impl Apply<'_> {
    /// Leaves a statement whose first parameter is the project.
    fn at_last(&mut self, sql: &'static str, params: Vec<Param>) {
        let mut all: Vec<Param> = vec![Box::new(self.num)];
        all.extend(params);
        self.tx.at_last(sql, all);
    }

    /// Writes what is stored apart from rows.
    fn wide_values(&mut self, writes: &WriteSet<RowVersion>) {
        let mut arrays = WideArrays::default();
        let updated = writes.rows_updated.iter().map(|(row, _)| row);
        for row in writes.rows_inserted.iter().chain(updated).filter(|row| row.wide.is_some()) {
            arrays.push(row);
        }
        for (sql, params) in arrays.statements() {
            self.at_last(sql, params);
        }
    }

    fn rows(&mut self, inserted: Vec<RowWrite>, updated: Vec<(RowWrite, RowVersion)>, deleted: &[u64]) {
        if inserted.len() >= copy::ROWS_MIN {
            let mut copied = Copied::of(self.num);
            for row in inserted {
                copied.push(&row);
            }
            self.tx.copy_at_last(copy::ROWS, copied.finish());
        } else if !inserted.is_empty() {
            let RowArrays { positions, ids, vals, details, wide, wide_bytes } = RowArrays::of(inserted);
            let mut params: Vec<Param> = vec![Box::new(positions), Box::new(ids), Box::new(vals)];
            params.extend([Box::new(details) as Param, Box::new(wide), Box::new(wide_bytes)]);
            self.at_last(
                "INSERT INTO rowmill.rows (project, position, id, vals, details, wide, wide_bytes) \
                 SELECT $1, * FROM unnest($2::int8[], $3::uuid[], $4::bytea[], $5::bytea[], $6::bytea[], $7::int8[])",
                params,
            );
        }
        if !updated.is_empty() {
            let (rows, versions): (Vec<RowWrite>, Vec<RowVersion>) = updated.into_iter().unzip();
            let RowArrays { positions, ids: _, vals, details, wide, wide_bytes } = RowArrays::of(rows);
            let mut params: Vec<Param> = vec![Box::new(positions), Box::new(versions), Box::new(vals)];
            params.extend([Box::new(details) as Param, Box::new(wide), Box::new(wide_bytes)]);
            self.at_last(UPDATE_ROWS, params);
        }
        if !deleted.is_empty() {
            for sql in [
                "DELETE FROM rowmill.rows WHERE project = $1 AND position = ANY($2)",
                "DELETE FROM rowmill.wide_values WHERE project = $1 AND position = ANY($2)",
            ] {
                self.at_last(sql, vec![Box::new(all_signed(deleted))]);
            }
        }
    }

    fn trash_rows(&mut self, trashed: &[u64], restored: &[u64]) {
        for (positions, sql) in [
            (
                trashed,
                "UPDATE rowmill.rows SET project = -$1::int8 WHERE project = $1 AND position = ANY($2)",
            ),
            (
                restored,
                "UPDATE rowmill.rows SET project = $1 WHERE project = -$1::int8 AND position = ANY($2)",
            ),
        ] {
            if !positions.is_empty() {
                self.at_last(sql, vec![Box::new(all_signed(positions))]);
            }
        }
    }

    fn trash_marks(&mut self, marks: Vec<(u64, Vec<u8>)>) {
        let (gone, kept): (Vec<_>, Vec<_>) = marks.into_iter().partition(|(_, marks)| marks.is_empty());
        let mut trash = Apply { tx: &mut *self.tx, num: -self.num };
        trash.blocks(kept, &gone.into_iter().map(|(block, _)| block).collect::<Vec<u64>>());
    }

    fn trash_entries(&mut self, made: &[TrashEntry], changed: &[TrashEntry]) {
        let (gone, kept): (Vec<&TrashEntry>, Vec<&TrashEntry>) =
            changed.iter().partition(|entry| entry.places.is_empty());
        let keys = |entries: &[&TrashEntry]| -> (Vec<i64>, Vec<i64>) {
            entries.iter().map(|entry| (signed(entry.batch), signed(entry.block))).unzip()
        };
        let places = |entries: &[&TrashEntry]| -> Vec<Vec<u8>> {
            entries.iter().map(|entry| entry.places.to_bytes()).collect()
        };
        let made: Vec<&TrashEntry> = made.iter().collect();
        if !made.is_empty() {
            let (batches, blocks) = keys(&made);
            let times: Vec<i64> = made.iter().map(|entry| entry.deletion.at_ms).collect();
            let by: Vec<Option<Uuid>> = made.iter().map(|entry| entry.deletion.by.map(KeyId::uuid)).collect();
            self.at_last(
                "INSERT INTO rowmill.trash (project, batch, block, places, deleted_at, deleted_by) \
                 SELECT $1, * FROM unnest($2::int8[], $3::int8[], $4::bytea[], $5::int8[], $6::uuid[])",
                vec![
                    Box::new(batches),
                    Box::new(blocks),
                    Box::new(places(&made)),
                    Box::new(times),
                    Box::new(by),
                ],
            );
        }
        if !gone.is_empty() {
            let (batches, blocks) = keys(&gone);
            self.at_last(
                "DELETE FROM rowmill.trash t USING unnest($2::int8[], $3::int8[]) old (batch, block) \
                 WHERE t.project = $1 AND t.batch = old.batch AND t.block = old.block",
                vec![Box::new(batches), Box::new(blocks)],
            );
        }
        if !kept.is_empty() {
            let (batches, blocks) = keys(&kept);
            self.at_last(
                "UPDATE rowmill.trash t SET places = new.places \
                 FROM unnest($2::int8[], $3::int8[], $4::bytea[]) new (batch, block, places) \
                 WHERE t.project = $1 AND t.batch = new.batch AND t.block = new.block",
                vec![Box::new(batches), Box::new(blocks), Box::new(places(&kept))],
            );
        }
    }

    fn lookups(&mut self, lookups: &BTreeMap<(Slot, i64, u64), bool>) {
        for is_there in [false, true] {
            let some = || lookups.iter().filter(move |(_, there)| **there == is_there).map(|(key, _)| key);
            let slots: Vec<i64> = some().map(|(slot, ..)| i64::from(*slot)).collect();
            if slots.is_empty() {
                continue;
            }
            let hashes: Vec<i64> = some().map(|(_, hash, _)| *hash).collect();
            let positions: Vec<i64> = some().map(|(.., position)| signed(*position)).collect();
            let sql = if is_there {
                "INSERT INTO rowmill.lookups (project, slot, hash, position) \
                 SELECT $1, * FROM unnest($2::int8[], $3::int8[], $4::int8[]) ON CONFLICT DO NOTHING"
            } else {
                "DELETE FROM rowmill.lookups l \
                 USING unnest($2::int8[], $3::int8[], $4::int8[]) old (slot, hash, position) \
                 WHERE l.project = $1 AND l.slot = old.slot AND l.hash = old.hash AND l.position = old.position"
            };
            self.at_last(sql, vec![Box::new(slots), Box::new(hashes), Box::new(positions)]);
        }
    }

    fn live(&mut self, live: &[(i64, u64, i64)]) {
        if live.is_empty() {
            return;
        }
        let levels: Vec<i64> = live.iter().map(|(level, ..)| *level).collect();
        let segments: Vec<i64> = live.iter().map(|(_, segment, _)| signed(*segment)).collect();
        let counts: Vec<i64> = live.iter().map(|(.., count)| *count).collect();
        let has_fewer = counts.iter().any(|count| *count < 0);
        self.at_last(
            "INSERT INTO rowmill.live AS l (project, level, segment, count) \
             SELECT $1, * FROM unnest($2::int8[], $3::int8[], $4::int8[]) \
             ON CONFLICT (project, level, segment) DO UPDATE SET count = l.count + excluded.count",
            vec![Box::new(levels.clone()), Box::new(segments.clone()), Box::new(counts)],
        );
        // An empty run is forgotten, so that walking over many deleted rows stays cheap.
        if has_fewer {
            self.at_last(
                "DELETE FROM rowmill.live l USING unnest($2::int8[], $3::int8[]) run (level, segment) \
                 WHERE l.project = $1 AND l.level = run.level AND l.segment = run.segment AND l.count = 0",
                vec![Box::new(levels), Box::new(segments)],
            );
        }
    }

    fn blocks(&mut self, blocks: Vec<(u64, Vec<u8>)>, deleted: &[u64]) {
        if !blocks.is_empty() {
            let numbers: Vec<i64> = blocks.iter().map(|(block, _)| signed(*block)).collect();
            let marks: Vec<Vec<u8>> = blocks.into_iter().map(|(_, marks)| marks).collect();
            self.at_last(
                "INSERT INTO rowmill.blocks (project, block, marks) \
                 SELECT $1, * FROM unnest($2::int8[], $3::bytea[]) \
                 ON CONFLICT (project, block) DO UPDATE SET marks = excluded.marks",
                vec![Box::new(numbers), Box::new(marks)],
            );
        }
        if !deleted.is_empty() {
            self.at_last(
                "DELETE FROM rowmill.blocks WHERE project = $1 AND block = ANY($2)",
                vec![Box::new(all_signed(deleted))],
            );
        }
    }

    fn ready(&mut self, anew: bool, ready: &BTreeMap<(Slot, u64), bool>) {
        if anew {
            self.at_last("DELETE FROM rowmill.ready WHERE project = $1", Vec::new());
        }
        for is_there in [false, true] {
            let some = || ready.iter().filter(move |(_, there)| **there == is_there).map(|(key, _)| key);
            let slots: Vec<i64> = some().map(|(slot, _)| i64::from(*slot)).collect();
            if slots.is_empty() {
                continue;
            }
            let blocks: Vec<i64> = some().map(|(_, block)| signed(*block)).collect();
            let sql = if is_there {
                "INSERT INTO rowmill.ready (project, slot, block) SELECT $1, * FROM unnest($2::int8[], $3::int8[]) \
                 ON CONFLICT DO NOTHING"
            } else {
                "DELETE FROM rowmill.ready r USING unnest($2::int8[], $3::int8[]) old (slot, block) \
                 WHERE r.project = $1 AND r.slot = old.slot AND r.block = old.block"
            };
            self.at_last(sql, vec![Box::new(slots), Box::new(blocks)]);
        }
    }

    fn claims(&mut self, made: &[(u64, CellClaim)], changed: &[(u64, Places)], deleted: &[u64]) {
        let listed = |places: Places| places.iter().collect::<Vec<u8>>();
        if !made.is_empty() {
            let tokens: Vec<i64> = made.iter().map(|(token, _)| signed(*token)).collect();
            let workers: Vec<Uuid> = made.iter().map(|(_, claim)| claim.worker).collect();
            let slots: Vec<i64> = made.iter().map(|(_, claim)| claim.slot.into()).collect();
            let blocks: Vec<i64> = made.iter().map(|(_, claim)| signed(claim.block)).collect();
            let places: Vec<Vec<u8>> = made.iter().map(|(_, claim)| listed(claim.places)).collect();
            self.at_last(
                "INSERT INTO rowmill.claims (project, token, worker, slot, block, places) \
                 SELECT $1, * FROM unnest($2::int8[], $3::uuid[], $4::int8[], $5::int8[], $6::bytea[])",
                vec![
                    Box::new(tokens),
                    Box::new(workers),
                    Box::new(slots),
                    Box::new(blocks),
                    Box::new(places),
                ],
            );
        }
        if !changed.is_empty() {
            let tokens: Vec<i64> = changed.iter().map(|(token, _)| signed(*token)).collect();
            let places: Vec<Vec<u8>> = changed.iter().map(|(_, places)| listed(*places)).collect();
            self.at_last(
                "UPDATE rowmill.claims c SET places = new.places \
                 FROM unnest($2::int8[], $3::bytea[]) new (token, places) \
                 WHERE c.project = $1 AND c.token = new.token",
                vec![Box::new(tokens), Box::new(places)],
            );
        }
        if !deleted.is_empty() {
            self.at_last(
                "DELETE FROM rowmill.claims WHERE project = $1 AND token = ANY($2)",
                vec![Box::new(all_signed(deleted))],
            );
        }
    }

    fn retries(&mut self, done: &[(i64, Slot, u64)], made: &[(i64, Slot, u64)]) {
        for (retries, sql) in [
            (
                done,
                "DELETE FROM rowmill.retries r \
                 USING unnest($2::int8[], $3::int8[], $4::int8[]) old (at, slot, position) \
                 WHERE r.project = $1 AND r.at = old.at AND r.slot = old.slot AND r.position = old.position",
            ),
            (
                made,
                "INSERT INTO rowmill.retries (project, at, slot, position) \
                 SELECT $1, * FROM unnest($2::int8[], $3::int8[], $4::int8[]) ON CONFLICT DO NOTHING",
            ),
        ] {
            if retries.is_empty() {
                continue;
            }
            let at: Vec<i64> = retries.iter().map(|(at, ..)| *at).collect();
            let slots: Vec<i64> = retries.iter().map(|(_, slot, _)| i64::from(*slot)).collect();
            let positions: Vec<i64> = retries.iter().map(|(.., position)| signed(*position)).collect();
            self.at_last(sql, vec![Box::new(at), Box::new(slots), Box::new(positions)]);
        }
    }

    fn counters(&mut self, state: &State, value_bytes_change: i64) {
        let slots: Vec<i64> = state.lookup_slots.iter().map(|slot| i64::from(*slot)).collect();
        self.at_last(
            "UPDATE rowmill.counters SET version = $2, row_count = $3, next_position = $4, change_seq = $5, \
             lookup_slots = $6, tally = $7, tallied_at = $8, value_bytes = value_bytes + $9, trashed_count = $10 \
             WHERE project = $1",
            vec![
                Box::new(signed(state.version)),
                Box::new(signed(state.row_count)),
                Box::new(signed(state.next_position)),
                Box::new(signed(state.change_seq)),
                Box::new(slots),
                Box::new(state.tally.clone()),
                Box::new(state.tallied_at_ms),
                Box::new(value_bytes_change),
                Box::new(signed(state.trashed_count)),
            ],
        );
    }
}

fn all_signed(numbers: &[u64]) -> Vec<i64> {
    numbers.iter().copied().map(signed).collect()
}

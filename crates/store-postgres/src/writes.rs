//! What a transaction leaves of one project, gathered and then written with one statement a table.

use std::collections::BTreeMap;
use std::error::Error;

use bytes::{BufMut as _, BytesMut};
use rowmill_model::Record;
use rowmill_model::cell::Details;
use rowmill_model::record::Slot;
use tokio_postgres::types::{IsNull, ToSql, Type, accepts, to_sql_checked};
use uuid::Uuid;

use crate::copy::{self, Copied};
use crate::database::Tx;
use crate::desk::Held;
use crate::pages::RawRow;
use crate::projects::State;
use crate::signed;
use crate::taken::Known;
use crate::versions::Version;

/// Writes over rows, and fails if one is not as it was known. They are there: whoever deletes a row takes its cells
/// away from those who run them.
const UPDATE_ROWS: &str = "UPDATE rowmill.rows r SET details = new.details, \
     vals = CASE WHEN r.xmin = new.version THEN new.vals ELSE rowmill.moved_on()::text::bytea END \
     FROM unnest($2::int8[], $3::xid[], $4::bytea[], $5::bytea[]) new (position, version, vals, details) \
     WHERE r.project = $1 AND r.position = new.position";

#[derive(Debug, Default)]
pub(crate) struct Writes {
    pub(crate) rows_inserted: Vec<RawRow>,
    pub(crate) rows_updated: Vec<Known>,
    pub(crate) rows_deleted: Vec<i64>,
    /// By column, hash and position: whether it is there from now on.
    pub(crate) lookups: BTreeMap<(Slot, i64, u64), bool>,
    /// Changes to live counts, by level and segment.
    pub(crate) live: Vec<(i64, i64, i64)>,
    pub(crate) blocks: Vec<(i64, Vec<u8>)>,
    pub(crate) blocks_deleted: Vec<i64>,
    /// By column and block: whether it is there from now on.
    pub(crate) ready: BTreeMap<(Slot, u64), bool>,
    /// Forget all that was ready before.
    pub(crate) ready_anew: bool,
    pub(crate) claims_made: ClaimArrays,
    pub(crate) claims_changed: ClaimArrays,
    pub(crate) claims_deleted: Vec<i64>,
    pub(crate) retries_made: Vec<(i64, Slot, u64)>,
    pub(crate) retries_done: Vec<(i64, Slot, u64)>,
}

/// Rows as parallel lists.
struct RowArrays {
    positions: Vec<i64>,
    ids: Vec<Uuid>,
    vals: Vec<Packed<Record>>,
    details: Vec<Packed<Details>>,
}

impl RowArrays {
    fn of(rows: Vec<RawRow>) -> Self {
        let positions = rows.iter().map(|row| signed(row.position)).collect();
        let ids = rows.iter().map(|row| row.id.uuid()).collect();
        let packed = |row: RawRow| (Packed(row.values), Packed(row.details));
        let (vals, details) = rows.into_iter().map(packed).unzip();
        Self { positions, ids, vals, details }
    }
}

/// What is sent as it is kept.
#[derive(Debug)]
struct Packed<T>(T);

macro_rules! sent_as_kept {
    ($kind:ty, |$packed:ident| $bytes:expr) => {
        impl ToSql for Packed<$kind> {
            fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
                let $packed = &self.0;
                let Some(bytes): Option<&[u8]> = $bytes else { return Ok(IsNull::Yes) };
                out.put_slice(bytes);
                Ok(IsNull::No)
            }

            accepts!(BYTEA);
            to_sql_checked!();
        }
    };
}

sent_as_kept!(Record, |record| Some(record.as_bytes()));
sent_as_kept!(Details, |details| details.as_bytes());

#[derive(Debug, Default)]
pub(crate) struct ClaimArrays {
    tokens: Vec<i64>,
    workers: Vec<Uuid>,
    slots: Vec<i64>,
    blocks: Vec<i64>,
    places: Vec<Vec<u8>>,
}

impl ClaimArrays {
    pub(crate) fn push(&mut self, token: u64, held: &Held) {
        self.tokens.push(signed(token));
        self.workers.push(held.worker);
        self.slots.push(held.slot.into());
        self.blocks.push(signed(held.block));
        self.places.push(held.places.iter().copied().collect());
    }
}

impl Writes {
    /// Leaves everything with the transaction, the counters last.
    pub(crate) fn hand_over(&mut self, tx: &mut Tx, state: &State) {
        let num = state.num;
        self.rows(tx, num);
        self.found(tx, num);
        self.marks(tx, num);
        self.claims(tx, num);
        self.retries(tx, num);
        let slots: Vec<i64> = state.lookup_slots.iter().map(|slot| i64::from(*slot)).collect();
        tx.at_last(
            "UPDATE rowmill.counters SET version = $2, row_count = $3, next_position = $4, change_seq = $5, \
             lookup_slots = $6, tally = $7, tallied_at = $8 WHERE project = $1",
            vec![
                Box::new(num),
                Box::new(signed(state.version)),
                Box::new(signed(state.row_count)),
                Box::new(signed(state.next_position)),
                Box::new(signed(state.change_seq)),
                Box::new(slots),
                Box::new(state.tally.clone()),
                Box::new(state.tallied_at),
            ],
        );
    }

    fn rows(&mut self, tx: &mut Tx, num: i64) {
        let inserted = std::mem::take(&mut self.rows_inserted);
        if inserted.len() >= copy::ROWS_MIN {
            let mut copied = Copied::of(num);
            for row in &inserted {
                copied.push(row);
            }
            tx.copy_at_last(copy::ROWS, copied.finish());
        } else if !inserted.is_empty() {
            let RowArrays { positions, ids, vals, details } = RowArrays::of(inserted);
            tx.at_last(
                "INSERT INTO rowmill.rows (project, position, id, vals, details) \
                 SELECT $1, * FROM unnest($2::int8[], $3::uuid[], $4::bytea[], $5::bytea[])",
                vec![Box::new(num), Box::new(positions), Box::new(ids), Box::new(vals), Box::new(details)],
            );
        }
        let updated = std::mem::take(&mut self.rows_updated);
        if !updated.is_empty() {
            let (rows, versions): (Vec<RawRow>, Vec<Version>) = updated.into_iter().unzip();
            let RowArrays { positions, ids: _, vals, details } = RowArrays::of(rows);
            tx.at_last(
                UPDATE_ROWS,
                vec![
                    Box::new(num),
                    Box::new(positions),
                    Box::new(versions),
                    Box::new(vals),
                    Box::new(details),
                ],
            );
        }
        if !self.rows_deleted.is_empty() {
            tx.at_last(
                "DELETE FROM rowmill.rows WHERE project = $1 AND position = ANY($2)",
                vec![Box::new(num), Box::new(std::mem::take(&mut self.rows_deleted))],
            );
        }
    }

    /// What rows are found by: lookups and live counts.
    fn found(&mut self, tx: &mut Tx, num: i64) {
        let lookups = std::mem::take(&mut self.lookups);
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
            tx.at_last(sql, vec![Box::new(num), Box::new(slots), Box::new(hashes), Box::new(positions)]);
        }
        let live = std::mem::take(&mut self.live);
        if live.is_empty() {
            return;
        }
        let levels: Vec<i64> = live.iter().map(|(level, ..)| *level).collect();
        let segments: Vec<i64> = live.iter().map(|(_, segment, _)| *segment).collect();
        let counts: Vec<i64> = live.iter().map(|(.., count)| *count).collect();
        let has_fewer = counts.iter().any(|count| *count < 0);
        tx.at_last(
            "INSERT INTO rowmill.live AS l (project, level, segment, count) \
             SELECT $1, * FROM unnest($2::int8[], $3::int8[], $4::int8[]) \
             ON CONFLICT (project, level, segment) DO UPDATE SET count = l.count + excluded.count",
            vec![Box::new(num), Box::new(levels.clone()), Box::new(segments.clone()), Box::new(counts)],
        );
        // An empty run is forgotten, so that walking over many deleted rows stays cheap.
        if has_fewer {
            tx.at_last(
                "DELETE FROM rowmill.live l USING unnest($2::int8[], $3::int8[]) run (level, segment) \
                 WHERE l.project = $1 AND l.level = run.level AND l.segment = run.segment AND l.count = 0",
                vec![Box::new(num), Box::new(levels), Box::new(segments)],
            );
        }
    }

    /// What processing knows of rows: marks, and where cells are ready.
    fn marks(&mut self, tx: &mut Tx, num: i64) {
        let (blocks, marks): (Vec<i64>, Vec<Vec<u8>>) = std::mem::take(&mut self.blocks).into_iter().unzip();
        if !blocks.is_empty() {
            tx.at_last(
                "INSERT INTO rowmill.blocks (project, block, marks) \
                 SELECT $1, * FROM unnest($2::int8[], $3::bytea[]) \
                 ON CONFLICT (project, block) DO UPDATE SET marks = excluded.marks",
                vec![Box::new(num), Box::new(blocks), Box::new(marks)],
            );
        }
        if !self.blocks_deleted.is_empty() {
            tx.at_last(
                "DELETE FROM rowmill.blocks WHERE project = $1 AND block = ANY($2)",
                vec![Box::new(num), Box::new(std::mem::take(&mut self.blocks_deleted))],
            );
        }
        if self.ready_anew {
            tx.at_last("DELETE FROM rowmill.ready WHERE project = $1", vec![Box::new(num)]);
        }
        let ready = std::mem::take(&mut self.ready);
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
            tx.at_last(sql, vec![Box::new(num), Box::new(slots), Box::new(blocks)]);
        }
    }

    fn claims(&mut self, tx: &mut Tx, num: i64) {
        let ClaimArrays { tokens, workers, slots, blocks, places } = std::mem::take(&mut self.claims_made);
        if !tokens.is_empty() {
            tx.at_last(
                "INSERT INTO rowmill.claims (project, token, worker, slot, block, places) \
                 SELECT $1, * FROM unnest($2::int8[], $3::uuid[], $4::int8[], $5::int8[], $6::bytea[])",
                vec![
                    Box::new(num),
                    Box::new(tokens),
                    Box::new(workers),
                    Box::new(slots),
                    Box::new(blocks),
                    Box::new(places),
                ],
            );
        }
        let ClaimArrays { tokens, places, .. } = std::mem::take(&mut self.claims_changed);
        if !tokens.is_empty() {
            tx.at_last(
                "UPDATE rowmill.claims c SET places = new.places \
                 FROM unnest($2::int8[], $3::bytea[]) new (token, places) \
                 WHERE c.project = $1 AND c.token = new.token",
                vec![Box::new(num), Box::new(tokens), Box::new(places)],
            );
        }
        if !self.claims_deleted.is_empty() {
            tx.at_last(
                "DELETE FROM rowmill.claims WHERE project = $1 AND token = ANY($2)",
                vec![Box::new(num), Box::new(std::mem::take(&mut self.claims_deleted))],
            );
        }
    }

    fn retries(&mut self, tx: &mut Tx, num: i64) {
        let (made, done) = (std::mem::take(&mut self.retries_made), std::mem::take(&mut self.retries_done));
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
            tx.at_last(sql, vec![Box::new(num), Box::new(at), Box::new(slots), Box::new(positions)]);
        }
    }
}

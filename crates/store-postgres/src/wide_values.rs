//! Values that are stored apart from their rows. [`rowmill_store::wide_values`] says which.
//!
//! They are named by their row's project and position, with the project's number positive also while the row is in the
//! trash: a position is never used again, so they stay where they are when the row goes there or comes back.
//!
//! Whoever shows rows reads them in the same statement, which sees one moment (`rowmill.wide_of`). A change of rows, which
//! has locked their project, reads them when it knows which it looks at.

use std::sync::Arc;

use rowmill_model::Record;
use rowmill_model::record::{Damaged, Slot};
use rowmill_store::wide_values::WideSlots;
use rowmill_store::{Result, RowWrite, StoreError, Wanted, WantedSlots};

use tokio_postgres::Row;

use crate::convert::{narrow, signed, unexpected_answer, unsigned};
use crate::transaction::{Param, Tx};

/// What is read of rows, as statements take it.
#[derive(Debug)]
pub(crate) struct WantedParams {
    pub(crate) bytes_max: i64,
    /// `None` for all.
    pub(crate) slots: Option<Vec<i64>>,
    pub(crate) wanted: WantedSlots,
}

impl From<Wanted> for WantedParams {
    fn from(wanted: Wanted) -> Self {
        let bytes_max = i64::try_from(wanted.bytes_max).unwrap_or(i64::MAX);
        Self { bytes_max, slots: listed(&wanted.slots), wanted: wanted.slots }
    }
}

/// The slots as a parameter: NULL for all.
pub(crate) fn listed(wanted: &WantedSlots) -> Option<Vec<i64>> {
    match wanted {
        WantedSlots::All => None,
        WantedSlots::Only(slots) => Some(slots.iter().map(|slot| i64::from(*slot)).collect()),
    }
}

/// SQL for what is stored apart of a row with wide values, as `rowmill.wide_of` says it, in the slots that a list of `int8` or
/// NULL names. The function is called only where one of them is wide: a call takes as long as reading a few ordinary rows.
pub(crate) fn wide_sql(row: &str, slots: &str) -> String {
    format!(
        "CASE WHEN {} THEN rowmill.wide_of({row}.project, {row}.position, {row}.wide, {slots}) ELSE ARRAY[{row}.wide] END",
        has_any(row, slots)
    )
}

/// SQL for the bytes of the same values; 0 for an ordinary row.
pub(crate) fn wide_bytes_sql(row: &str, slots: &str) -> String {
    format!(
        "CASE WHEN {row}.wide_bytes IS NULL THEN 0 WHEN {} \
         THEN rowmill.wide_bytes_of({row}.project, {row}.position, {row}.wide_bytes, {slots}) ELSE 0 END",
        has_any(row, slots)
    )
}

/// Whether a row notes one of these slots. It may say so of one whose four bytes only lie across two others.
fn has_any(row: &str, slots: &str) -> String {
    format!(
        "({slots}::int8[] IS NULL OR EXISTS (SELECT FROM unnest({slots}::int8[]) slot \
         WHERE position(substring(int8send(slot) FROM 5) IN {row}.wide) > 0))"
    )
}

/// What `rowmill.wide_of` says of a row.
pub(crate) struct Wide<'a> {
    slots: WideSlots,
    read: Vec<(Slot, &'a [u8])>,
}

impl<'a> Wide<'a> {
    /// NULL says that it is an ordinary row.
    pub(crate) fn read(answer: Option<Vec<&'a [u8]>>) -> Result<Option<Self>> {
        let Some(answer) = answer else { return Ok(None) };
        let (note, values) = answer.split_first().ok_or_else(unexpected_answer)?;
        Ok(Some(Self { slots: WideSlots::from_bytes(note)?, read: slotted(values)? }))
    }

    /// The row's values: those inside it, and those of its wide ones that were wanted.
    pub(crate) fn join(&self, near: &[u8], wanted: &WantedSlots) -> Result<Record> {
        self.slots.join(near, wanted, &self.read)
    }
}

/// Values that each have the eight bytes of their slot before them.
pub(crate) fn slotted<'a>(values: &[&'a [u8]]) -> Result<Vec<(Slot, &'a [u8])>> {
    let value = |bytes: &&'a [u8]| {
        let (slot, value) = bytes.split_first_chunk::<8>().ok_or_else(unexpected_answer)?;
        Ok((narrow(i64::from_be_bytes(*slot))?, value))
    };
    values.iter().map(value).collect()
}

/// A row's values, put together.
pub(crate) fn joined(near: &[u8], answer: Option<Vec<&[u8]>>, wanted: &WantedSlots) -> Result<Record> {
    match Wide::read(answer)? {
        Some(wide) => wide.join(near, wanted),
        None => Ok(Record::from_bytes(near)),
    }
}

/// Reads these values of a locked project, by position and slot. All of them must be there.
pub(crate) async fn read(
    tx: &mut Tx,
    num: i64,
    wanted: &[(u64, Slot)],
) -> Result<Vec<(u64, Slot, Arc<str>)>> {
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let (positions, slots): (Vec<i64>, Vec<i64>) =
        wanted.iter().map(|(position, slot)| (signed(*position), i64::from(*slot))).unzip();
    let sql = "SELECT w.position, w.slot, w.value FROM unnest($2::int8[], $3::int8[]) wanted (position, slot) \
               CROSS JOIN LATERAL (SELECT position, slot, value FROM rowmill.wide_values \
               WHERE project = $1 AND position = wanted.position AND slot = wanted.slot OFFSET 0) w";
    let found = tx.query(sql, &[&num, &positions, &slots]).await?;
    if found.len() != wanted.len() {
        return Err(StoreError::Damaged("a wide value of a row is missing".to_owned()));
    }
    let value = |row: &Row| {
        let text = std::str::from_utf8(row.get(2)).map_err(|_| Damaged)?;
        Ok((unsigned(row.get(0)), narrow(row.get(1))?, text.into()))
    };
    found.iter().map(value).collect()
}

/// What of some rows is to be written apart from them, as parallel lists.
#[derive(Default)]
pub(crate) struct WideArrays {
    put: (Vec<i64>, Vec<i64>, Vec<Vec<u8>>),
    gone: (Vec<i64>, Vec<i64>),
}

impl WideArrays {
    pub(crate) fn push(&mut self, row: &RowWrite) {
        for (slot, value) in row.put() {
            self.put.0.push(signed(row.position));
            self.put.1.push(slot.into());
            self.put.2.push(value.as_bytes().to_vec());
        }
        for slot in row.gone() {
            self.gone.0.push(signed(row.position));
            self.gone.1.push((*slot).into());
        }
    }

    /// The statements, whose first parameter is the project.
    pub(crate) fn statements(self) -> Vec<(&'static str, Vec<Param>)> {
        let mut statements: Vec<(&'static str, Vec<Param>)> = Vec::new();
        let (positions, slots) = self.gone;
        if !positions.is_empty() {
            statements.push((
                "DELETE FROM rowmill.wide_values w USING unnest($2::int8[], $3::int8[]) old (position, slot) \
                 WHERE w.project = $1 AND w.position = old.position AND w.slot = old.slot",
                vec![Box::new(positions), Box::new(slots)],
            ));
        }
        let (positions, slots, values) = self.put;
        if !positions.is_empty() {
            statements.push((
                "INSERT INTO rowmill.wide_values (project, position, slot, value) \
                 SELECT $1, * FROM unnest($2::int8[], $3::int8[], $4::bytea[]) \
                 ON CONFLICT (project, position, slot) DO UPDATE SET value = excluded.value",
                vec![Box::new(positions), Box::new(slots), Box::new(values)],
            ));
        }
        statements
    }
}

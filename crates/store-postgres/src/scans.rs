//! Going over rows, in one snapshot.

use std::collections::VecDeque;
use std::ops::ControlFlow;

use futures_util::TryStreamExt as _;
use rowmill_model::cell::Details;
use rowmill_model::{Record, RowId};
use rowmill_store::{Result, RowRef, RowVisitor, ScanDetail, ScanLook, Spans};
use tokio_postgres::Row;
use tokio_postgres::binary_copy::BinaryCopyOutStream;
use tokio_postgres::types::Type;

use crate::convert::{signed, unsigned};
use crate::live_counts;
use crate::server_error::backend;
use crate::stored_rows::Blocks;
use crate::transaction::Tx;
use crate::wide_values::{Wide, listed, wide_sql};

/// Rows and bytes read in one go.
const SCAN_ROWS: i64 = 1_000;
const SCAN_BYTES: i64 = 2 * 1024 * 1024;
/// Rows copied out in one go: more and more of them while they have fewer bytes than this. Whoever has seen enough
/// lets the rest of them go by.
const COPY_ROWS_MIN: i64 = 16;
const COPY_ROWS_MAX: i64 = 20_000;
const COPY_BYTES: usize = 8 * 1024 * 1024;

/// A scan of more runs than this is of rows that changed just now. To check each of them would take longer than reading.
const RUNS_CHECKED_MAX: usize = 64;

/// The rows of a project that meet a condition, in order. Values beyond some bytes are left out.
macro_rules! rows_of {
    ($condition:literal) => {
        concat!(
            "SELECT s.position, s.id, CASE WHEN s.ahead < $2 THEN s.vals END, \
             CASE WHEN s.ahead < $2 THEN s.details END, \
             CASE WHEN s.wide IS NOT NULL AND s.ahead < $2 \
             THEN rowmill.wide_of(s.project, s.position, s.wide, $3) END \
             FROM (SELECT r.project, r.position, r.id, r.vals, r.details, r.wide, \
             (sum(r.bytes) OVER (ORDER BY r.position) - r.bytes)::int8 AS ahead \
             FROM (SELECT r.project, r.position, r.id, r.vals, r.details, r.wide, \
             octet_length(r.vals) + CASE WHEN r.wide_bytes IS NULL THEN 0 \
             ELSE rowmill.wide_bytes_of(r.project, r.position, r.wide_bytes, $3) END AS bytes \
             FROM rowmill.rows r WHERE r.project = $1 AND ",
            $condition,
            ") r) s ORDER BY s.position"
        )
    };
}

/// What is left of a scan.
#[derive(Debug)]
pub(crate) struct Scan {
    runs: VecDeque<(i64, i64)>,
    /// All runs that were asked for, as far as they were gone over.
    asked: Vec<(i64, i64)>,
    /// How many rows were found in them.
    found: i64,
    look: ScanLook,
    /// Rows to be copied out in one go, fewer of large ones.
    copy_rows: i64,
}

impl Scan {
    /// Of these runs, as far as there are positions.
    pub(crate) fn of(spans: Spans, next_position: u64, look: ScanLook) -> Self {
        let spans = spans.tidied();
        let runs = spans.iter().filter(|(first, _)| *first < next_position);
        let clipped = |(first, last): (u64, u64)| (signed(first), signed(last.min(next_position - 1)));
        let runs: VecDeque<(i64, i64)> = runs.map(clipped).collect();
        let asked = runs.iter().copied().collect();
        Self { runs, asked, found: 0, look, copy_rows: COPY_ROWS_MIN }
    }

    pub(crate) fn is_done(&self) -> bool {
        self.runs.is_empty()
    }

    /// Checks that no row was missing.
    pub(crate) async fn check(&self, tx: &mut Tx, num: i64) -> Result<()> {
        if self.asked.len() > RUNS_CHECKED_MAX {
            return Ok(());
        }
        live_counts::check(tx, num, &self.asked, self.found).await
    }

    /// Shows a row; says whether more is wanted.
    fn visit(&mut self, row: RowRef<'_>, visit: &mut RowVisitor) -> bool {
        let position = signed(row.position);
        self.found += 1;
        if visit(row) == ControlFlow::Continue(()) {
            return true;
        }
        self.runs.clear();
        self.asked.retain(|(first, _)| *first <= position);
        if let Some((_, last)) = self.asked.last_mut() {
            *last = position.min(*last);
        }
        false
    }

    /// Visits some more rows; all parts of a scan share one transaction and so one snapshot.
    pub(crate) async fn some(&mut self, tx: &mut Tx, num: i64, visit: &mut RowVisitor) -> Result<()> {
        let mut found = match (self.take_few(), self.look.detail) {
            (Some(positions), _) => {
                let sql = rows_of!("r.position = ANY($4)");
                tx.query(sql, &[&num, &SCAN_BYTES, &listed(&self.look.slots), &positions]).await?
            }
            (None, ScanDetail::Values) => return self.copy_on(tx, num, visit).await,
            (None, ScanDetail::Whole) => self.read_on(tx, num).await?,
        };
        // Those that did not fit are asked for again, before all others.
        let read = found.iter().take_while(|row| row.get::<_, Option<&[u8]>>(2).is_some()).count();
        for row in found.split_off(read).iter().rev() {
            let position: i64 = row.get(0);
            match self.runs.front_mut() {
                Some((first, _)) if *first == position + 1 => *first = position,
                _ => self.runs.push_front((position, position)),
            }
        }
        let blocks = match self.look.detail {
            ScanDetail::Values => Blocks::default(),
            ScanDetail::Whole => Blocks::load(tx, num, &found).await?,
        };
        self.show(&found, &blocks, visit)
    }

    fn show(&mut self, found: &[Row], blocks: &Blocks, visit: &mut RowVisitor) -> Result<()> {
        for row in found {
            let position = unsigned(row.get(0));
            let (id, states) = match self.look.detail {
                ScanDetail::Values => (None, None),
                ScanDetail::Whole => {
                    let details: Option<&[u8]> = row.get(3);
                    let details = details.map(Details::from_bytes).transpose()?.unwrap_or_default();
                    (Some(RowId::from_uuid(row.get(1))), blocks.states(position, &details))
                }
            };
            let near: &[u8] = row.get(2);
            let wide = Wide::read(row.get(4))?;
            let joined = wide.map(|wide| wide.join(near, &self.look.slots)).transpose()?;
            let values = joined.as_ref().map_or(near, Record::as_bytes);
            let row = RowRef { id, position, values, states: states.as_ref() };
            if !self.visit(row, visit) {
                break;
            }
        }
        Ok(())
    }

    /// Visits the beginning of the next run, which comes without waiting for whoever looks at it.
    async fn copy_on(&mut self, tx: &mut Tx, num: i64, visit: &mut RowVisitor) -> Result<()> {
        let Some((first, last)) = self.runs.pop_front() else { return Ok(()) };
        let end = last.min(first.saturating_add(self.copy_rows - 1));
        // COPY knows no parameters; these are numbers of our own.
        let slots = listed(&self.look.slots)
            .map_or_else(|| "NULL".to_owned(), |slots| format!("ARRAY{slots:?}::int8[]"));
        let query = format!(
            "SELECT r.position, r.vals, CASE WHEN r.wide IS NOT NULL THEN {} END FROM rowmill.rows r \
             WHERE r.project = {num} AND r.position BETWEEN {first} AND {end} ORDER BY r.position",
            wide_sql("r", &slots)
        );
        let types = [Type::INT8, Type::BYTEA, Type::BYTEA_ARRAY];
        let rows = BinaryCopyOutStream::new(tx.copy_out(&query).await?, &types);
        let mut rows = std::pin::pin!(rows);
        let mut bytes = 0_usize;
        while let Some(row) = tx.next(rows.try_next()).await? {
            let position: i64 = row.try_get(0).map_err(backend)?;
            let near: &[u8] = row.try_get(1).map_err(backend)?;
            let wide = Wide::read(row.try_get(2).map_err(backend)?)?;
            let joined = wide.map(|wide| wide.join(near, &self.look.slots)).transpose()?;
            let values = joined.as_ref().map_or(near, Record::as_bytes);
            bytes = bytes.saturating_add(values.len());
            let row = RowRef { id: None, position: unsigned(position), values, states: None };
            if !self.visit(row, visit) {
                return Ok(());
            }
        }
        if end < last {
            self.runs.push_front((end + 1, last));
        }
        self.copy_rows = match bytes {
            0..COPY_BYTES => self.copy_rows.saturating_mul(8).min(COPY_ROWS_MAX),
            _ => (self.copy_rows / 8).max(COPY_ROWS_MIN),
        };
        Ok(())
    }

    /// The positions of short runs, to be asked for together; `None` where a long one is next.
    fn take_few(&mut self) -> Option<Vec<i64>> {
        let mut positions = Vec::new();
        while let Some((first, last)) = self.runs.front().copied() {
            let len = last.saturating_sub(first).saturating_add(1);
            if len > SCAN_ROWS - i64::try_from(positions.len()).unwrap_or(SCAN_ROWS) {
                break;
            }
            positions.extend(first..=last);
            self.runs.pop_front();
        }
        (!positions.is_empty()).then_some(positions)
    }

    /// Reads the beginning of the next run and shortens it by that.
    async fn read_on(&mut self, tx: &mut Tx, num: i64) -> Result<Vec<Row>> {
        let Some((first, last)) = self.runs.pop_front() else { return Ok(Vec::new()) };
        let end = last.min(first.saturating_add(SCAN_ROWS - 1));
        if end < last {
            self.runs.push_front((end + 1, last));
        }
        let sql = rows_of!("r.position BETWEEN $4 AND $5");
        tx.query(sql, &[&num, &SCAN_BYTES, &listed(&self.look.slots), &first, &end]).await
    }
}

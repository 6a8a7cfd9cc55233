//! Reads a file row by row and writes the rows batch by batch.

mod json_lines;
mod steps;

use std::collections::HashSet;

use rowmill_app::{App, Import, ImportColumn, ImportField, ImportRow, ImportedBatch};
use rowmill_model::Limits;

use crate::error::Error;
use crate::files::csv::CsvReader;
use crate::files::delimiter::{Delimiter, named_delimiter};
use crate::files::empty_cells::EmptyCells;
use crate::files::formulas::{Formulas, unmark};
use crate::files::incoming::{Format, Incoming, Pieces};
use crate::files::lines::LineReader;
use crate::files::{FileRow, RowError};
use crate::import_request::ImportQuery;
use crate::json_guard::guard;
use crate::wire::fields;
use crate::wire::import::{CreatedColumn, FileOutcome, Rejected};

use self::json_lines::{check_names, no_object, reason};
use self::steps::Batch;
pub(crate) use self::steps::JobSteps;

/// Rows that are written together: few enough that others get their turn.
const BATCH_ROWS: usize = 1_000;
const BATCH_BYTES: usize = 4 * 1024 * 1024;
/// What a cell takes beside its text.
const CELL_BYTES: usize = 64;
/// What all rejected rows may hold of their values.
const REJECTED_BYTES_MAX: usize = 32 * 1024 * 1024;

/// Reads a file to its end, or to where too many of its rows were rejected.
pub(crate) async fn read_file(
    importer: &mut RowImporter<'_>,
    incoming: &mut Incoming,
    format: Format,
    query: &ImportQuery,
) -> Result<(), Error> {
    if importer.is_stopped() {
        return Ok(());
    }
    match format {
        Format::Csv => {
            let shape = Shape {
                has_header: query.header.unwrap_or(true),
                is_marked: query.formulas != Some(Formulas::Keep),
                clears: query.empty_cells == Some(EmptyCells::Clear),
            };
            take_csv(importer, incoming, query.delimiter.unwrap_or(Delimiter::Auto), shape).await?;
        }
        Format::JsonLines => take_lines(importer, incoming).await?,
    }
    // Also where it stopped: what came before that is imported.
    importer.flush().await
}

/// What a CSV file is like.
#[derive(Clone, Copy)]
struct Shape {
    has_header: bool,
    /// Cells that a spreadsheet would run stand behind an apostrophe.
    is_marked: bool,
    /// Empty cells clear what is stored.
    clears: bool,
}

impl Shape {
    fn text(self, cell: &str) -> &str {
        if self.is_marked { unmark(cell) } else { cell }
    }
}

async fn take_csv(
    importer: &mut RowImporter<'_>,
    incoming: &mut Incoming,
    delimiter: Delimiter,
    shape: Shape,
) -> Result<(), Error> {
    let head = incoming.head().await?;
    let mut skips_line = named_delimiter(head).is_some();
    let delimiter = delimiter.byte(head);
    let mut reader = CsvReader::new(delimiter, importer.row_bytes_max(), importer.limits.columns_max);
    let mut columns: Option<Vec<Option<ImportColumn>>> = None;
    let mut rows = Vec::new();
    let mut pieces = Pieces::default();
    loop {
        let piece = pieces.next(incoming).await?;
        match piece {
            Some(bytes) => reader.push(bytes, &mut rows),
            None => reader.finish(&mut rows),
        }
        let is_end = piece.is_none();
        for FileRow { line, content } in rows.drain(..) {
            if std::mem::take(&mut skips_line) {
                continue;
            }
            if columns.is_none() {
                let first = content.as_ref().map_err(|flaw| {
                    Error::offence("", format!("the first line of the file {}", flaw.reason))
                })?;
                columns = Some(importer.settle(csv_fields(first, shape)).await?);
                if shape.has_header {
                    continue;
                }
            }
            if importer.passes_over() {
                continue;
            }
            let columns = columns.as_deref().unwrap_or_default();
            importer.take(line, content.and_then(|cells| csv_row(cells, columns, shape))).await?;
            if importer.is_stopped() {
                return Ok(());
            }
        }
        if is_end {
            return Ok(());
        }
    }
}

fn csv_fields(first: &[String], shape: Shape) -> Vec<ImportField> {
    let numbered = |place: usize| format!("Column {}", place + 1);
    let headers: HashSet<&str> = first.iter().map(|text| shape.text(text).trim()).collect();
    let mut seen = HashSet::new();
    let field = |(place, text): (usize, &String)| {
        let text = shape.text(text).trim();
        if !shape.has_header {
            return ImportField { name: place.to_string(), header: numbered(place) };
        }
        let header = if text.is_empty() { numbered(place) } else { text.to_owned() };
        // Of two headers that are the same the later has a name of its own, which is no header of the file.
        let mut name = header.clone();
        while (name != header && headers.contains(name.as_str())) || !seen.insert(name.clone()) {
            name = format!("{name} ({place})");
        }
        ImportField { name, header }
    };
    first.iter().enumerate().map(field).collect()
}

type Row = (ImportRow, Vec<String>);

fn csv_row(mut cells: Vec<String>, columns: &[Option<ImportColumn>], shape: Shape) -> Result<Row, RowError> {
    // Commas at the end of a line say nothing.
    while cells.len() > columns.len() && cells.last().is_some_and(String::is_empty) {
        cells.pop();
    }
    if cells.len() > columns.len() {
        let reason = format!("has {} cells, but the header has {}", cells.len(), columns.len());
        return Err(RowError { reason, values: cells });
    }
    // A line without any filled cell says nothing.
    let clears = shape.clears && cells.iter().any(|cell| !cell.is_empty());
    let told = cells.iter().zip(columns).filter(|(cell, _)| clears || !cell.is_empty());
    let row = told.filter_map(|(cell, column)| {
        let column = column.as_ref()?;
        let value = if cell.is_empty() { "null".to_owned() } else { column.value_of(shape.text(cell)) };
        Some((column.clone(), value))
    });
    Ok((row.collect(), cells))
}

async fn take_lines(importer: &mut RowImporter<'_>, incoming: &mut Incoming) -> Result<(), Error> {
    check_names(&importer.import, importer.limits, incoming.head().await?)?;
    let mut reader = LineReader::new(importer.row_bytes_max());
    let mut rows = Vec::new();
    let mut pieces = Pieces::default();
    loop {
        let piece = pieces.next(incoming).await?;
        match piece {
            Some(bytes) => reader.push(bytes, &mut rows),
            None => reader.finish(&mut rows),
        }
        let is_end = piece.is_none();
        for FileRow { line, content } in rows.drain(..) {
            if importer.passes_over() {
                continue;
            }
            let read = match content {
                Ok(bytes) => importer.object(bytes).await?,
                Err(flaw) => Err(flaw),
            };
            importer.take(line, read).await?;
            if importer.is_stopped() {
                return Ok(());
            }
        }
        if is_end {
            return Ok(());
        }
    }
}

/// Takes rows and writes them batch by batch.
pub(crate) struct RowImporter<'c> {
    app: &'c App,
    limits: &'c Limits,
    import: Import,
    /// Where it is noted how far it has come, if it runs in the background.
    steps: Option<JobSteps<'c>>,
    /// Rows of the file so far.
    seen: u64,
    lines: Vec<(u64, Vec<String>)>,
    rows: Vec<ImportRow>,
    bytes: usize,
    told: FileOutcome,
    told_bytes: usize,
}

impl<'c> RowImporter<'c> {
    pub(crate) fn new(app: &'c App, limits: &'c Limits, import: Import, steps: Option<JobSteps<'c>>) -> Self {
        let told = steps.as_ref().map(JobSteps::told).unwrap_or_default();
        let (lines, rows) = (Vec::new(), Vec::new());
        Self { app, limits, import, steps, seen: 0, lines, rows, bytes: 0, told, told_bytes: 0 }
    }

    /// Whether the next row was done before.
    fn passes_over(&mut self) -> bool {
        self.seen += 1;
        self.steps.as_ref().is_some_and(|steps| self.seen <= steps.rows_before())
    }

    fn row_bytes_max(&self) -> usize {
        usize::try_from(self.limits.import_row_bytes_max).unwrap_or(usize::MAX)
    }

    async fn settle(&mut self, fields: Vec<ImportField>) -> Result<Vec<Option<ImportColumn>>, Error> {
        self.app.settle_fields(&mut self.import, &fields, true).await?;
        Ok(fields.iter().map(|field| self.import.column(&field.name).cloned()).collect())
    }

    /// A line as a row. Fields that were not seen before find their columns on the way.
    async fn object(&mut self, bytes: Vec<u8>) -> Result<Result<Row, RowError>, Error> {
        let shown = String::from_utf8_lossy(&bytes).into_owned();
        let text = match guard(bytes, self.limits.nesting_max) {
            Ok(text) => text,
            Err(error) => return Ok(Err(RowError { reason: reason(&error), values: vec![shown] })),
        };
        let fields = match fields::one(&text) {
            Ok(fields) => fields,
            Err(error) => return Ok(Err(RowError { reason: no_object(&text, &error), values: vec![shown] })),
        };
        let named: Vec<(&str, &str)> = fields.0.iter().map(|(name, value)| (&**name, *value)).collect();
        if let Some(reason) = self.app.early_refusal(&self.import, &named).await? {
            return Ok(Err(RowError { reason, values: vec![shown] }));
        }
        let new = fields.0.iter().filter(|(name, _)| !self.import.is_settled(name));
        let new: Vec<ImportField> =
            new.map(|(name, _)| ImportField { name: name.to_string(), header: name.to_string() }).collect();
        if !new.is_empty() {
            // No two of them become one column: such a row is refused already.
            self.app.settle_fields(&mut self.import, &new, false).await?;
            // A file in which every line has a new field is read beside other requests, and not before them.
            tokio::task::yield_now().await;
        }
        let cells = fields
            .0
            .iter()
            .filter_map(|(name, value)| Some((self.import.column(name)?.clone(), (*value).to_owned())));
        Ok(Ok((cells.collect(), vec![shown])))
    }

    async fn take(&mut self, line: u64, read: Result<Row, RowError>) -> Result<(), Error> {
        match read {
            Err(flaw) => self.reject(line, flaw.reason, flaw.values),
            // A blank line of commas, or of fields that go nowhere: it counts as skipped, as `seen` less all others.
            Ok((row, _)) if row.is_empty() => {}
            Ok((row, values)) => {
                // Also what goes nowhere is held, to be told if the row is refused.
                self.bytes += row.iter().map(|(_, value)| value.len() + CELL_BYTES).sum::<usize>();
                self.bytes += values.iter().map(|value| value.len() + size_of::<String>()).sum::<usize>();
                self.rows.push(row);
                self.lines.push((line, values));
            }
        }
        let most = usize::try_from(self.limits.insert_rows_max).unwrap_or(usize::MAX).min(BATCH_ROWS);
        if self.rows.len() >= most || self.bytes >= BATCH_BYTES {
            self.flush().await?;
        }
        Ok(())
    }

    async fn flush(&mut self) -> Result<(), Error> {
        self.bytes = 0;
        let (rows, mut lines) = (std::mem::take(&mut self.rows), std::mem::take(&mut self.lines));
        let batch = match self.write(rows, &lines).await {
            // What came before stays.
            Err(rowmill_app::Error::QuotaExceeded(words)) if self.told.imported_count > 0 => {
                let words = format!("{words}. Rows imported from this file: {}", self.told.imported_count);
                return Err(rowmill_app::Error::QuotaExceeded(words).into());
            }
            outcome => outcome?,
        };
        self.told.imported_count += batch.inserted;
        self.told.updated_count += batch.updated;
        self.told.unchanged_count += batch.unchanged;
        for (place, reason) in batch.refused {
            let (line, values) = lines.get_mut(place).map(std::mem::take).unwrap_or_default();
            self.reject(line, reason, values);
        }
        if let Some(steps) = &mut self.steps {
            steps.rejected_noted = self.told.rejected.len();
        }
        Ok(())
    }

    async fn write(
        &mut self,
        rows: Vec<ImportRow>,
        lines: &[(u64, Vec<String>)],
    ) -> rowmill_app::Result<ImportedBatch> {
        let Some(steps) = &mut self.steps else {
            return self.app.import_rows(&self.import, rows, None).await;
        };
        let rejected = self.told.rejected.get(steps.rejected_noted..).unwrap_or_default();
        let left = u64::from(self.limits.import_rejected_max).saturating_sub(self.told.rejected_count);
        let batch = Batch { rows_read: self.seen, rejected, rejected_max: left, lines };
        steps.write(self.app, &self.import, rows, batch).await
    }

    fn reject(&mut self, line: u64, reason: String, values: Vec<String>) {
        if self.is_stopped() {
            return;
        }
        self.told.rejected_count += 1;
        let bytes: usize = values.iter().map(String::len).sum();
        let fits = self.told_bytes + bytes <= REJECTED_BYTES_MAX;
        self.told_bytes += if fits { bytes } else { 0 };
        let values = if fits { values } else { Vec::new() };
        self.told.rejected.push(Rejected { line, reason, values });
    }

    /// Whether so many rows were rejected that the file cannot be what it should be.
    fn is_stopped(&self) -> bool {
        self.told.rejected_count >= u64::from(self.limits.import_rejected_max)
    }

    pub(crate) fn finish(mut self) -> FileOutcome {
        self.told.stopped = self.is_stopped();
        self.told.skipped_count = self.told.skipped_of(self.seen);
        self.told.rejected.sort_by_key(|rejected| rejected.line);
        self.told.hints = self.import.hints();
        let Import { created, ignored, .. } = self.import;
        self.told.columns_created = created
            .into_iter()
            .map(|(id, header)| CreatedColumn { id: id.as_str().to_owned(), header })
            .collect();
        self.told.fields_ignored = ignored;
        self.told
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_of_a_file_has_a_name_of_its_own() {
        let check = |headers: &[&str], expected: &[&str]| {
            let first: Vec<String> = headers.iter().map(|header| (*header).to_owned()).collect();
            let shape = Shape { has_header: true, is_marked: false, clears: false };
            let names: Vec<String> = csv_fields(&first, shape).into_iter().map(|field| field.name).collect();
            assert_eq!(names, expected, "{headers:?}");
        };
        check(&["Email", "", "Email"], &["Email", "Column 2", "Email (2)"]);
        check(&["Email", "Email (2)", "Email"], &["Email", "Email (2)", "Email (2) (2)"]);
        check(&["Email", "Email", "Email (1)"], &["Email", "Email (1) (1)", "Email (1)"]);
        check(&["A", "A (1)", "A (1)", "A"], &["A", "A (1)", "A (1) (2)", "A (3)"]);
    }
}

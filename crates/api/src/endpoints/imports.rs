//! Rows from a file.

use std::collections::BTreeMap;

use axum::http::Method;
use rowmill_app::{Import, ImportColumn, ImportField, ImportOptions, ImportRow};
use rowmill_model::{Limits, Scopes};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::ProjectPath;
use crate::answer::Answer;
use crate::endpoint::{Call, Endpoint, Examples};
use crate::error::Error;
use crate::files::csv::CsvReader;
use crate::files::delimiter::{Delimiter, named_delimiter};
use crate::files::empty_cells::EmptyCells;
use crate::files::formulas::{Formulas, unmark};
use crate::files::incoming::{Format, Incoming, Pieces};
use crate::files::lines::LineReader;
use crate::files::{FileRow, RowError};
use crate::json_guard::guard;
use crate::payload::File;
use crate::state::ApiState;
use crate::wire::fields;
use crate::wire::import::{CreatedColumn, FileOutcome, Rejected};

/// Rows that are written together: few enough that others get their turn.
const BATCH_ROWS: usize = 1_000;
const BATCH_BYTES: usize = 4 * 1024 * 1024;
/// What a cell takes beside its text.
const CELL_BYTES: usize = 64;
/// What all rejected rows may hold of their values.
const REJECTED_BYTES_MAX: usize = 32 * 1024 * 1024;

pub(crate) struct ImportFile;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ImportQuery {
    /// Whether the first line of a CSV file contains column names. Default: true.
    header: Option<bool>,
    /// The cell separator. Default: `auto`, which detects it from the first line, or takes it from a first line
    /// `sep=;` as Excel writes it.
    #[serde(default)]
    #[schemars(with = "Delimiter")]
    delimiter: Option<Delimiter>,
    /// Whether unknown fields become columns. Default: true. Otherwise they are ignored.
    create_columns: Option<bool>,
    /// A JSON object that maps the file's fields (without a header: their positions from 0) to column ids
    /// or headers, or to null to ignore them.
    #[schemars(length(max = 60_000))]
    mapping: Option<String>,
    /// A column id or header. A row with the same value in this column is updated instead of inserted.
    #[schemars(length(min = 1, max = 255))]
    match_on: Option<String>,
    /// Set to false to match without regard to letter case and outer blanks. Default: true.
    match_case: Option<bool>,
    /// `clear` makes an empty cell of CSV clear what is stored in a row that `matchOn` finds. `keep` (default)
    /// leaves it.
    #[serde(default)]
    #[schemars(with = "EmptyCells")]
    empty_cells: Option<EmptyCells>,
    /// `neutralize` (default) removes the apostrophe that an export adds to CSV cells that a spreadsheet would
    /// run as formulas. `keep` imports cells unchanged. Other apostrophes are always kept.
    #[serde(default)]
    #[schemars(with = "Formulas")]
    formulas: Option<Formulas>,
}

impl Endpoint<ApiState> for ImportFile {
    const METHOD: Method = Method::POST;
    const ID: &'static str = "importFile";
    const SCOPES: Scopes = Scopes::WRITE;
    const TAG: &'static str = "Rows";
    const SUMMARY: &'static str = "Import rows";
    const DESCRIPTION: &'static str = "Imports rows from CSV (`text/csv`) or JSON Lines (`application/x-ndjson`) in UTF-8. The file is \
     streamed. Each field goes to the column given in `mapping`, or else to the column with that id or \
     header. CSV cells are text; empty cells are ignored unless `emptyCells` is `clear`. Rows are committed in batches: rows imported \
     before a lost connection are kept. A row that cannot be imported is listed with its line and the \
     reason, and does not stop the others. A file that makes columns also needs the scope `schema`; without it, send \
     `createColumns=false`.";
    const IS_REPEATABLE: bool = false;
    type Path = ProjectPath;
    type Query = ImportQuery;
    type Body = File;
    type Out = FileOutcome;

    fn examples() -> Examples {
        Examples {
            body: None,
            answer: Some(json!({
                "importedCount": 2, "updatedCount": 0, "unchangedCount": 0, "rejectedCount": 1,
                "columnsCreated": [{ "id": "col_4fJq0ZtR9xWb", "header": "City" }], "fieldsIgnored": [],
                "rejected": [{ "line": 3, "reason": "has 4 cells, but the header has 2", "values": ["a", "b", "c", "d"] }], "stopped": false,
            })),
        }
    }

    async fn handle(
        call: Call<ApiState>,
        path: ProjectPath,
        query: ImportQuery,
        File(body): File,
    ) -> Result<Answer<FileOutcome>, Error> {
        // Who may not write to the project learns nothing else.
        call.app().project_for_import(call.caller()?, &path.project_id).await?;
        let format = Format::of(&call.headers)?;
        let options = ImportOptions {
            mapping: mapping(query.mapping.as_deref(), &call.limits)?,
            create_columns: query.create_columns.unwrap_or(true),
            match_on: query.match_on,
            any_case: query.match_case == Some(false),
        };
        let mut incoming = Incoming::new(&call.headers, body, &call.limits)?;
        let read = async {
            let import = call.app().begin_import(call.caller()?, &path.project_id, options).await?;
            let mut importer = RowImporter::new(&call, import);
            match format {
                Format::Csv => {
                    let has_header = query.header.unwrap_or(true);
                    let delimiter = query.delimiter.unwrap_or(Delimiter::Auto);
                    let shape = Shape {
                        has_header,
                        is_marked: query.formulas != Some(Formulas::Keep),
                        clears: query.empty_cells == Some(EmptyCells::Clear),
                    };
                    take_csv(&mut importer, &mut incoming, delimiter, shape).await?;
                }
                Format::JsonLines => take_lines(&mut importer, &mut incoming).await?,
            }
            Ok(importer.finish())
        };
        let outcome: Result<FileOutcome, Error> = read.await;
        if !matches!(&outcome, Ok(FileOutcome { stopped: false, .. })) {
            incoming.drain().await;
        }
        outcome.map(Answer::new)
    }
}

fn mapping(text: Option<&str>, limits: &Limits) -> Result<BTreeMap<String, Option<String>>, Error> {
    let Some(text) = text else { return Ok(BTreeMap::new()) };
    let text = guard(text.as_bytes().to_vec(), limits.nesting_max)?;
    serde_json::from_str(&text).map_err(|error| {
        Error::offence(
            "mapping",
            format!("must be a JSON object that maps fields to column ids or null: {error}"),
        )
    })
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
    let mut reader = CsvReader::new(delimiter, importer.row_bytes_max());
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
            let columns = columns.as_deref().unwrap_or_default();
            importer.take(line, content.and_then(|cells| csv_row(cells, columns, shape))).await?;
            if importer.is_stopped() {
                return Ok(());
            }
        }
        if is_end {
            return importer.flush().await;
        }
    }
}

fn csv_fields(first: &[String], shape: Shape) -> Vec<ImportField> {
    let numbered = |place: usize| format!("Column {}", place + 1);
    let mut seen = std::collections::HashSet::new();
    let field = |(place, text): (usize, &String)| {
        let text = shape.text(text).trim();
        if !shape.has_header {
            return ImportField { name: place.to_string(), header: numbered(place) };
        }
        let header = if text.is_empty() { numbered(place) } else { text.to_owned() };
        // Of two headers that are the same the later has a name of its own.
        let name = if seen.insert(header.clone()) { header.clone() } else { format!("{header} ({place})") };
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
        let first = if shape.has_header { "header" } else { "first line" };
        let reason = format!("has {} cells, but the {first} has {}", cells.len(), columns.len());
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
    incoming.head().await?;
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
            return importer.flush().await;
        }
    }
}

/// Takes rows and writes them batch by batch.
struct RowImporter<'c> {
    call: &'c Call<ApiState>,
    import: Import,
    lines: Vec<(u64, Vec<String>)>,
    rows: Vec<ImportRow>,
    bytes: usize,
    told: FileOutcome,
    told_bytes: usize,
}

impl<'c> RowImporter<'c> {
    fn new(call: &'c Call<ApiState>, import: Import) -> Self {
        let told = FileOutcome::default();
        Self { call, import, lines: Vec::new(), rows: Vec::new(), bytes: 0, told, told_bytes: 0 }
    }

    fn row_bytes_max(&self) -> usize {
        usize::try_from(self.call.limits.import_row_bytes_max).unwrap_or(usize::MAX)
    }

    async fn settle(&mut self, fields: Vec<ImportField>) -> Result<Vec<Option<ImportColumn>>, Error> {
        self.call.app().settle_fields(&mut self.import, &fields, true).await?;
        Ok(fields.iter().map(|field| self.import.column(&field.name).cloned()).collect())
    }

    /// A line as a row. Fields that were not seen before find their columns on the way.
    async fn object(&mut self, bytes: Vec<u8>) -> Result<Result<Row, RowError>, Error> {
        let shown = String::from_utf8_lossy(&bytes).into_owned();
        let text = match guard(bytes, self.call.limits.nesting_max) {
            Ok(text) => text,
            Err(error) => return Ok(Err(RowError { reason: error.to_string(), values: vec![shown] })),
        };
        let fields = match fields::one(&text) {
            Ok(fields) => fields,
            Err(error) => return Ok(Err(RowError { reason: error.to_string(), values: vec![shown] })),
        };
        let named: Vec<(&str, &str)> = fields.0.iter().map(|(name, value)| (&**name, *value)).collect();
        if let Some(reason) = self.call.app().early_refusal(&self.import, &named).await? {
            return Ok(Err(RowError { reason, values: vec![shown] }));
        }
        let new = fields.0.iter().filter(|(name, _)| !self.import.is_settled(name));
        let new: Vec<ImportField> =
            new.map(|(name, _)| ImportField { name: name.to_string(), header: name.to_string() }).collect();
        for field in new {
            // One by one, so that a name in other letter case finds the column that was just made.
            self.call.app().settle_fields(&mut self.import, &[field], false).await?;
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
            // A row without a cell is a blank line of commas.
            Ok((row, _)) if row.is_empty() => {}
            Ok((row, values)) => {
                // Also what goes nowhere is held, to be told if the row is refused.
                self.bytes += row.iter().map(|(_, value)| value.len() + CELL_BYTES).sum::<usize>();
                self.bytes += values.iter().map(|value| value.len() + size_of::<String>()).sum::<usize>();
                self.rows.push(row);
                self.lines.push((line, values));
            }
        }
        let most = usize::try_from(self.call.limits.insert_rows_max).unwrap_or(usize::MAX).min(BATCH_ROWS);
        if self.rows.len() >= most || self.bytes >= BATCH_BYTES {
            self.flush().await?;
        }
        Ok(())
    }

    async fn flush(&mut self) -> Result<(), Error> {
        self.bytes = 0;
        let (rows, mut lines) = (std::mem::take(&mut self.rows), std::mem::take(&mut self.lines));
        let batch = match self.call.app().import_rows(&self.import, rows).await {
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
        Ok(())
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
        self.told.rejected_count >= u64::from(self.call.limits.import_rejected_max)
    }

    fn finish(mut self) -> FileOutcome {
        self.told.stopped = self.is_stopped();
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

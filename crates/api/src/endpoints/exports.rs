//! Rows as a file.

use std::fmt::Write as _;
use std::sync::Arc;

use axum::body::Body;
use axum::http::Method;
use bytes::Bytes;
use futures_util::stream::{self, StreamExt as _};
use rowmill_app::{App, Export, Start, WantedSlots, knowing, slots_shown};
use rowmill_fairness::Tenant;
use rowmill_model::{Column, Project, Scopes};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::ProjectPath;
use crate::answer::{Answer, Media};
use crate::answer_memory::AnswerMemory;
use crate::byte_budget::Charge;
use crate::endpoint::{Call, Endpoint, Examples};
use crate::error::Error;
use crate::files::formulas::Formulas;
use crate::files::outgoing::{Dialect, Writer};
use crate::paced;
use crate::payload::{FileText, Nothing};
use crate::row_selection::{columns_of, right_filters_and_sorting};
use crate::state::ApiState;

pub(crate) struct ExportFile;

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct ExportQuery {
    /// `csv` (default), or `jsonl`: one JSON object per line that maps headers to values.
    #[schemars(with = "Format")]
    format: Option<Format>,
    /// Export only the rows of this view, in its order, and only its visible columns.
    #[schemars(extend("x-document" = { "minLength": 1, "maxLength": 64 }))]
    view_id: Option<String>,
    /// Filters as in a view, as JSON. They are combined with the view's filters (AND).
    #[schemars(length(max = 8_000))]
    filters: Option<String>,
    /// Sorting as in a view, as JSON. It replaces the view's sorting.
    #[schemars(length(max = 2_000))]
    sorting: Option<String>,
    /// Return only rows with a cell that contains this text.
    #[schemars(length(max = 1_000))]
    search: Option<String>,
    /// Return only these columns: comma-separated ids or headers. A header that contains a comma must be
    /// given by its id.
    #[schemars(length(max = 10_000))]
    column_ids: Option<String>,
    /// `neutralize` (default) puts an apostrophe before CSV cells that a spreadsheet would run as formulas; an
    /// import removes it again. `keep` exports cells unchanged.
    #[schemars(with = "Formulas")]
    formulas: Option<Formulas>,
    /// Start CSV with a byte order mark, so that Excel detects UTF-8. Default: false.
    bom: Option<bool>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum Format {
    Csv,
    Jsonl,
}

impl Endpoint<ApiState> for ExportFile {
    const METHOD: Method = Method::GET;
    const ID: &'static str = "exportFile";
    const SCOPES: Scopes = Scopes::READ;
    const TAG: &'static str = "Rows";
    const SUMMARY: &'static str = "Export rows";
    const DESCRIPTION: &'static str = "Exports all rows, or those of a view or of filters, as CSV or JSON Lines. The file is streamed. If \
     the export fails midway, the download is incomplete and the connection ends without a proper end of \
     the body.";
    const MEDIA: Media = Media::Csv;
    const MEDIA_ALSO: Option<Media> = Some(Media::JsonLines);
    const ANSWER_HEADERS: &'static [&'static str] = &["Content-Disposition"];
    const CHECKS_REST: bool = true;
    type Path = ProjectPath;
    type Query = ExportQuery;
    type Body = Nothing;
    type Out = FileText;

    fn examples() -> Examples {
        Examples { body: None, answer: Some(json!("Email,City\r\nada@example.com,London\r\n")) }
    }

    async fn handle(
        call: Call<ApiState>,
        path: ProjectPath,
        query: ExportQuery,
        _: Nothing,
    ) -> Result<Answer<FileText>, Error> {
        let ((filters, sorting), mut wrong) =
            right_filters_and_sorting(query.filters.as_deref(), query.sorting.as_deref(), &call.limits);
        let stored = call.app().project(call.caller()?, &path.project_id).await;
        let stored = stored.map_err(|error| error.among(wrong.clone()))?;
        if let Err(error) = columns_of(&stored.project.table, query.column_ids.as_deref()) {
            wrong.extend(error.into_details());
        }
        let list = rowmill_app::ListRows {
            view_id: query.view_id.clone(),
            filters,
            sorting,
            search: query.search,
            start: Start::Offset(0),
            limit: 0,
            include_total: false,
            slots: WantedSlots::All,
        };
        let app = Arc::clone(call.shared_app());
        let begun = knowing(&wrong, app.begin_export(call.caller()?, &path.project_id, list)).await;
        let mut export = begun.map_err(|error| error.among(wrong))?;
        let is_csv = query.format != Some(Format::Jsonl);
        let neutralizes = query.formulas != Some(Formulas::Keep);
        let dialect = Dialect { neutralizes, has_bom: query.bom.unwrap_or_default() };
        let project = Arc::clone(&export.project.project);
        let columns: Vec<&Column> = match &query.column_ids {
            Some(ids) => columns_of(&project.table, Some(ids))?,
            None => export.columns_shown(query.view_id.as_deref()),
        };
        let writer = Writer::new(&project.table, &columns, is_csv, dialect);
        export.slots = slots_shown(&project.table, columns.iter().copied());
        let name = disposition(&project.title, if is_csv { "csv" } else { "jsonl" });

        let left = writer.head().into();
        let writer = Arc::new(writer);
        let memory = Arc::clone(&call.answers);
        let file = Outgoing { app, export, project, writer, left, is_ended: false, memory, charge: None };
        // The body is read long after this call has ended, and for the same team.
        let tenant = Tenant::current();
        let pieces = stream::try_unfold(file, move |mut file| async move {
            let piece = tenant
                .scope(file.next())
                .await
                .inspect_err(|error| tracing::error!(%error, "an export was aborted"))?;
            Ok::<_, Error>(piece.map(|piece| (piece, file)))
        });
        let answer = Answer::streamed(Body::from_stream(pieces.fuse()));
        let answer = if is_csv { answer } else { answer.as_media(Media::JsonLines) };
        Ok(answer.as_download(&name))
    }
}

/// A file as it is read: nobody works ahead of the reader, and one that goes away ends it.
struct Outgoing {
    app: Arc<App>,
    export: Export,
    project: Arc<Project>,
    writer: Arc<Writer>,
    /// Written, but not sent yet.
    left: Bytes,
    is_ended: bool,
    memory: Arc<AnswerMemory>,
    /// The room of what is written.
    charge: Option<Charge>,
}

impl Outgoing {
    async fn next(&mut self) -> Result<Option<Bytes>, Error> {
        if self.left.is_empty() {
            self.charge = None;
            let mut charge = self.memory.admit_part().await?;
            let mut text = String::new();
            while text.len() < paced::PIECE_BYTES && !self.is_ended {
                text = self.write_more(text, &mut charge).await?;
            }
            self.left = text.into();
            self.charge = Some(charge);
        } else {
            // What was written is large, and others wait.
            tokio::task::yield_now().await;
        }
        let piece = paced::next_piece(&mut self.left);
        Ok((!piece.is_empty()).then_some(piece))
    }

    async fn write_more(&mut self, mut text: String, charge: &mut Charge) -> Result<String, Error> {
        let Some(rows) = self.app.export_rows(&mut self.export).await? else {
            self.is_ended = true;
            return Ok(text);
        };
        let bytes = rows.iter().map(|row| row.values.as_bytes().len()).sum();
        self.memory.enlarge(charge, bytes)?;
        let is_long = paced::is_long(bytes, rows.len() * self.project.table.columns.len());
        let (writer, project) = (Arc::clone(&self.writer), Arc::clone(&self.project));
        let work = move || {
            for row in &rows {
                writer.push_row(&mut text, &project.table, row)?;
            }
            Ok::<_, Error>(text)
        };
        if !is_long {
            return work();
        }
        let written = rowmill_fairness::compute(work).await;
        written.map_err(|failure| rowmill_app::Error::Internal(failure.into()))?
    }
}

/// How a browser names the file: for those that know letters beyond ASCII, and for the others.
fn disposition(title: &str, extension: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || " ._-()".contains(letter);
    let plain: String =
        title.chars().take(100).map(|letter| if is_plain(letter) { letter } else { '_' }).collect();
    let mut encoded = String::new();
    for byte in title.chars().filter(|letter| !"/\\".contains(*letter)).take(100).collect::<String>().bytes()
    {
        if byte.is_ascii_alphanumeric() || b"._-".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    format!("attachment; filename=\"{plain}.{extension}\"; filename*=UTF-8''{encoded}.{extension}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_named_after_its_project() {
        let check = |title: &str, expected: &str| assert_eq!(disposition(title, "csv"), expected);
        check("Leads 2026", "attachment; filename=\"Leads 2026.csv\"; filename*=UTF-8''Leads%202026.csv");
        check(
            "Käufer/\"x\"",
            "attachment; filename=\"K_ufer__x_.csv\"; filename*=UTF-8''K%C3%A4ufer%22x%22.csv",
        );
    }
}

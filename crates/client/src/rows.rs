//! `rowmill rows list`.

use std::sync::Arc;

use clap::Args;
use rowmill_clock::Clock;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::connection::ConnectionArgs;
use crate::failure::{Ending, Failure};
use crate::output::{Grid, JsonArray, text_of};
use crate::selection::{SelectionArgs, column_ids, row_count};
use crate::server::{Pair, Server};
use crate::tables::{self, Table};
use crate::wire::{Cell, Row};

#[derive(Debug, Args)]
pub struct ListArgs {
    /// The table's id or title.
    table: String,
    /// Maximum number of rows.
    #[arg(long, value_name = "ROWS", default_value_t = 50, conflicts_with = "all", value_parser = row_count, allow_negative_numbers = true)]
    limit: u64,
    /// List all rows.
    #[arg(long)]
    all: bool,
    /// Only this column, by id or header. Can be repeated.
    #[arg(long = "column", value_name = "COLUMN")]
    columns: Vec<String>,
    /// Show the state of cells beside their values.
    #[arg(long)]
    state: bool,
    #[command(flatten)]
    selection: SelectionArgs,
    #[command(flatten)]
    pub(crate) connection: ConnectionArgs,
}

#[derive(Deserialize)]
struct Page {
    rows: Vec<Box<RawValue>>,
    pagination: Pagination,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Pagination {
    next_cursor: Option<String>,
}

pub(crate) async fn run(args: ListArgs, clock: Arc<dyn Clock>) -> Result<Ending, Failure> {
    let server = args.connection.connect(clock)?;
    let table = tables::find(&server, &args.table).await?;
    let columns = table.columns(&server).await?;
    let ids = column_ids(&args.columns, &columns)?;
    let shown = columns.iter().filter(|column| ids.is_empty() || ids.contains(&column.id));
    let mut headers = vec!["ID"];
    headers.extend(shown.map(|column| column.header.as_str()));
    let selection = args.selection.resolve(&server, &table).await?;
    let mut query = selection.query()?;
    query.extend([("keyBy", "header".to_owned()), ("includeTotal", "false".to_owned())]);
    if args.state {
        query.push(("withState", "true".to_owned()));
    }
    if !ids.is_empty() {
        query.push(("columnIds", ids.join(",")));
    }
    let rows_max = if args.all { u64::MAX } else { args.limit };
    let pages = Pages {
        server: &server,
        table: &table,
        query,
        rows_left: rows_max,
        cursor: None,
        is_over: rows_max == 0,
    };
    let printed = if args.connection.json {
        print_json(pages).await
    } else {
        print_text(pages, &headers, args.state).await
    };
    printed.map_err(|failure| selection.in_own_words(failure))
}

async fn print_json(mut pages: Pages<'_>) -> Result<Ending, Failure> {
    let mut array = JsonArray::default();
    let page_size_max = pages.page_size_max().await?;
    while let Some(rows) = pages.next(page_size_max).await? {
        array.print(&rows)?;
    }
    array.end()?;
    Ok(Ending::Done)
}

async fn print_text(mut pages: Pages<'_>, headers: &[&str], has_state: bool) -> Result<Ending, Failure> {
    let mut grid = Grid::new(headers);
    let page_size_max = pages.page_size_max().await?;
    while let Some(rows) = pages.next(page_size_max).await? {
        let lines: Result<Vec<Vec<String>>, serde_json::Error> =
            rows.iter().map(|row| line(row, headers, has_state)).collect();
        let lines = lines.map_err(|error| Failure::failed(format!("a row is not understood: {error}")))?;
        grid.print(&lines)?;
    }
    Ok(Ending::Done)
}

/// A row's cells as text, in the order of the headers.
fn line(row: &RawValue, headers: &[&str], has_state: bool) -> Result<Vec<String>, serde_json::Error> {
    let (id, cells): (String, Vec<(String, String)>) = if has_state {
        let row: Row<Cell> = serde_json::from_str(row.get())?;
        (row.id, row.cells.0.into_iter().map(|(header, cell)| (header, with_state(&cell))).collect())
    } else {
        let row: Row<Box<RawValue>> = serde_json::from_str(row.get())?;
        (row.id, row.cells.0.into_iter().map(|(header, value)| (header, text_of(&value))).collect())
    };
    let text = |header: &&str| {
        let cell = cells.iter().find(|(name, _)| name == header);
        cell.map(|(_, text)| text.clone()).unwrap_or_default()
    };
    Ok(std::iter::once(id).chain(headers.iter().skip(1).map(text)).collect())
}

fn with_state(cell: &Cell) -> String {
    let text = text_of(&cell.value);
    match (&cell.error, cell.status.as_str()) {
        (Some(error), status) => format!("{text} ({status}: {})", error.code),
        (None, "idle" | "completed") => text,
        (None, status) => format!("{text} ({status})"),
    }
    .trim_start()
    .to_owned()
}

/// The rows of a list, page by page.
struct Pages<'a> {
    server: &'a Server,
    table: &'a Table,
    query: Vec<Pair>,
    rows_left: u64,
    cursor: Option<String>,
    is_over: bool,
}

impl Pages<'_> {
    /// A setting of the server.
    async fn page_size_max(&self) -> Result<u64, Failure> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Limits {
            page_size_max: u64,
        }
        #[derive(Deserialize)]
        struct LimitsAnswer {
            limits: Limits,
        }

        Ok(self.server.get("/v4/limits", &[]).await?.parse::<LimitsAnswer>()?.limits.page_size_max)
    }

    async fn next(&mut self, page_size_max: u64) -> Result<Option<Vec<Box<RawValue>>>, Failure> {
        if self.is_over {
            return Ok(None);
        }
        let size = self.rows_left.min(page_size_max);
        let mut query = self.query.clone();
        query.push(("pageSize", size.to_string()));
        query.extend(self.cursor.take().map(|cursor| ("cursor", cursor)));
        let page: Page = self.server.get(&self.table.path("/rows"), &query).await?.parse()?;
        self.rows_left = self.rows_left.saturating_sub(size);
        self.cursor = page.pagination.next_cursor;
        self.is_over = self.cursor.is_none() || self.rows_left == 0;
        Ok(Some(page.rows))
    }
}

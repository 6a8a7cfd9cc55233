//! Rows with large values: what a small cell of theirs costs, beside the same in rows of about 400 bytes.

use std::path::Path;
use std::time::Instant;

use serde_json::{Value, json};

use crate::any_result::AnyResult;
use crate::client::Connection;
use crate::effort::Effort;
use crate::rates::milliseconds;
use crate::report::{Pairs, Report};
use crate::rowmill::{Project, Rowmill};
use crate::store::Backend;
use crate::views::encoded;

/// The bytes of a value where a row is ordinary.
const SMALL: usize = 400;
const MEGABYTE: usize = 1_000_000;
/// As many columns have large values.
const WIDE_COLUMNS: usize = 20;
/// How often a cell is written, or a page read, in a round.
const REPEATS: usize = 20;
/// What is sent in one request, about.
const CALL_BYTES: usize = 1_000_000;

pub(crate) fn measure(
    server: &Path,
    backend: &Backend,
    scratch: &Path,
    effort: &Effort,
    report: &mut Report,
) -> AnyResult {
    let folder = scratch.join("wide");
    crate::folders::clear(&folder)?;
    let mut rowmill = Rowmill::start(server, backend.place(&folder.join("data"))?)?;
    for columns in [1, WIDE_COLUMNS] {
        let (wide, ordinary) =
            (Table::new(&rowmill, 1, columns, MEGABYTE)?, Table::new(&rowmill, 1, 1, SMALL)?);
        let mut pairs = Pairs::default();
        for round in 0..effort.rounds {
            pairs.push(wide.write(&rowmill, round)?, ordinary.write(&rowmill, round)?);
        }
        let what = format!("a small cell written in a row of {columns} MB, beside one of 400 bytes");
        report.pair(&what, "ms", &pairs, None);
    }
    let (wide, ordinary) = (Table::new(&rowmill, 100, 1, MEGABYTE)?, Table::new(&rowmill, 100, 1, SMALL)?);
    let mut pairs = Pairs::default();
    for _ in 0..effort.rounds {
        pairs.push(wide.list(&rowmill)?, ordinary.list(&rowmill)?);
    }
    report.pair("a small column of 100 rows of 1 MB, beside rows of 400 bytes", "ms", &pairs, None);
    let (wide, ordinary) =
        (Table::new(&rowmill, 1_000, 1, MEGABYTE / 10)?, Table::new(&rowmill, 1_000, 1, SMALL)?);
    let mut pairs = Pairs::default();
    for _ in 0..effort.starts {
        // What is in memory is forgotten.
        rowmill.restart()?;
        let first = wide.filter(&rowmill)?;
        rowmill.restart()?;
        pairs.push(first, ordinary.filter(&rowmill)?);
    }
    let what = "the first filter by a small column of 1,000 rows of 100 KB, beside rows of 400 bytes";
    report.pair(what, "ms", &pairs, None);
    drop(rowmill);
    crate::folders::clear(&folder)
}

/// Rows with a short name, and some columns with values of so many bytes.
struct Table {
    project: Project,
    first_row: String,
}

impl Table {
    fn new(rowmill: &Rowmill, rows: usize, columns: usize, bytes: usize) -> AnyResult<Self> {
        let names: Vec<String> = (0..columns).map(|number| format!("Wide {number}")).collect();
        let mut headers = vec!["Name"];
        headers.extend(names.iter().map(String::as_str));
        let project = rowmill.create_project_of(&headers)?;
        let large = "wide".repeat(bytes / 4);
        let call_rows = (CALL_BYTES / bytes).clamp(1, rows);
        let mut first_row = String::new();
        for first in (0..rows).step_by(call_rows) {
            let row = |number: usize| json!({ "Name": format!("name {number}"), "Wide 0": large });
            let call: Vec<Value> = (first..rows.min(first + call_rows)).map(row).collect();
            let answer = rowmill.ask("POST", &project.rows_path(), &Value::from(call).to_string())?;
            if first == 0 {
                let answer: Value = serde_json::from_slice(&answer)?;
                let id = answer.pointer("/rows/0").and_then(Value::as_str).ok_or("no row was inserted")?;
                id.clone_into(&mut first_row);
            }
        }
        let table = Self { project, first_row };
        // A request is no larger than a value or two, so the others are written one by one.
        for name in names.iter().skip(1) {
            let body = table.body(name, &large)?;
            rowmill.ask("PATCH", &table.cells_path(), &body)?;
        }
        Ok(table)
    }

    fn cells_path(&self) -> String {
        format!("/v4/projects/{}/cells", self.project.id)
    }

    fn body(&self, header: &str, value: &str) -> AnyResult<String> {
        let column = self.project.column_id(header)?;
        Ok(json!({ "cells": [{ "rowId": self.first_row, "columnId": column, "value": value }] }).to_string())
    }

    /// How many milliseconds it takes to write the name of the first row.
    fn write(&self, rowmill: &Rowmill, round: usize) -> AnyResult<f64> {
        let request = |number| -> AnyResult<Vec<u8>> {
            let body = self.body("Name", &format!("name {round} {number}"))?;
            Ok(rowmill.request("PATCH", &self.cells_path(), &body))
        };
        timed(rowmill, &(0..REPEATS).map(request).collect::<AnyResult<Vec<_>>>()?)
    }

    /// How many milliseconds it takes to read the names of 100 rows.
    fn list(&self, rowmill: &Rowmill) -> AnyResult<f64> {
        let path = format!("{}?pageSize=100&columnIds=Name", self.project.rows_path());
        timed(rowmill, &vec![rowmill.request("GET", &path, ""); REPEATS])
    }

    /// How many milliseconds it takes to filter by the name.
    fn filter(&self, rowmill: &Rowmill) -> AnyResult<f64> {
        let column = self.project.column_id("Name")?;
        let filters = json!([{ "columnId": column, "operator": "contains", "value": "99" }]);
        let path =
            format!("{}?pageSize=10&columnIds=Name&filters={}", self.project.rows_path(), encoded(&filters));
        timed(rowmill, &[rowmill.request("GET", &path, "")])
    }
}

/// How many milliseconds one of these requests takes, one after the other on one connection.
fn timed(rowmill: &Rowmill, requests: &[Vec<u8>]) -> AnyResult<f64> {
    let mut connection = Connection::open(rowmill.address)?;
    let start = Instant::now();
    for request in requests {
        connection.exchange(request)?;
    }
    Ok(milliseconds(start.elapsed()) / crate::rates::count(requests.len()))
}

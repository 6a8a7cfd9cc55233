//! Contract section 7, last sentence: nothing acknowledged is ever lost, whenever the process dies.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::runner::scenarios;
use crate::harness::table::strings;
use crate::harness::{Answer, Request, Scenario, Server, Table, eventually};

pub(crate) const OWN: &[Scenario] = &scenarios!("crashes", Own:
    no_acknowledged_write_is_lost_and_none_is_half,
);

const WRITERS: usize = 4;
/// Rows that one batch of a writer inserts, and cells that one of its batches of cells writes.
const BATCH: usize = 7;

fn rounds() -> usize {
    let variable = std::env::var("ROWMILL_TEST_CRASH_ROUNDS").ok();
    variable.map_or(20, |rounds| rounds.parse().expect("ROWMILL_TEST_CRASH_ROUNDS is a number"))
}

fn no_acknowledged_write_is_lost_and_none_is_half() {
    let mut server = Server::start(&[]);
    for round in 0..rounds() {
        let table = server.api().table(&["Batch", "Index", "Mark"]);
        let acknowledged = AtomicUsize::new(0);
        // The crash comes after another number of writes each round, and always in the midst of some.
        let enough = 10 + (round * 37) % 60;
        let write_logs: Vec<WriteLog> = std::thread::scope(|scope| {
            let (table, acknowledged) = (&table, &acknowledged);
            let start = |writer| scope.spawn(move || write(table, writer, acknowledged));
            let writers: Vec<_> = (0..WRITERS).map(start).collect();
            eventually("enough is written", Duration::from_mins(1), || {
                (acknowledged.load(Ordering::Relaxed) >= enough).then_some(())
            });
            server.kill();
            writers.into_iter().map(|writer| writer.join().unwrap()).collect()
        });
        server.restart();
        let table = table.through(&server.api());
        verify(&table, &write_logs, round);
        // It goes on as if nothing had happened.
        table.insert(json!({ "Batch": "after" }));
    }
}

/// What one writer was told, and what it was waiting for when the server died.
#[derive(Default)]
struct WriteLog {
    writer: usize,
    /// The ids of each batch that was acknowledged and not deleted, by its number.
    batches: BTreeMap<usize, Vec<String>>,
    deleted: BTreeSet<usize>,
    /// The number last written into all cells `Mark` of the first batch.
    mark: u64,
    open: Option<Open>,
}

/// A write whose fate is not known.
enum Open {
    Insert(usize),
    Mark(u64),
    Delete(usize),
}

/// Inserts batches, marks cells of its first batch and deletes older ones, until the server is gone.
fn write(table: &Table, writer: usize, acknowledged: &AtomicUsize) -> WriteLog {
    let mut write_log = WriteLog { writer, ..WriteLog::default() };
    for step in 0.. {
        let open = match step % 4 {
            1 | 2 if !write_log.batches.is_empty() => Open::Mark(step),
            3 if write_log.batches.len() > 2 => Open::Delete(*write_log.batches.keys().nth(1).unwrap()),
            _ => Open::Insert(write_log.batches.len() + write_log.deleted.len()),
        };
        let Some(answer) = attempt(table, &write_log, &open) else {
            write_log.open = Some(open);
            break;
        };
        match open {
            Open::Insert(batch) => drop(write_log.batches.insert(batch, strings(&answer.created()["rows"]))),
            Open::Mark(mark) => {
                assert_eq!(answer.ok()["updatedCount"], BATCH);
                write_log.mark = mark;
            }
            Open::Delete(batch) => {
                assert_eq!(answer.ok()["deletedCount"], BATCH);
                write_log.batches.remove(&batch);
                write_log.deleted.insert(batch);
            }
        }
        acknowledged.fetch_add(1, Ordering::Relaxed);
    }
    write_log
}

/// The answer; none if the server died before it gave one.
fn attempt(table: &Table, write_log: &WriteLog, open: &Open) -> Option<Answer> {
    let request = match open {
        Open::Insert(batch) => {
            let name = format!("{}-{batch}", write_log.writer);
            let rows = (0..BATCH).map(|index| json!({ "Batch": name, "Index": index, "Mark": 0 }));
            Request::post(table.path("/rows")).json(&rows.collect())
        }
        Open::Mark(mark) => {
            let cell = |row| json!({ "rowId": row, "columnId": table.column("Mark"), "value": mark });
            let cells: Vec<Value> = write_log.batches[&0].iter().map(cell).collect();
            Request::new("PATCH", table.path("/cells")).json(&json!({ "cells": cells }))
        }
        Open::Delete(batch) => {
            Request::new("DELETE", table.path("/rows")).json(&json!({ "rowIds": write_log.batches[batch] }))
        }
    };
    table.api.try_send(request).ok()
}

/// What is stored of a batch: its rows in order, as (id, mark).
type Stored = BTreeMap<String, Vec<(String, Value)>>;

fn verify(table: &Table, write_logs: &[WriteLog], round: usize) {
    let stored = walk(table);
    let mut known = BTreeSet::new();
    for write_log in write_logs {
        let name = |batch: usize| format!("{}-{batch}", write_log.writer);
        for (batch, ids) in &write_log.batches {
            let rows = stored.get(&name(*batch));
            if rows.is_none() {
                let may_be_gone = matches!(write_log.open, Some(Open::Delete(open)) if open == *batch);
                assert!(may_be_gone, "round {round}: acknowledged batch {} is lost", name(*batch));
                continue;
            }
            let found: Vec<&String> = rows.unwrap().iter().map(|(id, _)| id).collect();
            assert_eq!(found, ids.iter().collect::<Vec<_>>(), "round {round}: batch {}", name(*batch));
            known.insert(name(*batch));
        }
        for batch in &write_log.deleted {
            assert!(
                !stored.contains_key(&name(*batch)),
                "round {round}: deleted batch {} is back",
                name(*batch)
            );
        }
        if let Some(Open::Insert(batch)) = write_log.open {
            let count = stored.get(&name(batch)).map_or(0, Vec::len);
            assert!(count == 0 || count == BATCH, "round {round}: half a batch, {count} rows");
            known.insert(name(batch));
        }
        verify_marks(&stored, write_log, round);
    }
    assert!(stored.keys().all(|name| known.contains(name)), "round {round}: rows nobody sent");
}

fn verify_marks(stored: &Stored, write_log: &WriteLog, round: usize) {
    let Some(rows) = stored.get(&format!("{}-0", write_log.writer)) else { return };
    let marks: BTreeSet<u64> = rows.iter().map(|(_, mark)| mark.as_u64().unwrap()).collect();
    assert_eq!(marks.len(), 1, "round {round}: half a batch of cells, {marks:?}");
    let mark = *marks.first().unwrap();
    let may_be_new = matches!(write_log.open, Some(Open::Mark(open)) if open == mark);
    assert!(
        mark == write_log.mark || may_be_new,
        "round {round}: mark {mark}, acknowledged {}",
        write_log.mark
    );
}

/// Everything stored, page by page, checked against the counts.
fn walk(table: &Table) -> Stored {
    let mut stored = Stored::new();
    let mut count = 0;
    let [batch, index, mark] = ["Batch", "Index", "Mark"].map(|header| table.column(header));
    for page in 1.. {
        let answer = table.rows(&[("page", &page.to_string()), ("pageSize", "1000")]);
        let rows = answer["rows"].as_array().unwrap();
        for row in rows {
            let entry = stored.entry(row["cells"][batch].as_str().unwrap().to_owned()).or_default();
            assert_eq!(row["cells"][index], entry.len(), "a row is missing or twice");
            entry.push((row["id"].as_str().unwrap().to_owned(), row["cells"][mark].clone()));
        }
        count += rows.len();
        if answer["pagination"]["nextCursor"].is_null() {
            assert_eq!(answer["pagination"]["totalRows"], count, "totalRows");
            break;
        }
    }
    assert_eq!(table.get("").ok()["project"]["rowCount"], count, "rowCount");
    stored
}

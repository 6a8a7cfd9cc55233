//! Nothing acknowledged is lost when the power goes, even if the disk drops, tears and reorders whatever it was not told
//! to sync.

use serde_json::json;

use crate::harness::database::Database;
use crate::harness::disk_log::DiskLog;
use crate::harness::faults::sized;
use crate::harness::runner::scenarios;
use crate::harness::server::{DataDir, UNLIMITED};
use crate::harness::{Scenario, Server, Table};

pub(crate) const EMBEDDED: &[Scenario] = &scenarios!("power_cuts", Embedded:
    nothing_acknowledged_is_lost_with_the_power,
);

const WRITERS: usize = 4;

fn nothing_acknowledged_is_lost_with_the_power() {
    let folder = DataDir::logged();
    let (log, data) = (folder.disk_log(), folder.data());
    let server = Server::start_in(folder, UNLIMITED);
    let api = server.api();
    let tables: Vec<Table> = (0..WRITERS).map(|_| api.table(&["Number", "Text"])).collect();
    let marked: Vec<String> =
        tables.iter().map(|table| table.insert(json!({ "Number": "mark", "Text": 0 })).remove(0)).collect();
    let place = || std::fs::metadata(&log).unwrap().len();
    let begun = place();
    let histories: Vec<Vec<Write>> = std::thread::scope(|scope| {
        let place = &place;
        let pairs = tables.iter().zip(&marked);
        let writers: Vec<_> =
            pairs.map(|(table, row)| scope.spawn(move || write(table, row, place))).collect();
        writers.into_iter().map(|writer| writer.join().unwrap()).collect()
    });
    server.kill();

    let disk_log = DiskLog::read(&log);
    let places: Vec<u64> = disk_log.places().filter(|place| *place >= begun).collect();
    assert!(places.len() > 500, "the log has {} records", places.len());
    let mut random = fastrand::Rng::with_seed(sized(1, fastrand::u64(..)));
    println!("seed {}", random.get_seed());
    for _ in 0..sized(10, 150) {
        let place = places[random.usize(..places.len())];
        let restored = DataDir::on(Database::Sqlite);
        disk_log.restore(place, &data, &restored.data(), &mut random);
        let server = Server::start_in(restored, UNLIMITED);
        for (table, history) in tables.iter().zip(&histories) {
            verify(&table.through(&server.api()), history, place);
        }
    }
    println!("{} writes, {} records", histories.iter().map(Vec::len).sum::<usize>(), places.len());
}

/// A write, and the places of the log before it was sent and after it was acknowledged.
struct Write {
    kind: Kind,
    number: u64,
    sent: u64,
    acknowledged: u64,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Insert,
    /// Writes the number into a cell that all marks write.
    Mark,
    Delete,
}

fn write(table: &Table, marked: &str, place: impl Fn() -> u64) -> Vec<Write> {
    let mut rows: Vec<(u64, String)> = Vec::new();
    let mut history = Vec::new();
    for number in 1..=sized(60, 300) {
        let sent = place();
        let (kind, number) = match number % 5 {
            3 => {
                let cell = json!({ "rowId": marked, "columnId": table.column("Text"), "value": number });
                table.patch("/cells", json!({ "cells": [cell] })).ok();
                (Kind::Mark, number)
            }
            4 => {
                let (number, row) = rows.swap_remove(rows.len() / 2);
                table.delete_rows(&[row]).ok();
                (Kind::Delete, number)
            }
            _ => {
                // Large enough that what is logged goes into the database now and then.
                let text = "x".repeat(usize::try_from(number % 7).unwrap() * 4_000);
                let row = table.insert(json!({ "Number": number, "Text": text })).remove(0);
                rows.push((number, row));
                (Kind::Insert, number)
            }
        };
        history.push(Write { kind, number, sent, acknowledged: place() });
    }
    history
}

/// What was acknowledged before the cut is there, and what was sent after it is not.
fn verify(table: &Table, history: &[Write], place: u64) {
    let numbers = table.values("Number", &[("pageSize", "1000")]);
    for write in history.iter().filter(|write| write.kind == Kind::Insert) {
        let number = write.number;
        let is_there = numbers.contains(&json!(number));
        let deleted = history.iter().find(|other| other.kind == Kind::Delete && other.number == number);
        if deleted.is_some_and(|delete| delete.acknowledged <= place) || write.sent >= place {
            assert!(!is_there, "row {number} is there at {place}");
        } else if write.acknowledged <= place && deleted.is_none_or(|delete| delete.sent >= place) {
            assert!(is_there, "row {number} is lost at {place}");
        }
    }
    let mark = table.values("Text", &[("pageSize", "1")]).remove(0);
    let last = |is_so: &dyn Fn(&&Write) -> bool| {
        let marks = history.iter().filter(|write| write.kind == Kind::Mark);
        marks.filter(is_so).map(|write| write.number).max().unwrap_or(0)
    };
    let lowest = last(&|write| write.acknowledged <= place);
    let highest = last(&|write| write.sent < place);
    let mark = mark.as_u64().unwrap();
    assert!((lowest..=highest).contains(&mark), "{mark} is not {lowest} to {highest} at {place}");
}

//! Fairness between teams that write: nobody waits behind all that another team has queued.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::faults::sized;
use crate::harness::runner::scenarios;
use crate::harness::{Scenario, Server, Table, eventually};

/// PostgreSQL has many writers, which share nothing but the machine.
pub(crate) const EMBEDDED: &[Scenario] = &scenarios!("writers", Embedded:
    a_small_write_does_not_wait_behind_anothers_bulk_inserts,
);

pub(crate) const OWN: &[Scenario] = &scenarios!("writers", Own:
    an_insert_of_many_rows_is_whole_beside_others,
);

/// Writes of the quiet team.
const WRITES: usize = 15;
/// Generous: what counts is how much longer the neighbour's inserts take.
const TIME_MAX: Duration = Duration::from_mins(2);

fn bulk(rows: usize) -> Value {
    (0..rows).map(|number| json!({ "Name": format!("row {number}"), "City": "Gothenburg" })).collect()
}

fn a_small_write_does_not_wait_behind_anothers_bulk_inserts() {
    let server = Server::start(&[]);
    let (clients, rows) = sized((8, 1_000), (16, 10_000));
    let noisy: Vec<Table> = (0..clients).map(|_| server.api().table(&["Name", "City"])).collect();
    let quiet = server.team("quiet").table(&["Name"]);
    let (stopped, inserts) = (AtomicBool::new(false), Mutex::new(Vec::new()));
    let body = bulk(rows);
    let writes: Vec<Duration> = std::thread::scope(|scope| {
        for table in &noisy {
            scope.spawn(|| {
                while !stopped.load(Ordering::Relaxed) {
                    let took = timed(|| assert_eq!(table.insert(body.clone()).len(), rows));
                    inserts.lock().unwrap().push(took);
                }
            });
        }
        eventually("the neighbour is busy", TIME_MAX, || {
            (inserts.lock().unwrap().len() > clients).then_some(())
        });
        let writes = (0..WRITES).map(|_| timed(|| drop(quiet.insert(json!([{ "Name": "Ada" }])))));
        let writes = writes.collect();
        stopped.store(true, Ordering::Relaxed);
        writes
    });
    let inserts = inserts.into_inner().unwrap();
    // What was undone for the quiet team was done again, and once.
    assert_eq!(noisy.iter().map(total).sum::<usize>(), inserts.len() * rows);
    let (write, insert) = (median(writes), median(inserts));
    // First come, first served would be as long for the one as for the others.
    assert!(2 * write < insert, "a write took {write:?}, an insert of the neighbour's {insert:?}");
    assert_eq!(total(&quiet), WRITES);
}

fn timed(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn total(table: &Table) -> usize {
    let page = table.rows(&[("pageSize", "1")]);
    usize::try_from(page["pagination"]["totalRows"].as_u64().unwrap_or_else(|| panic!("{page}"))).unwrap()
}

/// Taking turns changes nothing of this: an insert is there whole, in order, or not at all.
fn an_insert_of_many_rows_is_whole_beside_others() {
    let server = Server::start(&[]);
    let tables = [server.api().table(&["Name"]), server.team("other").table(&["Name"])];
    let rows = sized(2_000, 10_000);
    std::thread::scope(|scope| {
        for table in &tables {
            for batch in 0..3 {
                scope.spawn(move || {
                    let body =
                        (0..rows).map(|number| json!({ "Name": format!("{batch} {number}") })).collect();
                    assert_eq!(table.insert(body).len(), rows);
                    table.insert(json!([{ "Name": "alone" }]));
                });
            }
        }
        for table in &tables {
            scope.spawn(move || {
                for _ in 0..20 {
                    let total = total(table);
                    assert!(total % rows <= 3, "part of an insert is seen: {total} rows");
                }
            });
        }
    });
    for table in &tables {
        assert_eq!(total(table), 3 * rows + 3);
    }
}

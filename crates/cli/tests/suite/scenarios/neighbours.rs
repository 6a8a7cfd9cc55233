//! A team that reads much beside a team that reads little: the quiet one does not wait for the noisy one.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::http::{self, Request};
use crate::harness::runner::scenarios;
use crate::harness::{Scenario, Server, Table};

pub(crate) const OWN: &[Scenario] = &scenarios!("neighbours", Own:
    project_lists_do_not_wait_for_a_neighbours_pages,
    project_lists_do_not_wait_for_a_neighbours_exports,
);

const NOISY_READERS: usize = 32;
/// Far more than it takes on a busy machine, and far less than a queue of the neighbour's reads.
const MEDIAN_MAX: Duration = Duration::from_secs(2);

fn project_lists_do_not_wait_for_a_neighbours_pages() {
    // Pages of chosen columns are not answered from memory.
    beside(|table| format!("/rows?pageSize=1000&columnIds={}", table.column("A")));
}

fn project_lists_do_not_wait_for_a_neighbours_exports() {
    beside(|_| "/export".to_owned());
}

fn beside(read: impl Fn(&Table) -> String) {
    let server = Server::start(&[]);
    let (noisy, quiet) = (server.team("noisy"), server.team("quiet"));
    let table = noisy.table(&["A", "B", "C", "D", "E", "F", "G", "H", "I", "J"]);
    for batch in 0..4 {
        let row = |number: i32| -> Value {
            ["A", "B", "C", "D", "E", "F", "G", "H", "I", "J"]
                .iter()
                .map(|column| ((*column).to_owned(), json!(format!("value {batch} {number} {column}"))))
                .collect::<serde_json::Map<_, _>>()
                .into()
        };
        table.insert((0..1_000).map(row).collect());
    }
    let rest = &read(&table);
    quiet.table(&["A"]);
    let alone = median(&quiet);
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..NOISY_READERS {
            scope.spawn(|| {
                let request = noisy.with_key(Request::get(table.path(rest)));
                while !is_over.load(Ordering::Relaxed) {
                    let read = http::exchange(&server.address, &request);
                    assert!(
                        read.is_ok_and(|response| response.status == 200),
                        "the noisy team is served, too"
                    );
                }
            });
        }
        std::thread::sleep(Duration::from_millis(500));
        let disturbed = median(&quiet);
        is_over.store(true, Ordering::Relaxed);
        println!("a project list: {alone:?} alone, {disturbed:?} beside {NOISY_READERS} of {rest}");
        assert!(disturbed < MEDIAN_MAX, "{disturbed:?} beside {NOISY_READERS} of {rest}, {alone:?} alone");
    });
}

fn median(api: &crate::harness::Api) -> Duration {
    let request = api.with_key(Request::get("/v4/projects"));
    let mut times: Vec<Duration> = (0..15)
        .map(|_| {
            let start = Instant::now();
            assert_eq!(http::exchange(&api.address, &request).unwrap().status, 200);
            start.elapsed()
        })
        .collect();
    times.sort_unstable();
    times[7]
}

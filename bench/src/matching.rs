//! Rows matched on a column: indexing it beside another project's writes, imports and upserts.

use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use crate::any_result::AnyResult;
use crate::client::Connection;
use crate::load::{self, Until};
use crate::random::Random;
use crate::rates::milliseconds;
use crate::report::{Goal, Report};
use crate::rowmill::{Project, Rowmill};
use crate::store::Backend;

const CALL_ROWS: usize = 10_000;
const CLIENTS: usize = 2;

pub(crate) fn measure(
    server: &Path,
    backend: &Backend,
    scratch: &Path,
    rows: usize,
    rounds: usize,
    report: &mut Report,
) -> AnyResult {
    let folder = scratch.join("matching");
    crate::folders::clear(&folder)?;
    let goal = |goal: Goal| (rows >= 1_000_000).then_some(goal);
    let rowmill = Rowmill::start(server, backend.place(&folder.join("data"))?)?;
    let table = Table { project: rowmill.create_project_of(&["Email", "Company"])?, rowmill };
    // Some at a time, so that a large table is not made in memory first.
    for first in (0..rows).step_by(CALL_ROWS * 20) {
        table.insert(first..rows.min(first + CALL_ROWS * 20), "")?;
    }
    let (first, longest) = table.first_match(rows)?;
    report.single("the first match on a column, which indexes it", &[first], "ms", None);
    let what = "the longest that a write to another project waits meanwhile";
    report.single(what, &[longest], "ms", goal(Goal::AtMost(20.0)));
    let imported = rounds * CALL_ROWS * 4;
    let elapsed = table.insert(rows..rows + imported, "?matchOn=Email")?;
    #[expect(clippy::cast_precision_loss, reason = "far fewer than 2^52 rows")]
    let rate = imported as f64 / elapsed * 1_000.0;
    report.single("new rows with a match", &[rate], "rows/s", goal(Goal::AtLeast(40_000.0)));
    let mut random = Random::new(5);
    let upserts: AnyResult<Vec<f64>> = (0..rounds)
        .map(|_| {
            let first = random.below(rows.saturating_sub(CALL_ROWS).max(1));
            table.insert(first..first + CALL_ROWS.min(rows), "?matchOn=Email")
        })
        .collect();
    report.single("an upsert of 10,000 rows that are there", &upserts?, "ms", goal(Goal::AtMost(200.0)));
    drop(table);
    crate::folders::clear(&folder)
}

struct Table {
    rowmill: Rowmill,
    project: Project,
}

impl Table {
    /// Sends rows, and says how many milliseconds that took.
    fn insert(&self, rows: Range<usize>, query: &str) -> AnyResult<f64> {
        let path = format!("{}{query}", self.project.rows_path());
        let call = |first: usize| {
            let rows = (first..rows.end.min(first + CALL_ROWS)).map(row);
            self.rowmill.request("POST", &path, &format!("[{}]", rows.collect::<Vec<_>>().join(",")))
        };
        let calls: Vec<Vec<u8>> = rows.clone().step_by(CALL_ROWS).map(call).collect();
        let sent =
            load::run(self.rowmill.address, CLIENTS.min(calls.len()), &calls, Until::Done, &|_, _| {})?;
        Ok(milliseconds(sent.elapsed))
    }

    /// How long the first match takes, and how long one of the writes beside it at most.
    fn first_match(&self, rows: usize) -> AnyResult<(f64, f64)> {
        let other = self.rowmill.create_project_of(&["Name"])?;
        let write = self.rowmill.request("POST", &other.rows_path(), r#"[{"Name":"Ada"}]"#);
        let is_done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let beside = scope.spawn(|| -> AnyResult<f64> {
                let mut connection = Connection::open(self.rowmill.address)?;
                let mut longest = 0.0_f64;
                while !is_done.load(Ordering::Acquire) {
                    let start = Instant::now();
                    connection.exchange(&write)?;
                    longest = longest.max(milliseconds(start.elapsed()));
                }
                Ok(longest)
            });
            let start = Instant::now();
            let path = format!("{}?matchOn=Email", self.project.rows_path());
            let matched = self.rowmill.ask("POST", &path, &format!("[{}]", row(rows / 2)));
            let elapsed = milliseconds(start.elapsed());
            is_done.store(true, Ordering::Release);
            matched?;
            Ok((elapsed, beside.join().map_err(|_| "a writer panicked")??))
        })
    }
}

fn row(number: usize) -> String {
    let mut random = Random::new(u64::try_from(number).unwrap_or_default());
    let company = random.below(100_000);
    format!(r#"{{"Email":"person{number}@company{company}.example","Company":"Company {company}"}}"#)
}

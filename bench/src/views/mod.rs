//! Filtered and sorted pages, beside databases asked the same and beside bare sorting.

mod bulk;
mod cliffs;
mod data;
mod yardsticks;

use std::path::Path;
use std::time::Instant;

use futures_util::TryStreamExt as _;
use serde_json::{Value, json};

use crate::any_result::AnyResult;
use crate::client::Connection;
use crate::effort::Effort;
use crate::load::{self, Until};
use crate::postgres;
use crate::random::Random;
use crate::rates::milliseconds;
use crate::report::{Goal, Pairs, Report};
use crate::rowmill::{Project, Rowmill};
use crate::runtime::runtime;
use crate::store::{Backend, DataLocation};
pub(crate) use data::encoded;
use data::{CITIES, HEADERS, Question};
use yardsticks::Yardsticks;

const READERS: usize = 16;
const WRITERS: usize = 4;
/// How often a page is asked for that needs no work.
const REPEATS: usize = 200;

pub(crate) fn measure(
    server: &Path,
    backend: &Backend,
    scratch: &Path,
    rows: usize,
    python: Option<&Path>,
    effort: &Effort,
    report: &mut Report,
) -> AnyResult {
    let folder = scratch.join("views");
    crate::folders::clear(&folder)?;
    let is_large = rows >= 1_000_000;
    let goal = |most: f64| is_large.then_some(Goal::AtMost(most));
    let mut views = Views::fill(server, backend.place(&folder.join("data"))?, rows)?;
    views.cold_load(effort, goal(1_500.0), report)?;
    views.first_questions(effort, is_large, report)?;
    if let Some(url) = views.rowmill.place.url() {
        bare_scan(url, effort, report)?;
    }
    let own = views.first_answers(effort)?;
    let yardsticks = Yardsticks::measure(&folder, rows, python, effort)?;
    for (question, times) in &own {
        let what = format!("first filter and sort, {}", question.words());
        report.single(&what, times, "ms", goal(20.0));
        for (name, others) in yardsticks.of(*question) {
            let pairs = Pairs::of(times.clone(), others.clone());
            report.pair(&format!("the same beside {name}"), "ms", &pairs, None);
        }
    }
    views.ready_answers(goal(2.0), report)?;
    views.after_writes(effort, goal(5.0), report)?;
    views.many_at_once(effort, report)?;
    views.many_views(effort, is_large, report)?;
    views.four_first_questions(effort, report)?;
    views.warm_questions(effort, is_large, report)?;
    views.memory(goal(120.0), report)?;
    drop(views);
    crate::folders::clear(&folder)?;
    bulk::measure(server, backend.place(&folder.join("data"))?, effort, report)?;
    crate::folders::clear(&folder)
}

/// A service with one filled table.
struct Views {
    rowmill: Rowmill,
    project: Project,
    row_ids: Vec<String>,
    rows: usize,
}

impl Views {
    fn fill(server: &Path, place: DataLocation, rows: usize) -> AnyResult<Self> {
        let rowmill = Rowmill::start(server, place)?;
        let project = rowmill.create_project_of(&HEADERS)?;
        let row_ids = data::insert(&rowmill, &project, 0..rows, 4)?;
        Ok(Self { rowmill, project, row_ids, rows })
    }

    fn page(&self, question: Question, page: usize) -> AnyResult<Vec<u8>> {
        Ok(self.rowmill.request("GET", &question.path(&self.project, page)?, ""))
    }

    /// The first question after a start: nothing is in memory, though the system may have cached the file.
    fn cold_load(&mut self, effort: &Effort, goal: Option<Goal>, report: &mut Report) -> AnyResult {
        let mut times = Vec::new();
        for _ in 0..effort.starts {
            self.rowmill.restart()?;
            let mut connection = Connection::open(self.rowmill.address)?;
            times.push(timed(&mut connection, &self.page(Question::Most(0), 1)?)?);
        }
        report.single("first question after a start, which reads two columns", &times, "ms", goal);
        Ok(())
    }

    /// Questions that nobody asked before, about columns that are in memory.
    fn first_answers(&self, effort: &Effort) -> AnyResult<Vec<(Question, Vec<f64>)>> {
        let mut connection = Connection::open(self.rowmill.address)?;
        // The other columns are read, and put in order, once.
        for question in [Question::Few(CITIES), Question::Most(CITIES - 1)] {
            connection.exchange(&self.page(question, 1)?)?;
        }
        let kinds: [fn(usize) -> Question; 2] = [Question::Most, Question::Few];
        let mut answers = Vec::new();
        for kind in kinds {
            let times: AnyResult<Vec<f64>> = (1..=effort.rounds * 3)
                .map(|number| timed(&mut connection, &self.page(kind(number), 1)?))
                .collect();
            answers.push((kind(1), times?));
        }
        Ok(answers)
    }

    fn ready_answers(&self, goal: Option<Goal>, report: &mut Report) -> AnyResult {
        let mut connection = Connection::open(self.rowmill.address)?;
        let last = self.rows * 97 / 100 / data::PAGE_ROWS;
        for (what, page) in [("page 1, asked for again", 1), ("a page near the end", last)] {
            let request = self.page(Question::Most(1), page)?;
            connection.exchange(&request)?;
            let times: AnyResult<Vec<f64>> = (0..REPEATS).map(|_| timed(&mut connection, &request)).collect();
            report.single(what, &times?, "ms", goal);
        }
        Ok(())
    }

    /// Writes a cell of the column sorted by, then asks for the page.
    fn after_writes(&self, effort: &Effort, goal: Option<Goal>, report: &mut Report) -> AnyResult {
        let mut connection = Connection::open(self.rowmill.address)?;
        let mut random = Random::new(7);
        let mut times = Vec::new();
        for _ in 0..effort.rounds * 40 {
            connection.exchange(&self.write(&mut random)?)?;
            times.push(timed(&mut connection, &self.page(Question::Most(1), 1)?)?);
        }
        report.single("page 1 after each write of one cell", &times, "ms", goal);
        Ok(())
    }

    fn write(&self, random: &mut Random) -> AnyResult<Vec<u8>> {
        let row = self.row_ids.get(random.below(self.row_ids.len())).ok_or("there are no rows")?;
        let column = self.project.column_id("Name")?;
        let cells =
            json!({ "cells": [{ "rowId": row, "columnId": column, "value": data::letters(random) }] });
        let path = format!("/v4/projects/{}/cells", self.project.id);
        Ok(self.rowmill.request("PATCH", &path, &cells.to_string()))
    }

    fn many_at_once(&self, effort: &Effort, report: &mut Report) -> AnyResult {
        let pages: AnyResult<Vec<Vec<u8>>> =
            (0..32).map(|number| self.page(Question::Most(number % 4), 1 + number * 7)).collect();
        let pages = pages?;
        let mut random = Random::new(9);
        let writes: AnyResult<Vec<Vec<u8>>> = (0..20_000).map(|_| self.write(&mut random)).collect();
        let writes = writes?;
        let over = Until::Over(effort.round_time * 3);
        let read = || load::run(self.rowmill.address, READERS, &pages, over, &|_, _| {});
        let alone = read()?;
        let (beside, written) = std::thread::scope(|scope| {
            let writing = scope.spawn(|| load::run(self.rowmill.address, WRITERS, &writes, over, &|_, _| {}));
            (read(), writing.join())
        });
        let (beside, written) = (beside?, written.map_err(|_| "a writer panicked")??);
        for (what, load) in [("16 readers", alone), ("16 readers beside 4 writers", beside)] {
            let p99 = load.latencies.get(load.latencies.len() * 99 / 100).copied().unwrap_or_default();
            report.single(&format!("{what}: pages"), &[load.answers_per_second()], "requests/s", None);
            report.single(&format!("{what}: 99th percentile"), &[milliseconds(p99)], "ms", None);
        }
        report.single("the 4 writers", &[written.answers_per_second()], "cells/s", None);
        Ok(())
    }

    /// Memory for three text columns of 20 characters, each of them sorted by.
    fn memory(&mut self, goal: Option<Goal>, report: &mut Report) -> AnyResult {
        self.rowmill.restart()?;
        for header in ["Name", "Company", "Note"] {
            let sorting = json!([{ "columnId": self.project.column_id(header)?, "direction": "asc" }]);
            let path = format!("{}?sorting={}", self.project.rows_path(), encoded(&sorting));
            self.rowmill.ask("GET", &path, "")?;
        }
        let metrics = self.rowmill.metrics()?;
        let line = metrics.lines().find_map(|line| line.strip_prefix("rowmill_query_memory_bytes "));
        let bytes: f64 = line.ok_or("the memory is not told")?.parse()?;
        #[expect(clippy::cast_precision_loss, reason = "far fewer than 2^52 rows")]
        let a_row = bytes / self.rows as f64;
        report.single("memory a row: three columns of 20 characters, three orders", &[a_row], "bytes", goal);
        Ok(())
    }
}

/// What PostgreSQL itself takes to hand out all rows: once to a bare COPY, once counting on its own.
fn bare_scan(url: &str, effort: &Effort, report: &mut Report) -> AnyResult {
    let runtime = runtime()?;
    let (copies, scans) = runtime.block_on(async {
        let client = postgres::cluster::connect(url).await?;
        let (mut copies, mut scans) = (Vec::new(), Vec::new());
        for _ in 0..effort.starts {
            let start = Instant::now();
            let stream =
                client.copy_out("COPY rowmill.rows (position, vals) TO STDOUT (FORMAT binary)").await?;
            let mut stream = std::pin::pin!(stream);
            let mut bytes = 0;
            while let Some(some) = stream.try_next().await? {
                bytes += some.len();
            }
            std::hint::black_box(bytes);
            copies.push(milliseconds(start.elapsed()));
            let start = Instant::now();
            client.query_one("SELECT sum(length(vals)), sum(position) FROM rowmill.rows", &[]).await?;
            scans.push(milliseconds(start.elapsed()));
        }
        AnyResult::Ok((copies, scans))
    })?;
    report.single("the limit of that: a bare binary COPY TO of the same rows", &copies, "ms", None);
    report.single("the limit of that: a bare scan inside the server", &scans, "ms", None);
    Ok(())
}

fn timed(connection: &mut Connection, request: &[u8]) -> AnyResult<f64> {
    let start = Instant::now();
    let answer = connection.exchange(request)?;
    let elapsed = start.elapsed();
    let answer: Value = serde_json::from_slice(answer)?;
    let is_right = answer.get("rows").and_then(Value::as_array).is_some_and(|rows| !rows.is_empty());
    if is_right { Ok(milliseconds(elapsed)) } else { Err("a page came without rows".into()) }
}

//! What is fast until somebody does something ordinary: several first questions at once, and many views.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;

use super::data::{self, Question};
use super::{Views, timed};
use crate::any_result::AnyResult;
use crate::client::Connection;
use crate::effort::Effort;
use crate::load::{self, Until};
use crate::random::Random;
use crate::rates::milliseconds;
use crate::report::{Goal, Pairs, Report};

const VIEWS: usize = 200;
const WRITERS: usize = 2;
/// By then it is written which columns were asked for.
const NOTED_WITHIN: Duration = Duration::from_secs(12);
/// A warm-up that has not ended by then does not end.
const WARM_UP_MAX: Duration = Duration::from_mins(5);

impl Views {
    /// The first question about a column after a start, beside a bare scan of the rows by one thread.
    pub(super) fn first_questions(
        &mut self,
        effort: &Effort,
        is_large: bool,
        report: &mut Report,
    ) -> AnyResult {
        if self.rowmill.place.url().is_some() {
            return Ok(());
        }
        let file = self.rowmill.place.data.join(rowmill_store_sqlite::DATABASE_FILE);
        for (what, question) in [
            ("first filter by a column after a start", self.filtered_by("Company", "ty")?),
            ("first sorting by a column after a start", self.sorted_by("Company", "asc", None)?),
        ] {
            let mut pairs = Pairs::default();
            for _ in 0..effort.starts {
                let bare = bare_scan(&file)?;
                self.rowmill.restart()?;
                pairs.push(timed(&mut Connection::open(self.rowmill.address)?, &question)?, bare);
            }
            let goal = is_large.then_some(Goal::AtMost(1.5));
            report.pair(&format!("{what}, beside a bare scan"), "ms", &pairs, goal);
        }
        Ok(())
    }

    /// The first question after a start once the warm-up is done, beside another one about the same columns.
    pub(super) fn warm_questions(
        &mut self,
        effort: &Effort,
        is_large: bool,
        report: &mut Report,
    ) -> AnyResult {
        let filters = [self.filtered_by("Company", "ty")?, self.filtered_by("Company", "ux")?];
        let sortings =
            [self.sorted_by("Company", "asc", Some(3))?, self.sorted_by("Company", "asc", Some(4))?];
        for [first, _] in [&filters, &sortings] {
            Connection::open(self.rowmill.address)?.exchange(first)?;
        }
        std::thread::sleep(NOTED_WITHIN);
        for (what, [first, other]) in [("filter", filters), ("sorting", sortings)] {
            let mut pairs = Pairs::default();
            for _ in 0..effort.starts {
                self.rowmill.restart()?;
                self.wait_for_warm_up()?;
                let mut connection = Connection::open(self.rowmill.address)?;
                pairs.push(timed(&mut connection, &first)?, timed(&mut connection, &other)?);
            }
            let goal = is_large.then_some(Goal::AtMost(2.0));
            let what = format!("first {what} after a warm-up, beside another {what}");
            report.pair(&what, "ms", &pairs, goal);
        }
        Ok(())
    }

    fn wait_for_warm_up(&self) -> AnyResult {
        let start = Instant::now();
        while !self.rowmill.metrics()?.contains("\nrowmill_warm_up_duration_seconds ") {
            if start.elapsed() > WARM_UP_MAX {
                return Err("the warm-up does not end".into());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// Four questions about four columns, right after a start, beside one such question.
    pub(super) fn four_first_questions(&mut self, effort: &Effort, report: &mut Report) -> AnyResult {
        let sorted: AnyResult<Vec<Vec<u8>>> =
            data::HEADERS.iter().map(|header| self.sorted_by(header, "asc", None)).collect();
        let filtered: AnyResult<Vec<Vec<u8>>> =
            data::HEADERS.iter().map(|header| self.filtered_by(header, "ty")).collect();
        for (what, questions) in [("filters", filtered?), ("sortings", sorted?)] {
            let (mut at_once, mut alone) = (Vec::new(), Vec::new());
            for _ in 0..effort.starts {
                self.rowmill.restart()?;
                let first = questions.first().ok_or("there is no question")?;
                alone.push(timed(&mut Connection::open(self.rowmill.address)?, first)?);
                self.rowmill.restart()?;
                let load =
                    load::run(self.rowmill.address, questions.len(), &questions, Until::Done, &|_, _| {})?;
                at_once.push(milliseconds(load.elapsed));
            }
            let pairs = Pairs::of(at_once, alone);
            let what = format!("four first {what} at once, beside one alone");
            report.pair(&what, "ms", &pairs, Some(Goal::AtMost(1.3)));
        }
        Ok(())
    }

    /// Views that were all opened before, opened again one after the other while others write.
    pub(super) fn many_views(&self, effort: &Effort, is_large: bool, report: &mut Report) -> AnyResult {
        let goal = |most: f64| is_large.then_some(Goal::AtMost(most));
        let sortings = [("Name", "asc"), ("Company", "desc"), ("Note", "asc"), ("Note", "desc")];
        let views: AnyResult<Vec<Vec<u8>>> = (0..VIEWS)
            .map(|number| {
                let (header, direction) =
                    sortings.get(number / data::CITIES).copied().unwrap_or(("Name", "asc"));
                self.sorted_by(header, direction, Some(number))
            })
            .collect();
        let views = views?;
        let first = load::run(self.rowmill.address, 1, &views, Until::Done, &|_, _| {})?;
        report.single(
            &format!("{VIEWS} views, each opened for the first time"),
            &[median(&first)],
            "ms",
            None,
        );
        let mut random = Random::new(11);
        let writes: AnyResult<Vec<Vec<u8>>> = (0..20_000).map(|_| self.write(&mut random)).collect();
        let writes = writes?;
        let over = Until::Over(effort.round_time * 5);
        let (read, written) = std::thread::scope(|scope| {
            let writing = scope.spawn(|| load::run(self.rowmill.address, WRITERS, &writes, over, &|_, _| {}));
            (load::run(self.rowmill.address, 1, &views, over, &|_, _| {}), writing.join())
        });
        let (read, written) = (read?, written.map_err(|_| "a writer panicked")??);
        let p99 = read.latencies.get(read.latencies.len() * 99 / 100).copied().unwrap_or_default();
        let what = format!("{VIEWS} views again beside {WRITERS} writers");
        report.single(&what, &[median(&read)], "ms", goal(2.0));
        report.single(&format!("{what}: 99th percentile"), &[milliseconds(p99)], "ms", goal(20.0));
        report.single("the 2 writers", &[written.answers_per_second()], "cells/s", None);
        Ok(())
    }

    /// The rows with some letters in a column.
    fn filtered_by(&self, header: &str, letters: &str) -> AnyResult<Vec<u8>> {
        let filters = json!([{ "columnId": self.project.column_id(header)?, "operator": "contains", "value": letters }]);
        let (rows, filters) = (self.project.rows_path(), data::encoded(&filters));
        let path = format!("{rows}?page=1&pageSize={}&filters={filters}", data::PAGE_ROWS);
        Ok(self.rowmill.request("GET", &path, ""))
    }

    fn sorted_by(&self, header: &str, direction: &str, without_city: Option<usize>) -> AnyResult<Vec<u8>> {
        let sorting = json!([{ "columnId": self.project.column_id(header)?, "direction": direction }]);
        let filters = match without_city {
            Some(number) => json!([{
                "columnId": self.project.column_id("City")?,
                "operator": "notEquals",
                "value": Question::city(number),
            }]),
            None => json!([]),
        };
        let path = format!(
            "{}?page=1&pageSize={}&filters={}&sorting={}",
            self.project.rows_path(),
            data::PAGE_ROWS,
            data::encoded(&filters),
            data::encoded(&sorting)
        );
        Ok(self.rowmill.request("GET", &path, ""))
    }
}

/// Milliseconds in which SQLite hands out the values of all rows to a program that does nothing with them.
fn bare_scan(file: &Path) -> AnyResult<f64> {
    let database = rusqlite::Connection::open(file)?;
    let mut query = database.prepare("SELECT key, vals FROM rows ORDER BY key")?;
    let start = Instant::now();
    let mut rows = query.query(())?;
    let mut bytes = 0;
    while let Some(row) = rows.next()? {
        bytes += row.get_ref(1)?.as_blob()?.len();
    }
    std::hint::black_box(bytes);
    Ok(milliseconds(start.elapsed()))
}

fn median(load: &load::Load) -> f64 {
    milliseconds(load.latencies.get(load.latencies.len() / 2).copied().unwrap_or_default())
}

//! What is fast until somebody does something ordinary: several first questions at once, and many views.

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

impl Views {
    /// Four questions about four columns, right after a start, beside one such question.
    pub(super) fn four_first_questions(&mut self, effort: &Effort, report: &mut Report) -> AnyResult {
        let (mut at_once, mut alone) = (Vec::new(), Vec::new());
        for _ in 0..effort.starts {
            self.rowmill.restart()?;
            let mut connection = Connection::open(self.rowmill.address)?;
            alone.push(timed(&mut connection, &self.sorted_by("Name", "asc", None)?)?);
            self.rowmill.restart()?;
            let questions: AnyResult<Vec<Vec<u8>>> =
                data::HEADERS.iter().map(|header| self.sorted_by(header, "asc", None)).collect();
            let questions = questions?;
            let load = load::run(self.rowmill.address, questions.len(), &questions, Until::Done, &|_, _| {})?;
            at_once.push(milliseconds(load.elapsed));
        }
        let pairs = Pairs::of(at_once, alone);
        report.pair("four first questions at once, beside one alone", "ms", &pairs, Some(Goal::AtMost(1.3)));
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

fn median(load: &load::Load) -> f64 {
    milliseconds(load.latencies.get(load.latencies.len() / 2).copied().unwrap_or_default())
}

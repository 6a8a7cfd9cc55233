//! Bulk insert into a table that somebody looks at, beside one that nobody does.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::data::{self, HEADERS, Question};
use crate::any_result::AnyResult;
use crate::client::Connection;
use crate::effort::Effort;
use crate::load::{self, Until};
use crate::report::{Goal, Pairs, Report};
use crate::rowmill::Rowmill;
use crate::store::DataLocation;

/// How often whoever looks asks for the page.
const LOOK_EVERY: Duration = Duration::from_millis(250);

pub(super) fn measure(server: &Path, place: DataLocation, effort: &Effort, report: &mut Report) -> AnyResult {
    let rowmill = Rowmill::start(server, place)?;
    let rows = effort.round_rows * 2;
    let mut held = Pairs::default();
    let mut looked = Pairs::default();
    for _ in 0..effort.rounds {
        let alone = insert(&rowmill, rows, None)?;
        held.push(insert(&rowmill, rows, Some(Duration::MAX))?, alone);
        let alone = insert(&rowmill, rows, None)?;
        looked.push(insert(&rowmill, rows, Some(LOOK_EVERY))?, alone);
    }
    let goal = Some(Goal::AtLeast(0.85));
    report.pair("bulk insert with a view in memory, beside one without", "rows/s", &held, goal);
    let what = "bulk insert with a view that is read 4 times a second, beside one without";
    report.pair(what, "rows/s", &looked, None);
    Ok(())
}

/// Rows a second into a new table, of which somebody reads a page this often.
fn insert(rowmill: &Rowmill, rows: usize, look_every: Option<Duration>) -> AnyResult<f64> {
    let project = rowmill.create_project_of(&HEADERS)?;
    data::insert(rowmill, &project, 0..10_000, 1)?;
    let page = rowmill.request("GET", &Question::Most(1).path(&project, 1)?, "");
    let mut connection = Connection::open(rowmill.address)?;
    if look_every.is_some() {
        connection.exchange(&page)?;
    }
    let requests = data::requests(rowmill, &project, 10_000..10_000 + rows);
    let is_done = AtomicBool::new(false);
    let elapsed = std::thread::scope(|scope| {
        if let Some(pause) = look_every.filter(|pause| *pause < Duration::MAX) {
            let (is_done, page) = (&is_done, &page);
            scope.spawn(move || {
                while !is_done.load(Ordering::Relaxed) && connection.exchange(page).is_ok() {
                    std::thread::sleep(pause);
                }
            });
        }
        let load = load::run(rowmill.address, 1, &requests, Until::Done, &|_, _| {});
        is_done.store(true, Ordering::Relaxed);
        load.map(|load| load.elapsed)
    })?;
    rowmill.ask("DELETE", &format!("/v4/projects/{}", project.id), "")?;
    #[expect(clippy::cast_precision_loss, reason = "far fewer than 2^52 rows")]
    Ok(rows as f64 / elapsed.as_secs_f64())
}

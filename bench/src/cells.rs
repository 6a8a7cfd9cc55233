//! Batches of cells, beside the bare database doing the same updates.

use crate::any_result::AnyResult;
use crate::effort::Effort;
use crate::load::{self, Until};
use crate::random::Random;
use crate::raw::Raw;
use crate::report::{Goal, Pairs, Report};
use crate::rowmill::{Project, Rowmill};
use crate::sample::{self, WRITTEN};

const CLIENTS: usize = 8;
const BATCH_CELLS: usize = 100;
const BATCHES: usize = 500;

/// Which rows a batch touches.
#[derive(Debug, Clone, Copy)]
enum Rows {
    /// A run of neighbours, somewhere: what processing a column writes.
    Neighbours,
    /// Each anywhere: the worst case, since every one is on another page of the file.
    Scattered,
}

pub(crate) fn measure(
    rowmill: &Rowmill,
    raw: &mut Raw,
    project: &Project,
    row_ids: &[String],
    effort: &Effort,
    report: &mut Report,
) -> AnyResult {
    let column = project.column_id(WRITTEN)?;
    let path = format!("/v4/projects/{}/cells", project.id);
    raw.before_updates(row_ids.len())?;
    for (rows, word) in [(Rows::Neighbours, "neighbouring"), (Rows::Scattered, "scattered")] {
        let mut random = Random::new(100);
        let batches: Vec<_> = (0..BATCHES).map(|_| batch(rows, row_ids.len(), &mut random)).collect();
        let requests: Vec<_> = batches
            .iter()
            .map(|batch| rowmill.request("PATCH", &path, &body(batch, row_ids, column)))
            .collect();
        let mut pairs = Pairs::default();
        for _ in 0..effort.rounds {
            let limit = raw.update(&batches, effort.round_time)?;
            let load =
                load::run(rowmill.address, CLIENTS, &requests, Until::Over(effort.round_time), &|_, _| {})?;
            pairs.push(load.answers_per_second(), limit);
        }
        let what = format!("cells, {CLIENTS} clients, batches of {BATCH_CELLS} {word} rows");
        report.pair(&what, "batches/s", &pairs, Some(Goal::AtLeast(0.7)));
    }
    Ok(())
}

fn batch(rows: Rows, count: usize, random: &mut Random) -> Vec<(usize, String)> {
    let start = random.below(count.saturating_sub(BATCH_CELLS));
    let mut place = |offset| match rows {
        Rows::Neighbours => start + offset,
        Rows::Scattered => random.below(count),
    };
    let places: Vec<usize> = (0..BATCH_CELLS).map(&mut place).collect();
    places.into_iter().map(|place| (place, sample::cell(random))).collect()
}

fn body(batch: &[(usize, String)], row_ids: &[String], column: &str) -> String {
    let cells: Vec<String> = batch
        .iter()
        .filter_map(|(row, value)| Some((row_ids.get(*row)?, value)))
        .map(|(row, value)| format!("{{\"rowId\":\"{row}\",\"columnId\":\"{column}\",\"value\":{value}}}"))
        .collect();
    format!("{{\"cells\":[{}]}}", cells.join(","))
}

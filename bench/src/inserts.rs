//! Bulk insert over HTTP, beside the same rows through bare rusqlite.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::load::{self, Until};
use crate::raw::Raw;
use crate::report::{Goal, Pairs, Report, thousands};
use crate::rowmill::{Project, Rowmill};
use crate::{Effort, Outcome, sample};

/// How rows are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Way {
    clients: usize,
    call_rows: usize,
}

pub(crate) const LAST: Way = Way { clients: 4, call_rows: 10_000 };
pub(crate) const WAYS: [Way; 4] = [
    Way { clients: 1, call_rows: 1_000 },
    Way { clients: 4, call_rows: 1_000 },
    Way { clients: 1, call_rows: 10_000 },
    LAST,
];

/// What was inserted last, for the measurements that follow.
#[derive(Debug)]
pub(crate) struct Inserts {
    pub(crate) rowmill: Rowmill,
    /// The file that holds the same rows, raw.
    pub(crate) raw: PathBuf,
    pub(crate) project: Project,
    /// In order.
    pub(crate) row_ids: Vec<String>,
}

pub(crate) fn measure(
    rowmill: Rowmill,
    raw_file: &Path,
    rows: usize,
    way: Way,
    effort: &Effort,
    report: &mut Report,
) -> Outcome<Inserts> {
    let Way { clients, call_rows } = way;
    // A small table is filled several times, a large one in several rounds.
    let is_small = rows <= effort.round_rows;
    let round_rows = rows.min(effort.round_rows);
    let rounds = if is_small { effort.rounds } else { rows.div_ceil(round_rows) };

    let mut project = rowmill.create_project()?;
    let mut raw = Raw::create(raw_file)?;
    let mut row_ids = Vec::new();
    let mut pairs = Pairs::default();
    for round in 0..rounds {
        let first = if is_small { 0 } else { round * round_rows };
        if is_small && round > 0 {
            project = rowmill.create_project()?;
            drop(raw);
            std::fs::remove_file(raw_file)?;
            raw = Raw::create(raw_file)?;
            row_ids.clear();
        }
        let texts: Vec<String> = (first..rows.min(first + round_rows)).map(sample::row).collect();
        report.row_bytes(texts.iter().map(String::len).sum::<usize>() / texts.len().max(1));
        let requests: Vec<Vec<u8>> = texts
            .chunks(call_rows)
            .map(|call| rowmill.request("POST", &project.rows_path(), &format!("[{}]", call.join(","))))
            .collect();

        let raw_time = raw.insert(first, &texts, call_rows)?;
        let answers = Mutex::new(vec![Vec::new(); requests.len()]);
        let keep = |index: usize, body: &[u8]| {
            let mut answers = answers.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(answer) = answers.get_mut(index) {
                *answer = body.to_vec();
            }
        };
        let load = load::run(rowmill.address, clients, &requests, Until::Done, &keep)?;
        for answer in answers.into_inner().unwrap_or_else(PoisonError::into_inner) {
            row_ids.extend(ids_in(&answer)?);
        }
        #[expect(clippy::cast_precision_loss, reason = "far fewer than 2^52 rows")]
        let count = texts.len() as f64;
        pairs.push(count / load.elapsed.as_secs_f64(), count / raw_time.as_secs_f64());
    }
    let goal = (call_rows == 10_000).then_some(Goal::AtLeast(0.5));
    let clients_word = if clients == 1 { "1 client".to_owned() } else { format!("{clients} clients") };
    let what = format!("insert, {clients_word}, {} rows a call", thousands(call_rows));
    report.pair(&what, "rows/s", &pairs, goal);
    Ok(Inserts { rowmill, raw: raw_file.to_owned(), project, row_ids })
}

/// The row ids in an answer, in order.
fn ids_in(answer: &[u8]) -> Outcome<Vec<String>> {
    let answer: serde_json::Value = serde_json::from_slice(answer)?;
    let ids = answer.get("rows").and_then(serde_json::Value::as_array).ok_or("an insert answered no ids")?;
    Ok(ids.iter().filter_map(|id| id.as_str().map(str::to_owned)).collect())
}

//! Bulk insert over HTTP and straight at the store, beside the same rows through the bare database.

use std::path::Path;
use std::time::Instant;

use parking_lot::Mutex;
use rowmill_model::{ColumnId, ProjectId, Record, RowId, Table};
use rowmill_store::{NewRow, NewRows};
use uuid::Uuid;

use crate::any_result::AnyResult;
use crate::effort::Effort;
use crate::load::{self, Until};
use crate::postgres;
use crate::rates::per_second;
use crate::raw::Raw;
use crate::report::{Goal, Pairs, Report, thousands};
use crate::rowmill::{Project, Rowmill};
use crate::runtime::runtime;
use crate::sample::{self, HEADERS};
use crate::store::Backend;

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
    /// The same rows, raw.
    pub(crate) raw: Raw,
    pub(crate) project: Project,
    /// In order.
    pub(crate) row_ids: Vec<String>,
}

pub(crate) fn measure(
    rowmill: Rowmill,
    backend: &Backend,
    folder: &Path,
    rows: usize,
    way: Way,
    effort: &Effort,
    report: &mut Report,
) -> AnyResult<Inserts> {
    let Way { clients, call_rows } = way;
    // A small table is filled several times, a large one in several rounds.
    let is_small = rows <= effort.round_rows;
    let round_rows = rows.min(effort.round_rows);
    let rounds = if is_small { effort.rounds } else { rows.div_ceil(round_rows) };

    let mut project = rowmill.create_project()?;
    let mut raw = Raw::create(backend, folder)?;
    let mut row_ids = Vec::new();
    let mut pairs = Pairs::default();
    for round in 0..rounds {
        let first = if is_small { 0 } else { round * round_rows };
        if is_small && round > 0 {
            project = rowmill.create_project()?;
            drop(raw);
            raw = Raw::create(backend, folder)?;
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
            let mut answers = answers.lock();
            if let Some(answer) = answers.get_mut(index) {
                *answer = body.to_vec();
            }
        };
        let load = load::run(rowmill.address, clients, &requests, Until::Done, &keep)?;
        for answer in answers.into_inner() {
            row_ids.extend(ids_in(&answer)?);
        }
        pairs.push(per_second(texts.len(), load.elapsed), per_second(texts.len(), raw_time));
    }
    let goal = (call_rows == 10_000).then_some(Goal::AtLeast(0.5));
    let clients_word = if clients == 1 { "1 client".to_owned() } else { format!("{clients} clients") };
    let what = format!("insert, {clients_word}, {} rows a call", thousands(call_rows));
    report.pair(&what, "rows/s", &pairs, goal);
    Ok(Inserts { rowmill, raw, project, row_ids })
}

/// The store alone, given rows that are packed already.
pub(crate) fn at_the_store(
    backend: &Backend,
    folder: &Path,
    rows: usize,
    effort: &Effort,
    report: &mut Report,
) -> AnyResult {
    const CALL_ROWS: usize = 10_000;
    let rows = rows.min(effort.round_rows);
    let runtime = runtime()?;
    let place = backend.place(&folder.join("store"))?;
    let store = runtime.block_on(place.open())?;
    let texts: Vec<String> = (0..rows).map(sample::row).collect();
    let packed: Vec<Record> = texts.iter().map(|row| postgres::raw::packed(row)).collect::<AnyResult<_>>()?;
    let mut pairs = Pairs::default();
    for round in 0..effort.rounds {
        let raw_time = Raw::create(backend, folder)?.insert(0, &texts, CALL_ROWS)?;
        let project = ProjectId::from_uuid(Uuid::from_u128(1 + round as u128));
        let mut table = Table::new();
        for (number, header) in HEADERS.iter().enumerate() {
            table.push_manual(ColumnId::new(format!("col_{number:012}")), header);
        }
        // No two rows of a store have the same id.
        let mut ids = (round * rows..).map(|number| RowId::from_uuid(Uuid::from_bytes(sample::id(number))));
        let calls: Vec<NewRows> = packed
            .chunks(CALL_ROWS)
            .map(|call| {
                let row = |(id, values): (RowId, &Record)| NewRow {
                    id,
                    values: values.clone(),
                    cleared: Vec::new(),
                    leftover_bytes_max: None,
                };
                sample::new_rows(project, ids.by_ref().zip(call).map(row).collect())
            })
            .collect();
        let time = runtime.block_on(async {
            store.save_project(sample::creation(project, table)).await?;
            let start = Instant::now();
            for call in calls {
                store.insert_rows(call).await?;
            }
            AnyResult::Ok(start.elapsed())
        })?;
        pairs.push(per_second(rows, time), per_second(rows, raw_time));
    }
    runtime.block_on(store.close())?;
    let what = format!("insert straight at the store, {} rows a call", thousands(CALL_ROWS));
    report.pair(&what, "rows/s", &pairs, Some(Goal::AtLeast(0.5)));
    Ok(())
}

/// The row ids in an answer, in order.
fn ids_in(answer: &[u8]) -> AnyResult<Vec<String>> {
    let answer: serde_json::Value = serde_json::from_slice(answer)?;
    let ids = answer.get("rows").and_then(serde_json::Value::as_array).ok_or("an insert answered no ids")?;
    Ok(ids.iter().filter_map(|id| id.as_str().map(str::to_owned)).collect())
}

//! Three nodes behind `HAProxy`, on PostgreSQL behind `PgBouncer`, with a table that grows: what a row more costs, and a node's
//! memory. `--page` names the guide whose section gets the figures.

mod guide;
mod service;

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use self::guide::{Figures, Run};
use self::service::Service;
pub(crate) use self::service::Setting;
use super::cluster::connect;
use crate::any_result::AnyResult;
use crate::bare::Bare;
use crate::client::Connection;
use crate::rates::{milliseconds, per_second};
use crate::rowmill::Project;
use crate::runtime::runtime;
use crate::sample;
use crate::store::Backend;

/// Who insert at the same time, each this many rows at once.
const CLIENTS: usize = 4;
const BATCH: usize = 5_000;
/// How often a page is asked for; the middle one counts.
const ASKED: usize = 15;
const PAGE_ROWS: usize = 100;
/// Cells that a run has at most: what it costs a cell is plain by then.
const RUN_CELLS_MAX: usize = 200_000;
const RUN_TIME_MAX: Duration = Duration::from_mins(30);

/// Grows a table to this many rows, in three steps, and measures at each.
pub(crate) fn measure(setting: Setting<'_>, backend: &Backend, rows: usize, about: &str) -> AnyResult {
    let folder = setting.scratch.join("scale");
    std::fs::create_dir_all(&folder)?;
    let service = Service::start(setting, backend, &folder)?;
    let project = service.first().create_project()?;
    let mut steps = vec![rows / 100, rows / 10, rows];
    steps.retain(|step| *step > 0);
    let (mut all, mut before) = (Vec::new(), 0);
    for step in steps {
        let inserted = insert(&service, &project, before..step)?;
        before = step;
        let figures = look(&service, &project, step, inserted)?;
        eprintln!("{figures:?}");
        all.push(figures);
    }
    let run = run(&service, &project, setting.scratch, rows)?;
    let text = guide::section(about, &all, &run);
    drop(service);
    std::fs::remove_dir_all(folder)?;
    guide::write(setting.page, &text)
}

/// Rows a second, through the balancer.
fn insert(service: &Service, project: &Project, rows: std::ops::Range<usize>) -> AnyResult<f64> {
    let next = AtomicUsize::new(rows.start);
    let client = || -> AnyResult {
        let mut connection = Connection::open(service.address())?;
        loop {
            let first = next.fetch_add(BATCH, Ordering::Relaxed);
            if first >= rows.end {
                return Ok(());
            }
            let batch: Vec<String> = (first..rows.end.min(first + BATCH)).map(sample::row).collect();
            let body = format!("[{}]", batch.join(","));
            connection.exchange(&service.first().request("POST", &project.rows_path(), &body))?;
        }
    };
    let start = Instant::now();
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS).map(|_| scope.spawn(client)).collect();
        clients.into_iter().try_for_each(|client| client.join().map_err(|_| "a client panicked")?)
    })?;
    Ok(per_second(rows.len(), start.elapsed()))
}

/// Pages, a view, sizes.
fn look(service: &Service, project: &Project, rows: usize, inserted: f64) -> AnyResult<Figures> {
    let page = |number: usize| format!("{}?page={number}&pageSize={PAGE_ROWS}", project.rows_path());
    let last = rows.div_ceil(PAGE_ROWS).max(1);
    let pages = [1, last.div_ceil(2), last].map(|number| middle_ms(service, &page(number)));
    let [first, middle, end] = pages;
    let view = json!({
        "name": format!("Of {rows}"),
        "filters": [{ "columnId": project.column_id("Country")?, "operator": "equals", "value": "Sweden" }],
        "sorting": [{ "columnId": project.column_id("Email")?, "direction": "desc" }],
    });
    let made = service.ask("POST", &format!("/v4/projects/{}/views", project.id), &view.to_string())?;
    let id = made.pointer("/view/id").and_then(Value::as_str).ok_or("the view has no id")?;
    let viewed = format!("{}?viewId={id}&page=1&pageSize={PAGE_ROWS}", project.rows_path());
    let view_first = service.first_answer(&viewed)?;
    let view_again = middle_ms(service, &viewed)?;
    let url = service.database_url().to_owned();
    let bytes = runtime()?.block_on(async {
        let client = connect(&url).await?;
        let size = client.query_one("SELECT pg_database_size(current_database())", &[]).await?;
        AnyResult::Ok(size.get::<_, i64>(0))
    })?;
    Ok(Figures {
        rows,
        inserted_per_second: inserted,
        page_ms: [first?, middle?, end?],
        view_first_ms: milliseconds(view_first),
        view_again_ms: view_again,
        database_bytes: u64::try_from(bytes)?,
        memory_bytes: service.memory()?,
    })
}

/// Asked of each node in turn; its median.
fn middle_ms(service: &Service, path: &str) -> AnyResult<f64> {
    let mut times = Vec::new();
    for _ in 0..ASKED {
        let start = Instant::now();
        service.ask("GET", path, "")?;
        times.push(milliseconds(start.elapsed()));
    }
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().ok_or_else(|| "nothing was asked".into())
}

/// A column of calls to a server that answers at once, for the first rows of the table, by all nodes.
fn run(service: &Service, project: &Project, scratch: &Path, rows: usize) -> AnyResult<Run> {
    let answer = Bare::start(scratch, &[b"\"ok\"".to_vec()])?;
    let column = json!({
        "templateId": "http-api", "header": "Answer",
        "apiConfig": { "url": format!("http://{}/0", answer.address), "query": { "of": "@{Email}" } },
    });
    let path = format!("/v4/projects/{}", project.id);
    let made = service.ask("POST", &format!("{path}/columns"), &column.to_string())?;
    let column = made.pointer("/column/id").and_then(Value::as_str).ok_or("the column has no id")?;
    let cells = rows.min(RUN_CELLS_MAX);
    let start = Instant::now();
    let asked = json!({ "columnIds": [column], "limit": cells }).to_string();
    let triggered = service.ask("POST", &format!("{path}/trigger"), &asked)?;
    let trigger_ms = milliseconds(start.elapsed());
    if triggered.get("triggeredCount") != Some(&json!(cells)) {
        return Err(format!("not all cells were triggered: {triggered}").into());
    }
    loop {
        let status = service.ask("GET", &format!("{path}/status"), "")?;
        let count = |name: &str| {
            status.pointer(&format!("/columns/{column}/{name}")).and_then(Value::as_u64).unwrap_or_default()
        };
        if status.get("processing") == Some(&json!(false)) {
            if count("error") > 0 {
                return Err(format!("cells failed: {status}").into());
            }
            break;
        }
        if start.elapsed() > RUN_TIME_MAX {
            return Err(format!("the run has not ended: {status}").into());
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(Run {
        cells,
        trigger_ms,
        per_second: per_second(cells, start.elapsed()),
        memory_bytes: service.memory()?,
    })
}

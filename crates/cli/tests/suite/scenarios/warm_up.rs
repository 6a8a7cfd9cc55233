//! After a start, the columns of the last questions and of saved views are loaded before anybody asks for them.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Value, json};

use super::files::import;
use crate::harness::exposition::Exposition;
use crate::harness::runner::scenarios;
use crate::harness::{Scenario, Server, Table, eventually};

pub(crate) const OWN: &[Scenario] = &scenarios!("warm_up", Own:
    the_first_questions_after_a_start_find_their_columns_loaded,
);

const TIME_MAX: Duration = Duration::from_mins(1);
/// The fewest rows whose columns are loaded after a start.
const ROWS: u32 = 20_000;

fn read(server: &Server) -> Exposition {
    Exposition::read(&server.metrics())
}

/// How many questions found their columns in memory, and how many did not.
fn lookups(server: &Server) -> (f64, f64) {
    let read = read(server);
    let of = |result| {
        read.sum("rowmill_cache_lookups_total", &[("cache", "columns"), ("result", result)])
            .unwrap_or_default()
    };
    (of("hit"), of("miss"))
}

/// Stops the server, starts it again and waits until it has loaded what it wants to.
fn restart(server: &mut Server) -> Option<f64> {
    server.terminate();
    assert!(server.wait_for_end().success());
    server.restart();
    eventually("the warm-up ends", TIME_MAX, || read(server).sum("rowmill_warm_up_duration_seconds", &[]));
    read(server).sum("rowmill_warm_up_columns_total", &[])
}

/// Rows in the order of a question.
fn ask(server: &Server, table: &Table, question: &[(&str, &str)]) -> Value {
    let table = table.through(&server.api());
    let query: Vec<(&str, &str)> = question.iter().copied().chain([("pageSize", "3")]).collect();
    let page = table.rows(&query);
    page["rows"].as_array().unwrap().iter().map(|row| row["id"].clone()).collect()
}

fn the_first_questions_after_a_start_find_their_columns_loaded() {
    let mut server = Server::start(&[("ROWMILL_LOG", "info")]);
    let table = server.api().table(&["Name", "City", "Note"]);
    let mut file = String::from("Name,City,Note\n");
    for number in 0..ROWS {
        let _ = writeln!(file, "Name {},City {},{number}", number * 7_919 % ROWS, number % 40);
    }
    import(&table, &[], file);
    let (name, city) = (table.column("Name").to_owned(), table.column("City").to_owned());
    let sorting = json!([{ "columnId": name, "direction": "desc" }]).to_string();
    let filters = json!([{ "columnId": city, "operator": "equals", "value": "City 7" }]).to_string();
    let (sorted, filtered) = ([("sorting", sorting.as_str())], [("filters", filters.as_str())]);
    let answers = [ask(&server, &table, &sorted), ask(&server, &table, &filtered)];
    assert_eq!(lookups(&server), (0.0, 2.0));

    // What was asked for.
    assert_eq!(restart(&mut server), Some(2.0));
    assert_eq!(lookups(&server), (0.0, 0.0), "nobody has asked yet");
    assert_eq!([ask(&server, &table, &sorted), ask(&server, &table, &filtered)], answers);
    assert_eq!(lookups(&server), (2.0, 0.0));

    // A view that nobody has opened.
    let note = table.column("Note").to_owned();
    let body = json!({ "name": "By note", "sorting": [{ "columnId": note, "direction": "desc" }] });
    let made = table.through(&server.api()).post("/views", body).created()["view"]["id"].clone();
    assert_eq!(restart(&mut server), Some(3.0));
    let view = [("viewId", made.as_str().unwrap())];
    let first = ask(&server, &table, &view);
    assert_eq!((lookups(&server), first.as_array().unwrap().len()), ((1.0, 0.0), 3));
    assert_eq!([ask(&server, &table, &sorted), ask(&server, &table, &filtered)], answers);
    assert_eq!(lookups(&server), (3.0, 0.0));
    let log = server.log();
    assert!(log.contains("loaded columns that were asked for before the start"), "{log}");
}

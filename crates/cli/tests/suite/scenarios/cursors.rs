//! Contract section 3: a cursor goes on behind the place where its page ended, whatever happens to rows meanwhile.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::nodes::first;
use crate::harness::runner::scenarios;
use crate::harness::{Api, Scenario, Table};

pub(crate) const SHARED: &[Scenario] = &scenarios!("cursors", Versions:
    what_happens_to_the_last_page_moves_no_other_row,
    rows_that_stay_as_they_are_come_exactly_once,
    keys_longer_than_a_cursor_lose_no_row,
    a_cursor_of_another_sorting_is_refused,
);

pub(crate) const NODES: &[Scenario] = &scenarios!("cursors", Nodes:
    a_cursor_goes_on_at_any_node,
);

/// Rows by id, as far as it is known what became of them.
type Rows = BTreeMap<String, Value>;

/// The ids and cells of a page, and its cursor.
fn page(
    table: &Table,
    size: &str,
    query: &[(String, String)],
    cursor: Option<&str>,
) -> (Vec<String>, Option<String>) {
    let mut options: Vec<(&str, &str)> =
        query.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    options.push(("pageSize", size));
    options.extend(cursor.map(|cursor| ("cursor", cursor)));
    let answer = table.rows(&options);
    let ids = answer["rows"].as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap().to_owned());
    (ids.collect(), answer["pagination"]["nextCursor"].as_str().map(str::to_owned))
}

fn all(table: &Table) -> Rows {
    let answer = table.rows(&[("pageSize", "1000")]);
    let rows = answer["rows"].as_array().unwrap().iter();
    rows.map(|row| (row["id"].as_str().unwrap().to_owned(), row["cells"].clone())).collect()
}

/// Walks a list, each page through the next of these tables, which are one. Whatever row nothing happened to must
/// come once, and in order.
fn walk(
    tables: &[&Table],
    size: &str,
    query: &[(String, String)],
    mut meanwhile: impl FnMut(&[String], &[String]),
) {
    let table = tables[0];
    let mut unchanged = all(table);
    let (mut seen, mut cursor) = (Vec::new(), None);
    for table in tables.iter().cycle() {
        let (ids, next) = page(table, size, query, cursor.as_deref());
        seen.extend(ids.iter().cloned());
        assert!(seen.len() < 10_000, "a walk without end");
        let Some(next) = next else { break };
        meanwhile(&ids, &seen);
        // A row that was changed and changed back has moved, too.
        let now = all(table);
        unchanged.retain(|id, cells| now.get(id) == Some(cells));
        cursor = Some(next);
    }
    let is_unchanged = |id: &&String| unchanged.contains_key(*id);
    let (expected, _) = page(table, "1000", query, None);
    let expected: Vec<&String> = expected.iter().filter(is_unchanged).collect();
    let seen: Vec<&String> = seen.iter().filter(is_unchanged).collect();
    assert_eq!(seen, expected, "{query:?}");
}

/// Lists of every kind: sorted by one column and by several, up and down, filtered, searched, and by a view.
fn lists(table: &Table) -> Vec<Vec<(String, String)>> {
    let (a, b) = (table.column("A"), table.column("B"));
    let key = |column: &str, direction: &str| json!({ "columnId": column, "direction": direction });
    let sortings = [
        json!([key(a, "asc")]),
        json!([key(a, "desc")]),
        json!([key(b, "asc"), key(a, "desc")]),
        json!([key(b, "desc"), key(a, "asc")]),
    ];
    let filters = json!([{ "columnId": a, "operator": "notEquals", "value": 13 }]);
    let option = |name: &str, value: &Value| {
        (name.to_owned(), value.as_str().map_or_else(|| value.to_string(), str::to_owned))
    };
    let mut lists = vec![vec![], vec![option("filters", &filters)], vec![option("search", &json!("1"))]];
    for sorting in &sortings {
        lists.push(vec![option("sorting", sorting)]);
    }
    lists.push(vec![
        option("sorting", &sortings[2]),
        option("filters", &filters),
        option("search", &json!("1")),
    ]);
    let view = json!({ "name": "Sorted", "filters": filters, "sorting": sortings[3] });
    lists.push(vec![option("viewId", &table.post("/views", view).created()["view"]["id"])]);
    lists
}

/// Numbers, dates, texts and nothing, many of them the same.
fn value(random: &mut fastrand::Rng) -> Value {
    match random.u8(..8) {
        0 => Value::Null,
        1 | 2 => json!(format!("name {}", random.u8(..30))),
        3 => json!(format!("2026-01-{:02}", random.u8(1..29))),
        _ => json!(random.u8(..40)),
    }
}

fn row(random: &mut fastrand::Rng) -> Value {
    let colour = ["red", "blue", "1"][random.usize(..3)];
    json!({ "A": value(random), "B": colour })
}

fn table(api: &Api, count: usize, random: &mut fastrand::Rng) -> Table {
    let table = api.table(&["A", "B"]);
    table.insert((0..count).map(|_| row(random)).collect());
    table
}

fn what_happens_to_the_last_page_moves_no_other_row(api: &Api) {
    type Happens = fn(&Table, &[String]);
    let cases: [Happens; 4] = [
        |table, page| drop(table.delete_rows(&page[page.len() - 1..]).ok()),
        |table, page| drop(table.delete_rows(page).ok()),
        |table, page| drop(table.patch(&format!("/rows/{}", page[page.len() - 1]), json!({ "A": 999 })).ok()),
        |table, page| {
            table.patch(&format!("/rows/{}", page[page.len() - 1]), json!({ "A": null })).ok();
            table.insert(json!([{ "A": 0, "B": "blue" }, { "A": "name 7", "B": "red" }]));
        },
    ];
    let mut random = fastrand::Rng::with_seed(1);
    for happens in cases {
        let table = api.table(&["A", "B"]);
        table.insert((1..=30).map(|number| json!({ "A": number % 15, "B": number % 2 })).collect());
        for list in lists(&table) {
            let mut pages = 0;
            walk(&[&table], "10", &list, |page, _| {
                pages += 1;
                if pages == 1 {
                    happens(&table, page);
                }
            });
            table.insert((0..8).map(|_| row(&mut random)).collect());
        }
    }
}

/// Inserts, edits and deletes a few rows, wherever they are.
fn turmoil(table: &Table, page: &[String], seen: &[String], random: &mut fastrand::Rng) {
    let rows: Vec<String> = all(table).into_keys().collect();
    let any = |random: &mut fastrand::Rng| rows[random.usize(..rows.len())].clone();
    match random.u8(..7) {
        0 => drop(table.insert((0..3).map(|_| row(random)).collect())),
        1 => drop(table.delete_rows(&[any(random), any(random)])),
        2 => drop(table.patch(&format!("/rows/{}", any(random)), row(random)).ok()),
        3 => drop(table.delete_rows(page)),
        4 if !page.is_empty() => drop(table.delete_rows(&page[page.len() - 1..])),
        5 if seen.len() > 4 => drop(table.delete_rows(&seen[seen.len() - 4..])),
        _ => drop(page.last().map(|last| table.patch(&format!("/rows/{last}"), row(random)))),
    }
}

fn rows_that_stay_as_they_are_come_exactly_once(api: &Api) {
    let seed = fastrand::u64(..1_000_000);
    println!("cursors by seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let table = table(api, 60, &mut random);
    for list in lists(&table) {
        walk(&[&table], "7", &list, |page, seen| turmoil(&table, page, seen, &mut random));
        table.insert((0..25).map(|_| row(&mut random)).collect());
    }
}

fn keys_longer_than_a_cursor_lose_no_row(api: &Api) {
    let table = api.table(&["A", "B"]);
    let same = "x".repeat(5_000);
    table.insert((0..30).map(|number| json!({ "A": format!("{same} {}", number * 7 % 30) })).collect());
    let mut pages = 0;
    for direction in ["asc", "desc"] {
        let sorting = json!([{ "columnId": table.column("A"), "direction": direction }]).to_string();
        walk(&[&table], "6", &[("sorting".to_owned(), sorting)], |page, _| {
            pages += 1;
            match pages % 3 {
                0 => drop(table.delete_rows(page).ok()),
                1 => drop(table.patch(&format!("/rows/{}", page[page.len() - 1]), json!({ "A": "" })).ok()),
                _ => drop(table.insert(json!({ "A": format!("{same} 15") }))),
            }
        });
    }
}

fn a_cursor_of_another_sorting_is_refused(api: &Api) {
    let table = api.table(&["A"]);
    table.insert((0..5).map(|number| json!({ "A": number })).collect());
    let sorting =
        |direction: &str| json!([{ "columnId": table.column("A"), "direction": direction }]).to_string();
    let (up, down) = (sorting("asc"), sorting("desc"));
    let cursor_of = |options: &[(&str, &str)]| {
        let page = table.rows(&[&[("pageSize", "2")], options].concat());
        page["pagination"]["nextCursor"].as_str().unwrap().to_owned()
    };
    let (plain, sorted) = (cursor_of(&[]), cursor_of(&[("sorting", &up)]));
    assert_eq!(table.values("A", &[("sorting", &up), ("cursor", &sorted)]), [2, 3, 4]);
    for (options, cursor) in [
        (vec![("sorting", down.as_str())], &sorted),
        (vec![], &sorted),
        // As cursors of sorted lists were before they said what the row was sorted by.
        (vec![("sorting", up.as_str())], &plain),
    ] {
        let refusal =
            table.list(&[options, vec![("cursor", cursor)]].concat()).refused(400, "invalid_request");
        assert!(refusal["error"].as_str().unwrap().contains("another sorting"), "{refusal}");
    }
}

fn a_cursor_goes_on_at_any_node() {
    let seed = fastrand::u64(..1_000_000);
    println!("cursors by seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let first = first(&[]);
    // One keeps columns in memory; the other has none and reads the rows themselves.
    let second = first.beside("serve", &[("ROWMILL_QUERY_MEMORY", "0")]);
    let table = table(&first.api(), 60, &mut random);
    let there = table.through(&second.api());
    for list in lists(&table) {
        walk(&[&table, &there], "7", &list, |page, seen| turmoil(&there, page, seen, &mut random));
        table.insert((0..25).map(|_| row(&mut random)).collect());
    }
}

//! Contract section 6: the list of rows, page by page, cursor by cursor, and all its options.

use serde_json::{Value, json};

use crate::harness::runner::scenarios;
use crate::harness::table::query_of;
use crate::harness::{Answer, Api, Request, Scenario, Table};

pub(crate) const SHARED: &[Scenario] = &scenarios!("lists", Versions:
    pages_have_their_bounds_and_true_totals,
    an_empty_table_has_0_pages,
    a_cursor_walk_equals_a_page_walk,
    a_cursor_walk_loses_no_row_while_others_are_deleted,
    pages_are_right_after_many_deletes,
    a_list_can_be_asked_for_some_columns,
    a_list_can_be_asked_for_states,
    a_list_can_be_searched,
    the_total_can_be_left_out,
    a_list_follows_a_view_and_ad_hoc_filters_and_sorting,
    wrong_options_are_400_naming_them,
    a_reference_to_an_empty_value_is_idle,
    a_write_says_what_a_list_must_count_in,
    a_new_project_has_a_sequence_of_its_own,
);

/// A table whose rows are numbered from 0, made in batches so that ids of one millisecond are many.
fn numbered(api: &Api, count: usize) -> Table {
    let table = api.table(&["N"]);
    let rows: Vec<Value> = (0..count).map(|number| json!({ "N": number })).collect();
    rows.chunks(40).for_each(|rows| drop(table.insert(json!(rows))));
    table
}

fn ids(page: &Value) -> Vec<String> {
    page["rows"].as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect()
}

/// The rows page by page, by number.
fn page_walk(table: &Table, size: &str, query: &[(&str, &str)]) -> Vec<String> {
    let mut walked = Vec::new();
    for page in 1.. {
        let number = page.to_string();
        let options = [&[("page", number.as_str()), ("pageSize", size)], query].concat();
        let answer = table.rows(&options);
        assert_eq!(answer["pagination"]["page"], page);
        let ids = ids(&answer);
        if ids.is_empty() {
            break;
        }
        walked.extend(ids);
    }
    walked
}

/// The rows page by page, each from where the one before ended.
fn cursor_walk(
    table: &Table,
    size: &str,
    query: &[(&str, &str)],
    mut after_each: impl FnMut(&[String]),
) -> Vec<String> {
    let mut walked = Vec::new();
    let mut cursor: Option<String> = None;
    loop {
        let mut options = [&[("pageSize", size)], query].concat();
        options.extend(cursor.as_deref().map(|cursor| ("cursor", cursor)));
        let answer = table.rows(&options);
        walked.extend(ids(&answer));
        after_each(&walked);
        match answer["pagination"]["nextCursor"].as_str() {
            Some(next) => cursor = Some(next.to_owned()),
            None => return walked,
        }
        assert!(walked.len() < 100_000, "a walk without end");
    }
}

fn pages_have_their_bounds_and_true_totals(api: &Api) {
    let table = numbered(api, 120);
    let page = table.rows(&[]);
    let pagination = &page["pagination"];
    assert_eq!((ids(&page).len(), &pagination["page"], &pagination["pageSize"]), (50, &json!(1), &json!(50)));
    assert_eq!((&pagination["totalRows"], &pagination["totalPages"]), (&json!(120), &json!(3)));
    assert!(pagination["nextCursor"].is_string());
    assert_eq!(table.values("N", &[("page", "3")]), (100..120).collect::<Vec<_>>());
    let exact = table.rows(&[("page", "3"), ("pageSize", "40")]);
    assert_eq!((ids(&exact).len(), &exact["pagination"]["nextCursor"]), (40, &Value::Null));
    assert_eq!(exact["pagination"]["totalPages"], 3);
    assert_eq!(ids(&table.rows(&[("pageSize", "1000")])).len(), 120);
    assert_eq!(ids(&table.rows(&[("pageSize", "1"), ("page", "120")])).len(), 1);
    for page in ["4", "1000", "1000000"] {
        let past = table.rows(&[("page", page)]);
        assert_eq!((ids(&past).len(), &past["pagination"]["totalRows"]), (0, &json!(120)));
        assert_eq!(
            (&past["pagination"]["totalPages"], &past["pagination"]["nextCursor"]),
            (&json!(3), &Value::Null)
        );
        assert_eq!(past["pagination"]["page"].to_string(), page);
    }
    for (name, wrong) in [
        ("page", ["0", "-1", "1.5", "x", "", "99999999999999999999"]),
        ("pageSize", ["0", "-1", "1001", "x", "", "1e2"]),
    ] {
        for value in wrong {
            table.get(&format!("/rows?{name}={value}")).offends(&[name]);
        }
    }
}

fn an_empty_table_has_0_pages(api: &Api) {
    let table = api.table(&["N"]);
    let expected = json!({ "page": 1, "pageSize": 50, "totalRows": 0, "totalPages": 0, "nextCursor": null });
    let page = table.rows(&[]);
    assert_eq!((&page["rows"], &page["pagination"]), (&json!([]), &expected));
    let nothing = numbered(api, 3);
    let filtered = nothing.rows(&[("search", "no such text")]);
    assert_eq!((&filtered["rows"], &filtered["pagination"]["totalPages"]), (&json!([]), &json!(0)));
}

fn a_cursor_walk_equals_a_page_walk(api: &Api) {
    let table = numbered(api, 103);
    let n = table.column("N");
    let filters = json!([{ "columnId": n, "operator": "greaterThan", "value": 9 }]).to_string();
    let sorting = json!([{ "columnId": n, "direction": "desc" }]).to_string();
    let options: [&[(&str, &str)]; 4] = [
        &[],
        &[("filters", &filters)],
        &[("sorting", &sorting)],
        &[("filters", &filters), ("sorting", &sorting), ("search", "1")],
    ];
    for query in options {
        for size in ["1", "7", "50", "103", "1000"] {
            let pages = page_walk(&table, size, query);
            let cursors = cursor_walk(&table, size, query, |_| {});
            assert_eq!(pages, cursors, "{query:?} {size}");
            assert!(!pages.is_empty());
        }
    }
    assert_eq!(page_walk(&table, "10", &[]).len(), 103);
    // A page's place is told with a cursor, too.
    let first = table.rows(&[("pageSize", "10")]);
    let cursor = first["pagination"]["nextCursor"].as_str().unwrap();
    let second = table.rows(&[("pageSize", "10"), ("cursor", cursor)]);
    assert_eq!((&second["pagination"]["page"], &second["pagination"]["totalRows"]), (&json!(2), &json!(103)));
}

fn a_cursor_walk_loses_no_row_while_others_are_deleted(api: &Api) {
    let table = numbered(api, 100);
    let all = page_walk(&table, "100", &[]);
    // After each page some rows go: one already seen, the one the cursor stands on, and one to come.
    let mut deleted = vec![all[97].clone()];
    table.delete_rows(&deleted).ok();
    let walked = cursor_walk(&table, "10", &[], |walked| {
        let mut doomed = vec![walked[0].clone(), walked.last().unwrap().clone()];
        doomed.extend(all.get(walked.len() + 5).cloned());
        table.delete_rows(&doomed).ok();
        deleted.extend(doomed);
    });
    let mut seen = walked.clone();
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), walked.len(), "no row twice");
    let left = page_walk(&table, "100", &[]);
    assert!(left.iter().all(|id| walked.contains(id)), "a row that stayed was not seen");
    assert!(walked.is_sorted_by_key(|id| all.iter().position(|known| known == id)), "in order");
    // New rows come after all others.
    let cursor = table.rows(&[("pageSize", "3")])["pagination"]["nextCursor"].as_str().unwrap().to_owned();
    let new = table.insert(json!({ "N": "new" })).remove(0);
    let rest = table.rows(&[("cursor", &cursor), ("pageSize", "1000")]);
    assert_eq!(ids(&rest).last(), Some(&new));
}

fn pages_are_right_after_many_deletes(api: &Api) {
    let table = numbered(api, 400);
    let mut left = page_walk(&table, "400", &[]);
    for step in [2, 3, 7] {
        let doomed: Vec<String> = left.iter().step_by(step).cloned().collect();
        assert_eq!(table.delete_rows(&doomed).ok()["deletedCount"], doomed.len());
        left.retain(|id| !doomed.contains(id));
        let more = table.insert(json!([{ "N": "more" }, { "N": "more" }]));
        left.extend(more);
        assert_eq!(table.rows(&[])["pagination"]["totalRows"], left.len());
        for size in ["9", "50"] {
            assert_eq!(page_walk(&table, size, &[]), left, "{step} {size}");
            assert_eq!(cursor_walk(&table, size, &[], |_| {}), left, "{step} {size}");
        }
    }
    assert_eq!(table.get("").ok()["project"]["rowCount"], left.len());
    table.delete_rows(&left).ok();
    assert_eq!(table.rows(&[])["pagination"]["totalPages"], 0);
}

fn a_list_can_be_asked_for_some_columns(api: &Api) {
    let table = api.table(&["A", "B"]);
    let (a, b) = (table.column("A"), table.column("B"));
    table.insert(json!({ "A": 1, "B": 2 }));
    let cells = |ids: &str| table.rows(&[("columnIds", ids)])["rows"][0]["cells"].clone();
    assert_eq!(cells(b), json!({ b: 2 }));
    assert_eq!(cells(&format!("{b},{a}")), json!({ a: 1, b: 2 }));
    assert_eq!(cells(&format!(" {b} , _trigger")), json!({ "_trigger": null, b: 2 }));
    table.list(&[("columnIds", "nope")]).offends(&["columnIds"]);
    table.list(&[("columnIds", &format!("{a},C"))]).offends(&["columnIds"]);
}

fn a_list_can_be_asked_for_states(api: &Api) {
    let table = api.table(&["A"]);
    let ai = table.add_column(json!({ "templateId": "ai-text" }));
    table.insert(json!([{ "A": 1, ai.clone(): "by hand" }, { "A": 2 }]));
    let rows = table.rows(&[("withStatus", "true")])["rows"].clone();
    let cell = |value: Value, status: &str| json!({ "value": value, "status": status });
    let a = table.column("A");
    assert_eq!(rows[0]["cells"][a], cell(json!(1), "idle"));
    assert_eq!(
        (&rows[0]["cells"][&ai], &rows[1]["cells"][&ai]),
        (&cell(json!("by hand"), "completed"), &cell(json!(null), "idle"))
    );
    assert_eq!(table.rows(&[("withStatus", "false")])["rows"][0]["cells"][a], 1);
    let full = table.rows(&[("withState", "true")])["rows"].clone();
    assert_eq!(
        (&full[0]["cells"][&ai], &full[1]["cells"]),
        (&json!({ "value": "by hand", "status": "completed", "manual": true }), &rows[1]["cells"])
    );
}

fn a_list_can_be_searched(api: &Api) {
    let table = api.table(&["A", "B"]);
    table.insert(json!([
        { "A": "Ada Lovelace", "B": 1815 },
        { "A": "Alan", "B": { "deep": ["Turing"] } },
        { "A": "ÉCOLE", "B": "100%" },
        { "_trigger": "grace" },
    ]));
    let found = |text: &str| table.rows(&[("search", text)])["pagination"]["totalRows"].as_u64().unwrap();
    assert_eq!(found("LOVE"), 1);
    assert_eq!((found("turing"), found("école"), found("GRACE"), found("1815")), (1, 1, 1, 1));
    assert_eq!((found("%"), found("_"), found("a"), found("")), (1, 0, 3, 4));
    let filters =
        json!([{ "columnId": table.column("A"), "operator": "startsWith", "value": "al" }]).to_string();
    assert_eq!(table.values("A", &[("search", "a"), ("filters", &filters)]), ["Alan"]);
}

fn the_total_can_be_left_out(api: &Api) {
    let table = numbered(api, 60);
    for query in [vec![], vec![("search", "1")]] {
        let with = table.rows(&query);
        let without = table.rows(&[query.clone(), vec![("includeTotal", "false")]].concat());
        assert_eq!(with["rows"], without["rows"]);
        assert!(with["pagination"]["totalRows"].is_u64() && with["pagination"]["totalPages"].is_u64());
        let totals = (&without["pagination"]["totalRows"], &without["pagination"]["totalPages"]);
        assert_eq!(totals, (&Value::Null, &Value::Null), "{}", without["pagination"]);
        assert_eq!(without["pagination"].as_object().unwrap().len(), 5, "{}", without["pagination"]);
        assert_eq!(with["pagination"]["nextCursor"], without["pagination"]["nextCursor"]);
    }
}

fn a_list_follows_a_view_and_ad_hoc_filters_and_sorting(api: &Api) {
    let table = numbered(api, 30);
    let n = table.column("N");
    let view = json!({ "name": "Over 9", "filters": [{ "columnId": n, "operator": "greaterThan", "value": 9 }],
        "sorting": [{ "columnId": n, "direction": "desc" }], "columnVisibility": { n: false } });
    let view = table.post("/views", view).created()["view"]["id"].as_str().unwrap().to_owned();
    let values = table.values("N", &[("viewId", &view), ("pageSize", "3")]);
    assert_eq!(values, [29, 28, 27], "a hidden column is still named");
    assert_eq!(table.rows(&[("viewId", &view)])["pagination"]["totalRows"], 20);
    let filters = json!([{ "columnId": n, "operator": "lessThan", "value": 13 }]).to_string();
    assert_eq!(table.values("N", &[("viewId", &view), ("filters", &filters)]), [12, 11, 10]);
    let sorting = json!([{ "columnId": n, "direction": "asc" }]).to_string();
    assert_eq!(
        table.values("N", &[("viewId", &view), ("filters", &filters), ("sorting", &sorting)]),
        [10, 11, 12]
    );
    assert_eq!(table.values("N", &[("filters", &filters), ("pageSize", "2"), ("page", "7")]), [12]);
    assert_eq!(
        page_walk(&table, "7", &[("viewId", &view)]),
        cursor_walk(&table, "7", &[("viewId", &view)], |_| {})
    );
}

fn wrong_options_are_400_naming_them(api: &Api) {
    let table = numbered(api, 3);
    let n = table.column("N");
    for wrong in [
        "",
        "x",
        "{}",
        "5",
        "[5]",
        r#"[{"columnId":"_trigger"}]"#,
        r#"[{"columnId":"_trigger","operator":"nope"}]"#,
    ] {
        let refusal = table.list(&[("filters", wrong)]).refused(400, "invalid_request");
        assert!(refusal["details"][0]["path"].as_str().unwrap().starts_with("filters"), "{wrong}: {refusal}");
    }
    for wrong in [
        "",
        "x",
        "{}",
        "[5]",
        r#"[{"columnId":"_trigger"}]"#,
        r#"[{"columnId":"_trigger","direction":"up"}]"#,
    ] {
        let refusal = table.list(&[("sorting", wrong)]).refused(400, "invalid_request");
        assert!(refusal["details"][0]["path"].as_str().unwrap().starts_with("sorting"), "{wrong}: {refusal}");
    }
    let unknown = json!([{ "columnId": "col_4fJq0ZtR9xWb", "operator": "isEmpty" }]).to_string();
    table.list(&[("filters", &unknown)]).offends(&["filters[0].columnId"]);
    let unknown = json!([{ "columnId": n, "direction": "asc" }, { "columnId": "nope", "direction": "asc" }])
        .to_string();
    table.list(&[("sorting", &unknown)]).offends(&["sorting[1].columnId"]);
    for cursor in ["x", "", "AAAA", "row_0190f0e0b3c47d5e8f60123456789abc", "🙂"] {
        table.list(&[("cursor", cursor)]).offends(&["cursor"]);
    }
    for name in ["withStatus", "withState", "includeTotal"] {
        table.list(&[(name, "1")]).offends(&[name]);
    }
    table.list(&[("viewId", "view_0190f0e0c5d67e8f80123456789abcde")]).refused(404, "view_not_found");
    table.list(&[("filters", "[]"), ("sorting", "[]")]).ok();
}

fn a_reference_to_an_empty_value_is_idle(api: &Api) {
    let table = api.table(&["Source"]);
    let source = table.column("Source").to_owned();
    let reference = json!({ "templateId": "reference", "header": "Ref",
        "referenceConfig": { "columnId": source, "path": "a" } });
    let reference = table.add_column(reference);
    let values = [json!("x"), json!(0), json!(false), json!(""), json!([]), json!({}), json!(null)];
    let rows: Vec<Value> = values.iter().map(|value| json!({ "Source": { "a": value } })).collect();
    let ids = table.insert(rows.into());
    for (place, (id, value)) in ids.iter().zip(&values).enumerate() {
        let status = if place < 3 { "completed" } else { "idle" };
        assert_eq!(table.cells(id)[&reference], json!({ "value": value, "status": status }));
        let listed = table.rows(&[("withStatus", "true")])["rows"][place]["cells"][&reference].clone();
        assert_eq!(listed["status"], status, "{value}");
    }
    for (status, count) in [("completed", 3), ("idle", 4)] {
        let filters = json!([{ "columnId": reference, "operator": "statusIs", "value": status }]).to_string();
        assert_eq!(table.rows(&[("filters", &filters)])["pagination"]["totalRows"], count, "{status}");
    }
}

fn a_write_says_what_a_list_must_count_in(api: &Api) {
    let table = api.table(&["Name"]);
    let sequence = |answer: &Answer| answer.header("x-rowmill-sequence").unwrap().parse::<u64>().unwrap();
    let first = sequence(&table.post("/rows", json!([{ "Name": "a" }, { "Name": "b" }])));
    let row = table.rows(&[])["rows"][1]["id"].as_str().unwrap().to_owned();
    let change = json!({ "cells": [{ "rowId": row, "columnId": table.column("Name"), "value": "c" }] });
    let second = sequence(&table.patch("/cells", change));
    assert!(second > first);
    let sorting = json!([{ "columnId": table.column("Name"), "direction": "desc" }]).to_string();
    let path = table.path(&format!("/rows{}", query_of(&[("sorting", &sorting)])));
    let list = |header: &str| api.send(Request::get(&path).header("X-Rowmill-Sequence", header));
    let rows = list(&second.to_string()).ok();
    assert_eq!(rows["rows"][0]["id"], json!(row));
    for never_told in ["soon", "-1", &(second + 1).to_string()] {
        list(never_told).offends(&["X-Rowmill-Sequence"]);
    }
}

fn a_new_project_has_a_sequence_of_its_own(api: &Api) {
    let check = |answer: Answer| {
        let sequence = answer.header("x-rowmill-sequence").expect(&answer.text).to_owned();
        let id = answer.json["project"]["id"].as_str().unwrap().to_owned();
        let list = Request::get(format!("/v4/projects/{id}/rows")).header("X-Rowmill-Sequence", &sequence);
        api.send(list).ok();
        (id, sequence.parse::<u64>().unwrap())
    };
    let (source, _) = check(api.post("/v4/projects", json!({ "title": "Source" })));
    for number in 0..5 {
        api.post(format!("/v4/projects/{source}/rows"), json!({ "n": number })).created();
    }
    let path = format!("/v4/projects/{source}/duplicate");
    let written = api.patch(format!("/v4/projects/{source}"), json!({ "title": "Renamed" }));
    let written: u64 = written.header("x-rowmill-sequence").unwrap().parse().unwrap();
    let (_, copied) = check(api.post(path, json!({ "title": "Copy" })));
    assert!(copied < written, "it is the copy's and not the source's: {copied}");
    let send = || api.send(Request::post("/v4/projects/sample").header("Idempotency-Key", &source));
    let (sample, told) = check(send());
    assert_eq!(check(send()), (sample.clone(), told), "when it is repeated, too");
    api.delete(format!("/v4/projects/{source}")).ok();
    api.delete(format!("/v4/projects/{sample}")).ok();
    let restore = |ids: Value| api.post("/v4/trash/restore", json!({ "projectIds": ids }));
    let restored = restore(json!([source]));
    assert_eq!(restored.json["restoredCount"], 1, "{}", restored.text);
    let told: u64 = restored.header("x-rowmill-sequence").unwrap().parse().unwrap();
    assert!(told >= written);
    assert_eq!(restore(json!([source, sample])).header("x-rowmill-sequence"), None, "of which of them?");
}

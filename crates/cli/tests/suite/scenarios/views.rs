//! Contract section 8: saved views, their filters and their sorting.

use serde_json::{Value, json};

use crate::harness::runner::scenarios;
use crate::harness::{Api, Scenario, Table};

pub(crate) const SHARED: &[Scenario] = &scenarios!("views", Versions:
    a_view_is_made_listed_changed_and_deleted,
    names_and_emojis_have_their_bounds,
    views_are_listed_by_order,
    a_patch_replaces_only_what_is_sent,
    filters_come_back_as_they_were_sent,
    groups_nest_3_deep_and_no_deeper,
    a_view_has_100_filters_at_most_groups_counted_through,
    wrong_filters_are_400_naming_the_place,
    wrong_sorting_and_visibility_are_400,
);

fn create(table: &Table, body: Value) -> Value {
    table.post("/views", body).created()["view"].clone()
}

fn list(table: &Table) -> Vec<Value> {
    table.get("/views").ok()["views"].as_array().unwrap().clone()
}

fn path(view: &Value) -> String {
    format!("/views/{}", view["id"].as_str().unwrap())
}

fn a_view_is_made_listed_changed_and_deleted(api: &Api) {
    let table = api.table(&["Name"]);
    assert_eq!(list(&table), [Value::Null; 0]);
    let plain = create(&table, json!({ "name": " Plain " }));
    let expected = json!({ "name": "Plain", "emoji": "📋", "order": 0, "filters": [], "sorting": [], "columnVisibility": {} });
    for (field, value) in expected.as_object().unwrap() {
        assert_eq!(&plain[field], value, "{field}");
    }
    assert!(plain["createdAt"].as_str().unwrap().ends_with('Z'));
    let name = table.column("Name");
    let full = create(
        &table,
        json!({
            "name": "Full", "emoji": "rocket",
            "filters": [{ "columnId": name, "operator": "equals", "value": "x" }],
            "sorting": [{ "columnId": name, "direction": "desc" }],
            "columnVisibility": { name: false },
        }),
    );
    assert_eq!((&full["emoji"], &full["order"]), (&json!("rocket"), &json!(1)));
    assert_eq!(list(&table), [plain.clone(), full.clone()]);
    let patched = table.patch(&path(&full), json!({ "name": "Fuller" })).ok()["view"].clone();
    assert_eq!(
        (&patched["name"], &patched["id"], &patched["filters"]),
        (&json!("Fuller"), &full["id"], &full["filters"])
    );
    assert_eq!(table.delete(&path(&plain)).ok(), json!({ "success": true, "deletedCount": 1 }));
    table.delete(&path(&plain)).refused(404, "view_not_found");
    let left = list(&table);
    assert_eq!((left.len(), &left[0]["name"], &left[0]["order"]), (1, &json!("Fuller"), &json!(0)));
}

fn names_and_emojis_have_their_bounds(api: &Api) {
    let table = api.table(&[]);
    let view = create(&table, json!({ "name": "é".repeat(255), "emoji": "👩‍👩‍👧".repeat(12) }));
    create(&table, json!({ "name": "x", "emoji": "" }));
    for name in [json!(""), json!("  "), json!("x".repeat(256)), json!(5), json!(null)] {
        table.post("/views", json!({ "name": name })).offends(&["name"]);
        table.patch(&path(&view), json!({ "name": name })).offends(&["name"]);
    }
    for emoji in [json!("x".repeat(65)), json!(5)] {
        table.post("/views", json!({ "name": "x", "emoji": emoji })).offends(&["emoji"]);
        table.patch(&path(&view), json!({ "emoji": emoji })).offends(&["emoji"]);
    }
    table.post("/views", json!({})).offends(&["name"]);
    // Two views may have one name.
    create(&table, json!({ "name": "x" }));
    assert_eq!(list(&table).len(), 3);
}

fn views_are_listed_by_order(api: &Api) {
    let table = api.table(&[]);
    let views: Vec<Value> =
        ["A", "B", "C"].iter().map(|name| create(&table, json!({ "name": name }))).collect();
    let names = |table: &Table| {
        let views = list(table);
        assert!(views.iter().enumerate().all(|(order, view)| view["order"] == order), "{views:?}");
        views.iter().map(|view| view["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(names(&table), "A B C");
    assert_eq!(table.patch(&path(&views[2]), json!({ "order": 0 })).ok()["view"]["order"], 0);
    assert_eq!(names(&table), "C A B");
    table.patch(&path(&views[2]), json!({ "order": 99 })).ok();
    for order in [json!(4_294_967_296_u64), json!(9_007_199_254_740_991_u64)] {
        assert_eq!(
            table.patch(&path(&views[2]), json!({ "order": order })).ok()["view"]["order"],
            2,
            "{order}"
        );
    }
    for order in [json!(-1), json!(0.5), json!("1"), json!(null)] {
        table.patch(&path(&views[2]), json!({ "order": order })).offends(&["order"]);
    }
    assert_eq!(names(&table), "A B C");
    table.delete(&path(&views[0])).ok();
    assert_eq!(names(&table), "B C");
}

fn a_patch_replaces_only_what_is_sent(api: &Api) {
    let table = api.table(&["A", "B"]);
    let (a, b) = (table.column("A"), table.column("B"));
    let filter = |column: &str| json!([{ "columnId": column, "operator": "isEmpty" }]);
    let view = create(
        &table,
        json!({ "name": "x", "filters": filter(a), "columnVisibility": { a: false, b: true } }),
    );
    let patched = table.patch(&path(&view), json!({ "filters": filter(b) })).ok()["view"].clone();
    assert_eq!(patched["filters"][0]["columnId"], b);
    assert_eq!(
        (patched["filters"].as_array().unwrap().len(), &patched["columnVisibility"]),
        (1, &view["columnVisibility"])
    );
    let patched =
        table.patch(&path(&view), json!({ "columnVisibility": { "_trigger": false }, "filters": [] })).ok();
    assert_eq!(
        (&patched["view"]["columnVisibility"], &patched["view"]["filters"]),
        (&json!({ "_trigger": false }), &json!([]))
    );
    let unchanged = table.patch(&path(&view), json!({})).ok()["view"].clone();
    assert_eq!(unchanged, patched["view"]);
    assert_eq!(list(&table)[0], unchanged);
}

fn filters_come_back_as_they_were_sent(api: &Api) {
    let table = api.table(&["A"]);
    let a = table.column("A");
    let filters = json!([
        { "columnId": a, "operator": "between", "value": [1, 2.5] },
        { "columnId": a, "operator": "equals", "value": "x", "path": "$.a[0]", "caseSensitive": true },
        { "columnId": a, "operator": "isWithin", "value": { "mode": "pastDays", "n": 3 }, "timeZone": "Europe/Berlin" },
        { "conjunction": "not", "filters": [{ "columnId": "_trigger", "operator": "isTrue" }] },
    ]);
    let sorting =
        json!([{ "columnId": a, "direction": "asc" }, { "columnId": "_trigger", "direction": "desc" }]);
    let view = create(&table, json!({ "name": "x", "filters": filters, "sorting": sorting }));
    for (index, sent) in filters.as_array().unwrap().iter().enumerate() {
        for (field, value) in sent.as_object().unwrap() {
            let kept = &view["filters"][index][field];
            if field != "filters" {
                assert_eq!(kept, value, "{field}");
            }
        }
    }
    assert_eq!(view["sorting"], sorting);
    // And what came back may be sent again.
    let again = json!({ "name": "y", "filters": view["filters"], "sorting": view["sorting"] });
    assert_eq!(create(&table, again)["filters"], view["filters"]);
    table.list(&[("filters", &view["filters"].to_string())]).ok();
}

fn groups_nest_3_deep_and_no_deeper(api: &Api) {
    let table = api.table(&["A"]);
    let a = table.column("A");
    table.insert(json!([{ "A": 1 }, { "A": 2 }, { "A": 3 }]));
    let is = |value: i64| json!({ "columnId": a, "operator": "equals", "value": value });
    let group = |conjunction: &str, filters: Value| json!({ "conjunction": conjunction, "filters": filters });
    let three = json!([group("not", json!([group("or", json!([group("and", json!([is(1)])), is(2)]))]))]);
    create(&table, json!({ "name": "x", "filters": three }));
    assert_eq!(table.values("A", &[("filters", &three.to_string())]), [3]);
    let four = json!([group("and", three)]);
    table.post("/views", json!({ "name": "x", "filters": four })).refused(400, "invalid_request");
    table.list(&[("filters", &four.to_string())]).refused(400, "invalid_request");
    for (filters, expected) in [
        (json!([group("or", json!([is(1), is(3)]))]), vec![1, 3]),
        (json!([group("and", json!([is(1), is(3)]))]), vec![]),
        (json!([group("not", json!([is(1), is(3)]))]), vec![2]),
        (json!([is(1), is(3)]), vec![]),
        (json!([group("or", json!([is(1), is(2)])), group("not", json!([is(1)]))]), vec![2]),
    ] {
        assert_eq!(table.values("A", &[("filters", &filters.to_string())]), expected, "{filters}");
    }
}

fn a_view_has_100_filters_at_most_groups_counted_through(api: &Api) {
    let table = api.table(&["A"]);
    let filter = json!({ "columnId": table.column("A"), "operator": "isEmpty" });
    let view = create(&table, json!({ "name": "x", "filters": vec![filter.clone(); 100] }));
    table.post("/views", json!({ "name": "x", "filters": vec![filter.clone(); 101] })).exceeds("100");
    table.patch(&path(&view), json!({ "filters": vec![filter.clone(); 101] })).exceeds("100");
    let halves = json!([
        { "conjunction": "or", "filters": vec![filter.clone(); 60] },
        { "conjunction": "or", "filters": vec![filter.clone(); 60] },
    ]);
    table.post("/views", json!({ "name": "x", "filters": halves })).exceeds("100");
    table.list(&[("filters", &json!(vec![filter; 101]).to_string())]).exceeds("100");
}

fn wrong_filters_are_400_naming_the_place(api: &Api) {
    let table = api.table(&["A"]);
    let a = table.column("A");
    let check = |filter: Value, place: &str| {
        let right = json!({ "columnId": a, "operator": "isEmpty" });
        let refusal = table
            .post("/views", json!({ "name": "x", "filters": [right, filter] }))
            .refused(400, "invalid_request");
        let path = refusal["details"][0]["path"].as_str().unwrap();
        assert_eq!(path, format!("filters[1]{place}"), "{filter}");
        let list = table.list(&[("filters", &json!([filter]).to_string())]).refused(400, "invalid_request");
        assert_eq!(list["details"][0]["path"], format!("filters[0]{place}"), "{filter}");
    };
    let with = |operator: &str, value: Value| json!({ "columnId": a, "operator": operator, "value": value });
    check(json!({ "columnId": a, "operator": "nope" }), ".operator");
    check(json!({ "columnId": a, "operator": "EQUALS", "value": 1 }), ".operator");
    check(json!({ "columnId": "nope", "operator": "isEmpty" }), ".columnId");
    check(json!({ "columnId": a }), ".operator");
    check(json!({ "operator": "isEmpty" }), ".columnId");
    check(json!(5), "");
    check(json!({ "conjunction": "xor", "filters": [] }), ".conjunction");
    check(json!({ "conjunction": "or" }), ".filters");
    check(
        json!({ "conjunction": "or", "filters": [{ "columnId": a, "operator": "nope" }] }),
        ".filters[0].operator",
    );
    for (operator, values) in [
        ("in", vec![json!(5), json!({}), json!(null)]),
        ("notIn", vec![json!("x")]),
        ("contains", vec![json!(5), json!([])]),
        ("matches", vec![json!("("), json!(5)]),
        ("greaterThan", vec![json!("word"), json!(true), json!([1]), json!(null)]),
        (
            "between",
            vec![json!(5), json!([1]), json!([1, 2, 3]), json!([1, "2020-01-01"]), json!(["a", "b"])],
        ),
        ("before", vec![json!(5), json!("soon")]),
        (
            "isWithin",
            vec![
                json!("today"),
                json!({ "mode": "nope" }),
                json!({ "mode": "pastDays" }),
                json!({ "mode": "pastDays", "n": -1 }),
            ],
        ),
        ("hasAnyOf", vec![json!(5), json!("x")]),
        ("statusIs", vec![json!("nope"), json!(5), json!(["idle"])]),
        ("statusIn", vec![json!("idle"), json!(["nope"])]),
        ("errorCodeIn", vec![json!(["nope"]), json!("timed_out")]),
    ] {
        for value in values {
            let refusal =
                table.post("/views", json!({ "name": "x", "filters": [with(operator, value.clone())] }));
            let refusal = refusal.refused(400, "invalid_request");
            let path = refusal["details"][0]["path"].as_str().unwrap();
            assert!(path.starts_with("filters[0].value"), "{operator} {value}: {path}");
        }
    }
    // Patterns that are too large together would hold for no row.
    let large = vec![with("matches", json!(r"\w{20}")); 20];
    for answer in [
        table.post("/views", json!({ "name": "x", "filters": large })),
        table.post("/columns", json!({ "templateId": "ai-text", "runCondition": large })),
    ] {
        let refusal = answer.refused(400, "invalid_request");
        assert!(refusal["details"][0]["message"].as_str().unwrap().contains("once compiled"), "{refusal}");
    }
    check(json!({ "columnId": a, "operator": "isEmpty", "timeZone": "Mars/Base" }), ".timeZone");
    check(json!({ "columnId": a, "operator": "isEmpty", "path": "$[" }), ".path");
    check(json!({ "columnId": a, "operator": "isEmpty", "caseSensitive": "no" }), ".caseSensitive");
    assert_eq!(list(&table).len(), 0);
}

fn wrong_sorting_and_visibility_are_400(api: &Api) {
    let table = api.table(&["A"]);
    let a = table.column("A");
    let check = |body: Value, place: &str| {
        let mut body = body;
        body["name"] = json!("x");
        let refusal = table.post("/views", body).refused(400, "invalid_request");
        assert_eq!(refusal["details"][0]["path"], place);
    };
    check(json!({ "sorting": [{ "columnId": a, "direction": "up" }] }), "sorting[0].direction");
    check(json!({ "sorting": [{ "columnId": a }] }), "sorting[0].direction");
    check(json!({ "sorting": [{ "columnId": "nope", "direction": "asc" }] }), "sorting[0].columnId");
    check(json!({ "sorting": [5] }), "sorting[0]");
    check(json!({ "sorting": {} }), "sorting");
    check(json!({ "columnVisibility": { a: "yes" } }), &format!("columnVisibility.{a}"));
    check(json!({ "columnVisibility": { "nope": true } }), "columnVisibility.nope");
    check(json!({ "filters": {} }), "filters");
}

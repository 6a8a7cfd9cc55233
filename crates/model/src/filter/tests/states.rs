//! Filters by state, in groups, through references, and search.

use super::*;
use crate::cell::CellState;
use crate::cell_status::{CellError, CellStatus, ErrorCode};

/// The state of `col_ai` under test, and that of other cells, which must not matter.
fn states(state: CellState) -> CellStates {
    let mut states = CellStates::default();
    let noise = CellState { status: CellStatus::Error, stale: true, manual: true, ..CellState::default() };
    states.set(1, noise.clone());
    states.set(4, noise);
    states.set(3, state);
    states
}

#[test]
fn states_are_asked_of_the_cell() {
    fn check(column: &str, operator: &str, value: &Json, state: &CellState, expected: bool) {
        let sent = json!([{"columnId": column, "operator": operator, "value": value}]);
        let cells = [(0, r#"{"guest": {"email": "x"}}"#), (1, "1")];
        assert_eq!(
            holds_in(&sent, &cells, &states(state.clone()), NOW),
            expected,
            "{column} {operator} {value}"
        );
    }
    let idle = CellState::default();
    let error = CellError { code: ErrorCode::TimedOut, message: String::new() };
    let failed = CellState { status: CellStatus::Error, error: Some(error), ..CellState::default() };
    let stale = CellState { status: CellStatus::Completed, stale: true, ..CellState::default() };
    let manual = CellState { status: CellStatus::Completed, manual: true, ..CellState::default() };

    check("col_ai", "statusIs", &json!("idle"), &idle, true);
    check("col_ai", "statusIs", &json!("error"), &idle, false);
    check("col_ai", "statusIs", &json!("error"), &failed, true);
    check("col_ai", "statusIn", &json!(["queued", "error"]), &failed, true);
    check("col_ai", "statusIn", &json!(["queued", "idle"]), &failed, false);
    check("col_ai", "statusIn", &json!([]), &failed, false);
    check("col_ai", "errorCodeIn", &json!(["blocked", "timed_out"]), &failed, true);
    check("col_ai", "errorCodeIn", &json!(["blocked"]), &failed, false);
    check("col_ai", "errorCodeIn", &json!(["timed_out"]), &idle, false);
    check("col_ai", "isStale", &json!(null), &stale, true);
    check("col_ai", "isStale", &json!(null), &manual, false);
    check("col_ai", "isManual", &json!(true), &manual, true);
    check("col_ai", "isManual", &json!(null), &stale, false);

    // A manual column is always idle, whatever is stored.
    check("col_a", "statusIs", &json!("idle"), &idle, true);
    check("col_a", "isManual", &json!(null), &idle, false);
    check("col_a", "isStale", &json!(null), &idle, false);
    // A reference is completed where it has a value.
    check("col_ref", "statusIs", &json!("completed"), &idle, true);
    check("col_ref", "isStale", &json!(null), &idle, false);
}

#[test]
fn groups_join_filters() {
    fn check(filters: &Json, expected: bool) {
        let cells = [(1, "\"x\""), (2, "2")];
        assert_eq!(holds_in(filters, &cells, &CellStates::default(), NOW), expected, "{filters}");
    }
    let yes = json!({"columnId": "col_a", "operator": "equals", "value": "x"});
    let no = json!({"columnId": "col_b", "operator": "equals", "value": 3});
    let group =
        |conjunction: &str, filters: &[&Json]| json!({"conjunction": conjunction, "filters": filters});
    check(&json!([]), true);
    check(&json!([yes, yes]), true);
    check(&json!([yes, no]), false);
    for (conjunction, of_none, of_yes, of_no, of_both) in [
        ("and", true, true, false, false),
        ("or", false, true, false, true),
        ("not", true, false, true, false),
    ] {
        check(&json!([group(conjunction, &[])]), of_none);
        check(&json!([group(conjunction, &[&yes, &yes])]), of_yes);
        check(&json!([group(conjunction, &[&no, &no])]), of_no);
        check(&json!([group(conjunction, &[&yes, &no])]), of_both);
    }
    let not_no = group("not", &[&no]);
    let either = group("or", &[&no, &not_no]);
    check(&json!([group("and", &[&either, &yes])]), true);
    check(&json!([group("not", &[&either])]), false);
}

#[test]
fn a_reference_is_filtered_by_what_it_follows() {
    let sent = json!([{"columnId": "col_ref", "operator": "equals", "value": "ada@example.com"}]);
    let cells = [(0, r#"{"guest": {"email": "Ada@example.com"}}"#), (4, "\"not this\"")];
    assert!(holds_in(&sent, &cells, &CellStates::default(), NOW));
    assert!(!holds_in(&sent, &[(4, "\"ada@example.com\"")], &CellStates::default(), NOW));
}

#[test]
fn a_column_that_is_gone_is_empty() {
    let record = Record::pack([(1, "1")]);
    let (before, states) = (table(), CellStates::default());
    let mut after = table();
    after.columns.retain(|column| column.id.as_str() != "col_a");
    let holds = |operator: &str, value: Json| {
        let filters = Filters::parse(&filter(operator, &value), "f", &before, &Limits::default()).unwrap();
        let row = RowView::new(&after, record.cells().unwrap(), &states);
        Predicate::compile(&filters, &after).holds(&row, NOW.parse().unwrap())
    };
    assert!(!holds("equals", json!(1)));
    assert!(holds("isEmpty", json!(null)));
    assert!(holds("notEquals", json!(1)));
    assert!(holds("statusIs", json!("idle")));
}

#[test]
fn a_filter_that_cannot_be_read_never_holds() {
    for broken in [
        json!({"columnId": "col_a", "operator": "notContains", "value": 1}),
        json!({"columnId": "col_a", "operator": "matches", "value": "("}),
        json!({"columnId": "col_a", "operator": "isNotEmpty", "path": "a["}),
        json!({"columnId": "col_a", "operator": "notIn", "value": "x"}),
        json!({"columnId": "col_a", "operator": "equals", "value": 1, "timeZone": "Mars/Base"}),
    ] {
        let filters: Filters = serde_json::from_value(json!([broken])).unwrap();
        let (table, states) = (table(), CellStates::default());
        let record = Record::pack([(1, "1")]);
        let row = RowView::new(&table, record.cells().unwrap(), &states);
        assert!(!Predicate::compile(&filters, &table).holds(&row, NOW.parse().unwrap()), "{broken}");
    }
}

#[test]
fn search_looks_in_every_cell() {
    fn check(text: &str, expected: bool) {
        let table = table();
        let record = Record::pack([
            (0, r#"{"guest": {"email": "ada@example.com", "city": "K\u00f6ln"}}"#),
            (1, "\"Hello \\\"World\\\"\""),
            (2, "12.50"),
            (3, "true"),
            // The slot of a column that is gone.
            (9, "\"ghost\""),
        ]);
        let states = CellStates::default();
        let row = RowView::new(&table, record.cells().unwrap(), &states);
        assert_eq!(Search::new(text, &table).matches(&row), expected, "{text}");
    }
    check("", true);
    check("hello \"w", true);
    check("ADA@", true);
    check("KÖLN", true);
    check("2.5", true);
    check("TRUE", true);
    check("email\":\"ada", true);
    check("ghost", false);
    check("null", false);
    check("hello  ", false);
}

#[test]
fn a_predicate_can_be_shared_between_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<Predicate>();
    shared::<Search>();
    shared::<crate::sort::Order>();
}

//! What each operator says of each kind of value.

use std::collections::BTreeSet;

use super::*;

/// One cell of each kind.
const CELLS: [(&str, &str); 14] = [
    ("null", "null"),
    ("blank", "\"\""),
    ("no_elements", "[ ]"),
    ("no_members", "{}"),
    ("true", "true"),
    ("false", "false"),
    ("integer", "5"),
    ("decimal", "5.50"),
    ("number_text", "\"5.0\""),
    ("text", "\"Hello 5\""),
    ("date", "\"2024-05-10\""),
    ("datetime", "\"2024-05-10T02:00:00+02:00\""),
    ("array", "[5, \"Hello\", \"2024-05-10\"]"),
    ("object", "{\"Hello\": 5}"),
];

const EMPTY: &[&str] = &["null", "blank", "no_elements", "no_members"];
const NONE: &[&str] = &[];

fn all_but(without: &[&'static str]) -> Vec<&'static str> {
    CELLS.iter().map(|(name, _)| *name).filter(|name| !without.contains(name)).collect()
}

fn check(operator: &str, value: &Json, expected: &[&str]) {
    let sent = filter(operator, value);
    let held: Vec<&str> = CELLS.iter().filter(|(_, raw)| holds(&sent, raw)).map(|(name, _)| *name).collect();
    assert_eq!(held, expected, "{operator} {value}");
}

/// Checks an operator and its exact negation.
fn check_both(operator: &str, negation: &str, value: &Json, expected: &[&'static str]) {
    check(operator, value, expected);
    check(negation, value, &all_but(expected));
}

#[test]
fn every_operator_is_tested_on_every_kind_of_value() {
    let source = concat!(include_str!("operators.rs"), include_str!("states.rs"), include_str!("types.rs"));
    let untested: BTreeSet<&str> = Operator::ALL
        .map(Operator::word)
        .into_iter()
        .filter(|word| !source.contains(&format!("\"{word}\"")))
        .collect();
    assert_eq!(untested, BTreeSet::new());
}

#[test]
fn equality() {
    let both = |value: &Json, expected: &[&'static str]| check_both("equals", "notEquals", value, expected);
    for empty in [json!(null), json!(""), json!([]), json!({})] {
        both(&empty, EMPTY);
    }
    both(&json!(true), &["true"]);
    both(&json!(false), &["false"]);
    both(&json!("true"), NONE);
    both(&json!(5), &["integer", "number_text"]);
    both(&json!("5"), &["integer", "number_text"]);
    both(&json!(" 5.00 "), &["integer", "number_text"]);
    both(&json!(5.5), &["decimal"]);
    both(&json!("hELLO 5"), &["text"]);
    both(&json!("hello"), NONE);
    both(&json!("2024-05-10"), &["date", "datetime"]);
    both(&json!("2024-05-09T20:00-04:00"), &["date", "datetime"]);
    both(&json!([5.0, "Hello", "2024-05-10"]), &["array"]);
    both(&json!([5, "hello", "2024-05-10"]), NONE);
    both(&json!({"Hello": 5.0}), &["object"]);
    both(&json!({"hello": 5}), NONE);
}

#[test]
fn emptiness() {
    for value in [json!(null), json!(true)] {
        check_both("isEmpty", "isNotEmpty", &value, EMPTY);
    }
    assert!(holds(&json!([{"columnId": "col_a", "operator": "isEmpty"}]), "null"));
}

#[test]
fn membership() {
    let both = |value: &Json, expected: &[&'static str]| check_both("in", "notIn", value, expected);
    both(&json!([]), NONE);
    both(&json!([""]), EMPTY);
    both(&json!([null, 5.5, "HELLO 5"]), &["null", "blank", "no_elements", "no_members", "decimal", "text"]);
    both(&json!([true, ["x"], {"Hello": 5}]), &["true", "object"]);
    both(&json!(["2024-05-10T00:00Z", 5]), &["integer", "number_text", "date", "datetime"]);
}

#[test]
fn parts_of_text() {
    let both =
        |value: &Json, expected: &[&'static str]| check_both("contains", "notContains", value, expected);
    both(&json!("HELLO"), &["text", "array", "object"]);
    both(&json!("5"), &["integer", "decimal", "number_text", "text", "date", "datetime", "array", "object"]);
    both(&json!("5.50"), &["decimal"]);
    both(&json!("RUE"), &["true"]);
    both(&json!("{\"hello\":5}"), &["object"]);
    both(&json!("nowhere"), NONE);
    both(&json!("null"), NONE);
    both(&json!(""), &all_but(NONE));
    check("startsWith", &json!("hel"), &["text"]);
    check("startsWith", &json!("5"), &["integer", "decimal", "number_text"]);
    check("startsWith", &json!("["), &["array"]);
    check("startsWith", &json!("f"), &["false"]);
    check("startsWith", &json!(""), &all_but(NONE));
    check("endsWith", &json!("LO 5"), &["text"]);
    check("endsWith", &json!("e"), &["true", "false"]);
    check("endsWith", &json!("0"), &["decimal", "number_text", "date", "datetime"]);
    check("endsWith", &json!("}"), &["object"]);
    check("endsWith", &json!(""), &all_but(NONE));
}

#[test]
fn patterns() {
    check("matches", &json!("^h.*o"), &["text"]);
    check("matches", &json!("\\d{4}-\\d\\d"), &["date", "datetime", "array"]);
    check("matches", &json!("^(5|true)$"), &["true", "integer"]);
    check("matches", &json!("^$"), NONE);
    check("matches", &json!("x*"), &all_but(EMPTY));
    check("matches", &json!(""), &all_but(NONE));
}

#[test]
fn comparisons_of_numbers() {
    check("greaterThan", &json!(5), &["decimal"]);
    check("greaterThan", &json!("4.99"), &["integer", "decimal", "number_text"]);
    check("greaterThanOrEqual", &json!(5), &["integer", "decimal", "number_text"]);
    check("lessThan", &json!(5.5), &["integer", "number_text"]);
    check("lessThanOrEqual", &json!(5.5), &["integer", "decimal", "number_text"]);
    check("lessThan", &json!(-1), NONE);
    check("between", &json!([5, 5]), &["integer", "number_text"]);
    check("between", &json!(["5.1", 6]), &["decimal"]);
    check("between", &json!([6, 5]), NONE);
    // Further apart than a double can tell.
    let sent = filter("greaterThan", &json!("12345678901234567890"));
    assert!(holds(&sent, "12345678901234567891"));
    assert!(!holds(&sent, "12345678901234567890.0"));
}

#[test]
fn comparisons_of_dates() {
    check("greaterThan", &json!("2024-05-09"), &["date", "datetime"]);
    check("greaterThan", &json!("2024-05-10"), NONE);
    check("greaterThanOrEqual", &json!("2024-05-10"), &["date", "datetime"]);
    check("lessThan", &json!("2024-05-10T00:00:01Z"), &["date", "datetime"]);
    check("lessThanOrEqual", &json!("2024-05-10"), &["date", "datetime"]);
    check("between", &json!(["2024-05-10", "2024-05-10"]), &["date", "datetime"]);
    check("between", &json!(["2024-05-11", "2024-06-01"]), NONE);
    check("before", &json!("2024-05-11"), &["date", "datetime"]);
    check("before", &json!("2024-05-10"), NONE);
    check("after", &json!("2024-05-09T23:59:59Z"), &["date", "datetime"]);
    check("after", &json!("2024-05-10"), NONE);
    check("onOrBefore", &json!("2024-05-10"), &["date", "datetime"]);
    check("onOrBefore", &json!("2024-05-09"), NONE);
    check("onOrAfter", &json!("2024-05-10"), &["date", "datetime"]);
    check("onOrAfter", &json!("2024-05-11"), NONE);
}

#[test]
fn booleans_and_elements() {
    check("isTrue", &json!(null), &["true"]);
    check("isFalse", &json!(true), &["false"]);
    let both = |value: &Json, expected: &[&'static str]| check_both("hasAnyOf", "hasNoneOf", value, expected);
    both(&json!([5]), &["array"]);
    both(&json!(["5.0", "x"]), &["array"]);
    both(&json!(["HELLO"]), &["array"]);
    both(&json!(["2024-05-10T00:00:00Z"]), &["array"]);
    both(&json!(["x", null]), NONE);
    both(&json!([]), NONE);
    check("hasAllOf", &json!(["hello", 5]), &["array"]);
    check("hasAllOf", &json!(["hello", 6]), NONE);
    // Nothing is asked for, and every cell has that.
    check("hasAllOf", &json!([]), &all_but(NONE));
    let sent = filter("hasAnyOf", &json!([null]));
    assert!(holds(&sent, "[1, null]") && holds(&sent, "[\"\"]") && !holds(&sent, "[1]"));
    assert!(holds(&filter("hasAnyOf", &json!([[1, 2]])), "[[1.0,2]]"));
}

#[test]
fn spans_around_now() {
    for mode in ["today", "thisWeek", "thisMonth", "thisYear"] {
        check("isWithin", &json!({"mode": mode}), &["date", "datetime"]);
    }
    check("isWithin", &json!({"mode": "pastDays", "n": 1}), &["date", "datetime"]);
    // A moment earlier today is past; today as a day is both.
    check("isWithin", &json!({"mode": "nextDays", "n": 1}), &["date"]);
}

/// Whether cells lie within a span of time, as of [`NOW`] in a time zone.
#[track_caller]
fn check_span(value: &Json, zone: &str, cells: &[(&str, bool)]) {
    let sent = json!([{"columnId": "col_a", "operator": "isWithin", "value": value, "timeZone": zone}]);
    for (cell, expected) in cells {
        assert_eq!(holds(&sent, &format!("\"{cell}\"")), *expected, "{value} {zone} {cell}");
    }
}

#[test]
fn past_and_next_days_end_where_they_say() {
    let past_week = json!({"mode": "pastDays", "n": 7});
    check_span(
        &past_week,
        "UTC",
        &[
            ("2024-05-02", false),
            ("2024-05-02T23:59:59Z", false),
            ("2024-05-03", true),
            ("2024-05-03T00:00:00Z", true),
            ("2024-05-10T12:00:00Z", true),
            ("2024-05-10T12:00:01Z", false),
            ("2024-05-11", false),
        ],
    );
    // In Tokyo it is 21:00; the day a week ago began at 15:00 UTC the day before.
    check_span(
        &past_week,
        "Asia/Tokyo",
        &[
            ("2024-05-02T14:59:59Z", false),
            ("2024-05-02T15:00:00Z", true),
            ("2024-05-03", true),
            ("2024-05-10 21:00", true),
            ("2024-05-10 21:01", false),
        ],
    );
    check_span(
        &json!({"mode": "nextDays", "n": 2}),
        "America/New_York",
        &[
            ("2024-05-09", false),
            ("2024-05-10", true),
            ("2024-05-10T11:59:59Z", false),
            ("2024-05-10T12:00:00Z", true),
            ("2024-05-12", true),
            ("2024-05-13T03:59:59Z", true),
            ("2024-05-13T04:00:00Z", false),
            ("2024-05-13", false),
        ],
    );
    check_span(
        &json!({"mode": "pastDays", "n": 36500}),
        "UTC",
        &[("1924-06-04", true), ("1924-06-03", false)],
    );
}

#[test]
fn this_day_week_month_and_year_end_where_they_say() {
    check_span(
        &json!({"mode": "today"}),
        "Pacific/Kiritimati",
        &[
            ("2024-05-10", false),
            ("2024-05-11", true),
            ("2024-05-10T10:00:00Z", true),
            ("2024-05-10T09:59:59Z", false),
        ],
    );
    check_span(
        &json!({"mode": "thisWeek"}),
        "UTC",
        &[("2024-05-05", false), ("2024-05-06", true), ("2024-05-12T23:59:59Z", true), ("2024-05-13", false)],
    );
    check_span(
        &json!({"mode": "thisMonth"}),
        "UTC",
        &[
            ("2024-04-30", false),
            ("2024-05-01", true),
            ("2024-05-31T23:59Z", true),
            ("2024-06-01", false),
            ("2023-05-10", false),
        ],
    );
    check_span(
        &json!({"mode": "thisYear"}),
        "UTC",
        &[("2023-12-31T23:59Z", false), ("2024-01-01", true), ("2024-12-31", true), ("2025-01-01", false)],
    );
}

#[test]
fn case_counts_only_where_asked() {
    for (operator, value) in [
        ("equals", json!("HELLO 5")),
        ("in", json!(["HELLO 5"])),
        ("contains", json!("HELLO")),
        ("startsWith", json!("HELLO")),
        ("endsWith", json!("LLO 5")),
        ("matches", json!("^HELLO")),
    ] {
        let mut sent = filter(operator, &value);
        assert!(holds(&sent, "\"Hello 5\""), "{operator}");
        sent[0]["caseSensitive"] = json!(true);
        assert!(!holds(&sent, "\"Hello 5\""), "{operator}");
        assert!(holds(&sent, "\"HELLO 5\""), "{operator}");
    }
    let mut sent = filter("hasAllOf", &json!(["ÄPFEL"]));
    assert!(holds(&sent, "[\"äpfel\"]"));
    sent[0]["caseSensitive"] = json!(true);
    assert!(!holds(&sent, "[\"äpfel\"]"));
    assert!(holds(&sent, "[\"ÄPFEL\"]"));
}

#[test]
fn dates_without_an_offset_are_the_zones() {
    let mut sent = filter("equals", &json!("2024-05-10"));
    sent[0]["timeZone"] = json!("Europe/Berlin");
    assert!(holds(&sent, "\"2024-05-09T22:00:00Z\""));
    assert!(holds(&sent, "\"2024-05-10T00:00\""));
    assert!(holds(&sent, "\"2024-05-10T21:59:59Z\""));
    assert!(!holds(&sent, "\"2024-05-10T22:00Z\""));
    assert!(!holds(&sent, "\"2024-05-09T21:59:59Z\""));
}

#[test]
fn a_path_is_followed_before_the_operator_looks() {
    let sent = |operator: &str, path: &str, value: Json| json!([{"columnId": "col_a", "operator": operator, "path": path, "value": value}]);
    let cell = r#"{"guest": {"email": "ada@example.com", "visits": 7}, "tags": [{"n": "x"}, {"n": "y"}]}"#;
    assert!(holds(&sent("endsWith", "guest.email", json!("@EXAMPLE.com")), cell));
    assert!(holds(&sent("greaterThan", "$.guest.visits", json!(6)), cell));
    assert!(holds(&sent("hasAllOf", "$.tags[*].n", json!(["y", "x"])), cell));
    assert!(holds(&sent("isEmpty", "guest.phone", json!(null)), cell));
    assert!(holds(&sent("notEquals", "guest.phone", json!("1")), cell));
    assert!(holds(&sent("isEmpty", "guest.phone", json!(null)), "\"plain\""));
    assert!(holds(&sent("equals", "", json!("plain")), "\"plain\""));
}

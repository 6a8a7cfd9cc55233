//! What is refused, and how it is told.

use super::*;

/// Checks that exactly these offences are found: path, and words of the message.
fn check(sent: &Json, expected: &[(&str, &str)]) {
    let limits = Limits { filters_max: 3, ..Limits::default() };
    let offences = match Filters::parse(sent, "filters", &table(), &limits) {
        Ok(filters) => panic!("{sent} was taken: {filters:?}"),
        Err(offences) => offences,
    };
    let paths: Vec<&str> = offences.iter().map(|offence| offence.path.as_str()).collect();
    assert_eq!(paths, expected.iter().map(|(path, _)| *path).collect::<Vec<_>>(), "{sent}: {offences:?}");
    for (offence, (_, words)) in offences.iter().zip(expected) {
        assert!(offence.message.contains(words), "{sent}: {offence:?} lacks {words}");
        let starts_well = offence.message.starts_with(|c: char| c.is_uppercase() || c == '`');
        assert!(starts_well, "{offence:?} is no sentence");
    }
}

#[test]
fn the_frame_is_checked() {
    for sent in [json!(null), json!({}), json!("x"), json!(1)] {
        check(&sent, &[("filters", "array")]);
    }
    check(
        &json!([1, [], null]),
        &[("filters[0]", "object"), ("filters[1]", "object"), ("filters[2]", "object")],
    );
    check(
        &json!([{}]),
        &[("filters[0].columnId", "requires `columnId`"), ("filters[0].operator", "one of equals, ")],
    );
    check(
        &json!([{"columnId": "col_x", "operator": "like", "value": 1, "vaule": 2}]),
        &[
            ("filters[0].vaule", "`vaule`"),
            ("filters[0].columnId", "`col_x`"),
            ("filters[0].operator", "startsWith"),
        ],
    );
    check(&json!([{"columnId": "nobody", "operator": "isEmpty"}]), &[("filters[0].columnId", "`nobody`")]);
    check(
        &json!([{"columnId": 1, "operator": ["isEmpty"]}]),
        &[("filters[0].columnId", "requires"), ("filters[0].operator", "one of")],
    );
    check(
        &json!([{"columnId": "col_a", "operator": "isEmpty", "path": 1, "caseSensitive": "yes", "timeZone": 2}]),
        &[
            ("filters[0].path", "string"),
            ("filters[0].caseSensitive", "true or false"),
            ("filters[0].timeZone", "string"),
        ],
    );
    check(
        &json!([{"columnId": "col_a", "operator": "isEmpty", "path": "a..b", "timeZone": "Mars/Base"}]),
        &[("filters[0].path", "empty name"), ("filters[0].timeZone", "Mars/Base")],
    );
    let long = "x".repeat(5_000);
    check(
        &json!([{"columnId": "col_a", "operator": "isEmpty", "timeZone": long}]),
        &[("filters[0].timeZone", "…")],
    );
    check(
        &json!([{"columnId": "col_a", "operator": "isEmpty", "timeZone": ""}]),
        &[("filters[0].timeZone", "IANA")],
    );
}

#[test]
fn groups_are_checked() {
    check(&json!([{"filters": []}]), &[("filters[0].conjunction", "and, or, not")]);
    check(
        &json!([{"conjunction": "xor"}]),
        &[("filters[0].conjunction", "and, or, not"), ("filters[0].filters", "requires")],
    );
    check(
        &json!([{"conjunction": "or", "filters": {}, "columnId": "col_a"}]),
        &[("filters[0].columnId", "not a field of a group"), ("filters[0].filters", "array")],
    );
    let leaf = json!({"columnId": "col_a", "operator": "contains", "value": 1});
    let group = |inner: &Json| json!({"conjunction": "and", "filters": [inner]});
    let three = group(&group(&group(&leaf)));
    check(
        &json!([{"columnId": "col_a", "operator": "isTrue"}, three]),
        &[("filters[1].filters[0].filters[0].filters[0].value", "`contains` takes text")],
    );
    check(&json!([group(&three)]), &[("filters[0].filters[0].filters[0].filters[0]", "3 levels deep")]);
    let deep = (0..100).fold(json!([]), |inner, _| json!([{"conjunction": "and", "filters": inner}]));
    check(&deep, &[("filters[0].filters[0].filters[0].filters[0]", "3 levels deep")]);
}

#[test]
fn filters_are_counted_through_groups() {
    let leaf = json!({"columnId": "col_a", "operator": "isEmpty"});
    let two = json!({"conjunction": "or", "filters": [leaf, leaf]});
    check(&json!([two, two]), &[("filters", "At most 3 filters (filtersMax) are allowed; there are 4.")]);
    let empty = json!({"conjunction": "or", "filters": []});
    check(&json!([empty, empty, empty, empty]), &[("filters", "At most 3 groups (filtersMax)")]);
    let limits = Limits { filters_max: 4, ..Limits::default() };
    assert!(Filters::parse(&json!([two, two]), "filters", &table(), &limits).is_ok());
}

#[test]
fn each_operator_takes_its_own_shape_of_value() {
    let refused = |operator: &str, values: &[Json], words: &str| {
        for value in values {
            check(&filter(operator, value), &[("filters[0].value", words)]);
        }
    };
    let absent = |operator: &str, words: &str| {
        check(&json!([{"columnId": "col_a", "operator": operator}]), &[("filters[0].value", words)]);
    };
    for operator in ["isEmpty", "isNotEmpty", "isTrue", "isFalse", "isStale", "isManual"] {
        refused(operator, &[json!(false), json!(0), json!("x"), json!([])], "takes no value");
    }
    for operator in ["equals", "notEquals"] {
        absent(operator, "any kind");
    }
    for operator in ["in", "notIn", "hasAnyOf", "hasAllOf", "hasNoneOf"] {
        absent(operator, "array");
        refused(operator, &[json!(null), json!("x"), json!({}), json!(vec![0; 1001])], "at most 1000 values");
        parse(&filter(operator, &json!(vec![0; 1000])));
    }
    for operator in ["contains", "notContains", "startsWith", "endsWith"] {
        absent(operator, "text");
        refused(operator, &[json!(null), json!(1), json!(["x"])], "takes text");
    }
    for operator in ["greaterThan", "greaterThanOrEqual", "lessThan", "lessThanOrEqual"] {
        absent(operator, "number");
        refused(operator, &[json!(null), json!(true), json!("x"), json!(""), json!([1])], "ISO 8601");
        parse(&filter(operator, &json!("1.5")));
    }
    absent("between", "[low, high]");
    refused(
        "between",
        &[
            json!(1),
            json!([1]),
            json!([1, 2, 3]),
            json!([1, "2024-01-01"]),
            json!([1, "x"]),
            json!([null, null]),
        ],
        "[low, high]",
    );
    for operator in ["before", "after", "onOrBefore", "onOrAfter"] {
        absent(operator, "date");
        refused(operator, &[json!(2024), json!("2024"), json!("soon"), json!(null)], "ISO 8601 date");
    }
    absent("statusIs", "one of idle");
    refused("statusIs", &[json!("done"), json!(["idle"]), json!(null)], "one of idle");
    refused("statusIn", &[json!("idle"), json!(null)], "array of cell statuses");
    refused("errorCodeIn", &[json!("blocked"), json!({})], "array of error codes");
    check(
        &filter("statusIn", &json!(["idle", "done", 3])),
        &[("filters[0].value[1]", "idle, queued"), ("filters[0].value[2]", "idle, queued")],
    );
    check(&filter("errorCodeIn", &json!(["nope"])), &[("filters[0].value[0]", "missing_input")]);
}

#[test]
fn patterns_are_compiled_when_they_are_sent() {
    check(&filter("matches", &json!(1)), &[("filters[0].value", "regular expression as text")]);
    check(&filter("matches", &json!("(")), &[("filters[0].value", "unclosed group")]);
    check(&filter("matches", &json!("(?=x)")), &[("filters[0].value", "look-around")]);
    check(&filter("matches", &json!("\\w{1000}{1000}")), &[("filters[0].value", "too large")]);
    check(&filter("matches", &json!("a".repeat(1001))), &[("filters[0].value", "1000 characters")]);
    parse(&filter("matches", &json!("a".repeat(1000))));
}

#[test]
fn spans_are_checked_part_by_part() {
    let check = |value: Json, expected: &[(&str, &str)]| check(&filter("isWithin", &value), expected);
    check(json!("today"), &[("filters[0].value", "{mode, n?}")]);
    check(json!({}), &[("filters[0].value.mode", "pastDays, nextDays, today")]);
    check(
        json!({"mode": "lastYear", "days": 3}),
        &[("filters[0].value.days", "`days`"), ("filters[0].value.mode", "one of")],
    );
    for n in [json!(null), json!(0), json!(-1), json!(36_501), json!(1.5), json!("7")] {
        check(json!({"mode": "pastDays", "n": n}), &[("filters[0].value.n", "from 1 to 36500")]);
    }
    check(json!({"mode": "nextDays"}), &[("filters[0].value.n", "`nextDays` needs `n`")]);
    check(json!({"mode": "today", "n": 1}), &[("filters[0].value.n", "takes no `n`")]);
}

#[test]
fn much_to_compare_with_takes_long() {
    let among = |values: Vec<String>| filter("in", &json!(values));
    for (sent, expected) in [
        (among(vec!["a".to_owned(); 100]), false),
        (among(vec!["a".to_owned(); 1_000]), true),
        (among(vec!["a".repeat(10_000); 10]), true),
        (json!([{"conjunction": "or", "filters": among(vec!["a".to_owned(); 1_000])}]), true),
        (filter("matches", &json!("a")), true),
    ] {
        assert_eq!(parse(&sent).take_long(), expected);
    }
}

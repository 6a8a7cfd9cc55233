//! Filters as a document: written, read back, and cut down when a column goes.

use super::*;

#[test]
fn filters_are_written_as_they_are_sent() {
    fn check(sent: &Json, written: &Json) {
        let filters = parse(sent);
        assert_eq!(&serde_json::to_value(&filters).unwrap(), written);
        assert_eq!(serde_json::from_value::<Filters>(written.clone()).unwrap(), filters);
        assert_eq!(parse(written), filters);
    }
    let full = json!([
        {"columnId": "col_a", "operator": "equals", "value": null},
        {"conjunction": "or", "filters": [
            {"columnId": "col_b", "operator": "between", "value": [1, 2.5], "path": "a.b"},
            {"conjunction": "not", "filters": []},
            {"columnId": "col_a", "operator": "before", "value": "2024-01-01", "caseSensitive": true,
             "timeZone": "Europe/Berlin"},
        ]},
        {"columnId": "col_ai", "operator": "isStale"},
    ]);
    check(&full, &full);
    check(
        &json!([{"columnId": "col_a", "operator": "isTrue", "value": true, "path": null,
                "caseSensitive": false, "timeZone": null}]),
        &json!([{"columnId": "col_a", "operator": "isTrue"}]),
    );
    check(&json!([]), &json!([]));
}

#[test]
fn the_word_of_each_operator_is_the_one_serde_writes() {
    for operator in Operator::ALL {
        assert_eq!(serde_json::to_value(operator).unwrap(), operator.word());
        assert_eq!(Operator::parse(operator.word()), Some(operator));
    }
    for conjunction in Conjunction::ALL {
        assert_eq!(serde_json::to_value(conjunction).unwrap(), conjunction.word());
    }
}

#[test]
fn filters_on_a_column_can_be_taken_out() {
    let on = |id: &str| json!({"columnId": id, "operator": "isEmpty"});
    let group = |filters: &[&Json]| json!({"conjunction": "or", "filters": filters});
    let (a, b) = (on("col_a"), on("col_b"));
    let filters = parse(&json!([a, group(&[&a, &group(&[&a])]), group(&[&b, &a]), group(&[]), b]));
    let ids: Vec<&str> = filters.columns().into_iter().map(ColumnId::as_str).collect();
    assert_eq!(ids, ["col_a", "col_a", "col_a", "col_b", "col_a", "col_b"]);
    assert_eq!(filters.without("col_a"), Some(parse(&json!([group(&[&b]), group(&[]), b]))));
    assert_eq!(filters.without("col_ai"), None);
    assert_eq!(parse(&json!([a])).without("col_a"), Some(Filters::default()));
}

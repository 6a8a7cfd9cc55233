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

#[test]
fn the_schema_bounds_every_string_and_array() {
    fn walk(schema: &Json, at: &str) {
        let plain_text = schema["type"] == "string" && schema.get("enum").is_none();
        assert!(!plain_text || schema["maxLength"].is_u64(), "{at} needs maxLength");
        let is_bounded = schema["maxItems"].is_u64() || schema["x-limit"]["maxItems"] == "filtersMax";
        assert!(schema["type"] != "array" || is_bounded, "{at} needs maxItems");
        match schema {
            Json::Object(members) => {
                members.iter().for_each(|(name, part)| walk(part, &format!("{at}/{name}")));
            }
            Json::Array(parts) => parts.iter().for_each(|part| walk(part, at)),
            _ => {}
        }
    }
    let generator = || schemars::generate::SchemaSettings::openapi3().into_generator();
    for schema in [
        generator().into_root_schema_for::<Filters>(),
        generator().into_root_schema_for::<crate::sort::Sorting>(),
    ] {
        let schema = serde_json::to_value(schema).unwrap();
        assert_eq!(schema["type"], "array");
        walk(&schema, "");
    }
    let filters = serde_json::to_value(generator().into_root_schema_for::<Filters>()).unwrap();
    let mut node = &filters["items"];
    for _ in 0..crate::limits::FILTER_DEPTH_MAX {
        let operators = node["anyOf"][0]["properties"]["operator"]["enum"].as_array().unwrap();
        assert_eq!(operators.len(), Operator::ALL.len());
        node = &node["anyOf"][1]["properties"]["filters"]["items"];
    }
    assert_eq!(node["required"], json!(["columnId", "operator"]));
}

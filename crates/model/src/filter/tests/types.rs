//! Filters on columns that have a type.

use super::*;
use crate::format::Format;

/// Which of these cells a filter on a column of this type finds.
fn check(format: &Json, operator: &str, value: &Json, cells: &[&str], expected: &[&str]) {
    let mut table = table();
    let format: Format = serde_json::from_value(format.clone()).unwrap();
    table.columns[1].format = Some(format);
    let predicate = Predicate::compile(&parse(&filter(operator, value)), &table);
    let states = CellStates::default();
    let found: Vec<&str> = cells
        .iter()
        .copied()
        .filter(|raw| {
            let record = Record::pack([(1, *raw)]);
            predicate.holds(&RowView::new(&table, record.cells().unwrap(), &states), NOW.parse().unwrap())
        })
        .collect();
    assert_eq!(found, expected, "{operator} {value}");
}

#[test]
fn amounts_compare_as_numbers() {
    let cells = ["\"$1,200\"", "\"12 %\"", "7", "\"free\"", "null"];
    let number = json!({ "type": "number" });
    check(&number, "greaterThan", &json!(10), &cells, &["\"$1,200\"", "\"12 %\""]);
    check(&number, "equals", &json!(1200), &cells, &["\"$1,200\""]);
    check(&number, "equals", &json!("1,200"), &cells, &["\"$1,200\""]);
    check(&number, "in", &json!([7, "$12"]), &cells, &["\"12 %\"", "7"]);
    check(&number, "between", &json!([7, 12]), &cells, &["\"12 %\"", "7"]);
    check(&number, "equals", &json!("free"), &cells, &["\"free\""]);
    // Text operators see what is written.
    check(&number, "contains", &json!("$"), &cells, &["\"$1,200\""]);
    check(&number, "isInvalid", &json!(null), &cells, &["\"free\""]);
    check(&number, "isValid", &json!(null), &cells, &["\"$1,200\"", "\"12 %\"", "7", "null"]);
    let digits = ["\"$12,345,678,901,234,567,890\"", "\"$12,345,678,901,234,567,891\""];
    check(&number, "equals", &json!("12345678901234567890"), &digits, &digits[..1]);
}

#[test]
fn dates_checkboxes_and_options_compare_as_what_they_are() {
    let dates = ["\"10.05.2024\"", "\"2024-05-09\"", "\"May 11, 2024\"", "5"];
    let date = json!({ "type": "date" });
    check(&date, "onOrAfter", &json!("2024-05-10"), &dates, &["\"10.05.2024\"", "\"May 11, 2024\""]);
    check(&date, "isWithin", &json!({ "mode": "today" }), &dates, &["\"10.05.2024\""]);
    let truths = ["\"yes\"", "true", "\"No\"", "0", "\"?\""];
    check(&json!({ "type": "checkbox" }), "isTrue", &json!(null), &truths, &["\"yes\"", "true"]);
    check(&json!({ "type": "checkbox" }), "isFalse", &json!(null), &truths, &["\"No\"", "0"]);
    let options = json!([{ "value": "New" }, { "value": "Won" }]);
    let select = json!({ "type": "select", "options": options });
    check(&select, "equals", &json!("new"), &["\" NEW \"", "\"Won\"", "\"Newer\""], &["\" NEW \""]);
    check(&select, "isInvalid", &json!(null), &["\"New\"", "\"Lost\"", "null"], &["\"Lost\""]);
    let several = json!({ "type": "multiSelect", "options": options });
    let cells = ["\"new, won\"", "[\"Won\"]", "\"New\"", "\"Lost\""];
    check(&several, "hasAnyOf", &json!(["won"]), &cells, &["\"new, won\"", "[\"Won\"]"]);
    check(&several, "hasAllOf", &json!(["New", "Won"]), &cells, &["\"new, won\""]);
    check(&several, "equals", &json!(["Won"]), &cells, &["[\"Won\"]"]);
}

#[test]
fn what_lies_inside_a_value_has_no_type() {
    let mut table = table();
    table.columns[1].format = Some(Format::new(crate::format::FormatType::Number));
    let filters = json!([{ "columnId": "col_a", "operator": "isInvalid", "path": "a" }]);
    let record = Record::pack([(1, "{\"a\":\"x\"}")]);
    let states = CellStates::default();
    let row = RowView::new(&table, record.cells().unwrap(), &states);
    assert!(!Predicate::compile(&parse(&filters), &table).holds(&row, NOW.parse().unwrap()));
}

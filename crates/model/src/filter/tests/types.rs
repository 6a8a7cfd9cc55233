//! Filters on columns that have a type.

use super::*;
use crate::format::Format;

/// Which of these cells a filter on a column of this type finds.
fn check(format: &Json, operator: &str, value: &Json, cells: &[&str], expected: &[&str]) {
    let mut table = table();
    let format: Format = serde_json::from_value(format.clone()).unwrap();
    table.columns[1].format = Some(format);
    let filters = Filters::parse(&filter(operator, value), "filters", &table, &Limits::default());
    let predicate = Predicate::compile(&filters.unwrap_or_else(|wrong| panic!("{value}: {wrong:?}")), &table);
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
    check(&number, "greaterThan", &json!("$1,000"), &cells, &["\"$1,200\""]);
    check(&number, "between", &json!(["7", "12 %"]), &cells, &["\"12 %\"", "7"]);
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
    for (operator, expected) in [
        ("equals", &dates[..1]),
        ("before", &dates[1..2]),
        ("onOrBefore", &dates[..2]),
        ("after", &dates[2..3]),
        ("lessThan", &dates[1..2]),
    ] {
        for written in ["2024-05-10", "10.05.2024", "10 May 2024", "5/10/2024"] {
            check(&date, operator, &json!(written), &dates, expected);
        }
    }
    check(&date, "onOrAfter", &json!("10.05.2024"), &dates, &["\"10.05.2024\"", "\"May 11, 2024\""]);
    check(&date, "between", &json!(["9 May 2024", "10.05.2024"]), &dates, &dates[..2]);
    check(&date, "isWithin", &json!({ "mode": "today" }), &dates, &["\"10.05.2024\""]);
    let truths = ["\"yes\"", "true", "\"No\"", "0", "\"?\""];
    check(&json!({ "type": "checkbox" }), "isTrue", &json!(null), &truths, &["\"yes\"", "true"]);
    check(&json!({ "type": "checkbox" }), "isFalse", &json!(null), &truths, &["\"No\"", "0"]);
    let options = json!([{ "value": "New" }, { "value": "Won" }]);
    let select = json!({ "type": "select", "options": options });
    check(&select, "equals", &json!("new"), &["\" NEW \"", "\"Won\"", "\"Newer\""], &["\" NEW \""]);
    check(&select, "isInvalid", &json!(null), &["\"New\"", "\"Lost\"", "null"], &["\"Lost\""]);
    // An option is a list of one.
    let one = ["\" NEW \"", "\"Won\"", "\"Lost\"", "null", "\"\"", "[\"New\"]"];
    check(&select, "hasAnyOf", &json!(["new", "lost"]), &one, &["\" NEW \"", "\"Lost\"", "[\"New\"]"]);
    check(&select, "hasAllOf", &json!(["New"]), &one, &["\" NEW \"", "[\"New\"]"]);
    check(&select, "hasNoneOf", &json!(["new"]), &one, &["\"Won\"", "\"Lost\"", "null", "\"\""]);
    check(&json!({ "type": "text" }), "hasAnyOf", &json!(["won"]), &one, &[]);
    let several = json!({ "type": "multiSelect", "options": options });
    let cells = ["\"new, won\"", "[\"Won\"]", "\"New\"", "\"Lost\""];
    check(&several, "hasAnyOf", &json!(["won"]), &cells, &["\"new, won\"", "[\"Won\"]"]);
    check(&several, "hasAllOf", &json!(["New", "Won"]), &cells, &["\"new, won\""]);
    check(&several, "equals", &json!(["Won"]), &cells, &["[\"Won\"]"]);
}

#[test]
fn an_option_is_the_same_however_it_is_written() {
    let options = json!([{ "value": "True" }, { "value": "5" }, { "value": "Won" }]);
    let cells = ["true", "\"true\"", "[true]", "[\"True\"]", "[true,\"other\"]", "5", "\"5\"", "\"other\""];
    for kind in ["select", "multiSelect"] {
        for format in [json!({ "type": kind, "options": options }), json!({ "type": kind })] {
            for written in [json!(true), json!("true"), json!("TRUE")] {
                check(&format, "hasAnyOf", &json!([written, "Won"]), &cells, &cells[..5]);
                check(&format, "hasAllOf", &json!([written]), &cells, &cells[..5]);
                check(&format, "hasNoneOf", &json!([written]), &cells, &cells[5..]);
            }
            for written in [json!(5), json!("5")] {
                check(&format, "hasAnyOf", &json!([written]), &cells, &cells[5..7]);
            }
        }
    }
    // `equals` reads it in the same way.
    let select = json!({ "type": "select", "options": options });
    for written in [json!(true), json!(" True ")] {
        check(&select, "equals", &written, &cells, &cells[..2]);
        check(&select, "hasAnyOf", &json!([written]), &cells, &cells[..5]);
    }
    // In other columns, true and the text that says so are two.
    check(&json!({ "type": "json" }), "hasAnyOf", &json!([true]), &cells, &["[true]", "[true,\"other\"]"]);
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

#[test]
fn a_filter_says_the_same_when_the_type_changes() {
    let mut table = table();
    table.columns[1].format = Some(Format::new(crate::format::FormatType::Date));
    let stored = |table: &Table, sent: Json| Filters::parse(&sent, "filters", table, &Limits::default());
    let told = |sent: Json| serde_json::to_value(stored(&table, sent).unwrap()).unwrap()[0]["value"].clone();
    assert_eq!(told(filter("before", &json!("10.05.2024"))), "2024-05-10");
    assert_eq!(
        told(filter("between", &json!(["2024-05-09T10:00Z", "10 May 2024"]))),
        json!(["2024-05-09T10:00Z", "2024-05-10"])
    );
    assert_eq!(told(filter("equals", &json!("10.05.2024"))), "10.05.2024");
    for wrong in [json!("soon"), json!(5), json!("45.05.2024")] {
        let wrong = stored(&table, filter("before", &wrong)).unwrap_err();
        assert!(wrong[0].message.contains("type"), "{wrong:?}");
    }
    let inside = json!([{ "columnId": "col_a", "operator": "before", "value": "10.05.2024", "path": "a" }]);
    assert!(stored(&table, inside).is_err(), "what lies inside a value has no type");
}

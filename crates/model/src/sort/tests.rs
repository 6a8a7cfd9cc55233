//! Rows by the types of their columns.

use serde_json::json;

use super::*;
use crate::cell::CellStates;
use crate::format::Format;
use crate::record::Record;

/// Sorts values of a column with a format, ascending and descending.
fn check(format: &serde_json::Value, raws: &[&str], asc: &[&str], desc: &[&str]) {
    let mut table = Table::new();
    table.push_manual(ColumnId::new("col_a"), "A");
    let format: Format = serde_json::from_value(format.clone()).unwrap();
    table.columns.last_mut().unwrap().format = Some(format);
    for (direction, expected) in [(Direction::Asc, asc), (Direction::Desc, desc)] {
        let sorting = Sorting(vec![SortKey { column_id: ColumnId::new("col_a"), direction }]);
        let order = Order::compile(&sorting, &table);
        let states = CellStates::default();
        let mut sorted = raws.to_vec();
        sorted.sort_by_cached_key(|raw| {
            let record = Record::pack([(1, *raw)]);
            order.key(&RowView::new(&table, record.cells().unwrap(), &states))
        });
        assert_eq!(sorted, expected, "{direction:?}");
    }
}

#[test]
fn amounts_sort_as_numbers_and_what_does_not_fit_comes_last() {
    check(
        &json!({ "type": "number" }),
        &["null", "\"free\"", "\"1,200\"", "\"$5\"", "\"12 %\"", "30", "\"2024-01-01\""],
        &["\"$5\"", "\"12 %\"", "30", "\"1,200\"", "\"2024-01-01\"", "\"free\"", "null"],
        &["\"1,200\"", "30", "\"12 %\"", "\"$5\"", "\"free\"", "\"2024-01-01\"", "null"],
    );
}

#[test]
fn dates_sort_as_dates() {
    check(
        &json!({ "type": "date" }),
        &["\"31.12.2023\"", "\"2024-01-02\"", "5", "\"Jan 1, 2024\""],
        &["\"31.12.2023\"", "\"Jan 1, 2024\"", "\"2024-01-02\"", "5"],
        &["\"2024-01-02\"", "\"Jan 1, 2024\"", "\"31.12.2023\"", "5"],
    );
}

#[test]
fn options_sort_in_their_order() {
    let options = json!([{ "value": "New" }, { "value": "Won" }, { "value": "Lost" }]);
    check(
        &json!({ "type": "select", "options": options }),
        &["\"Lost\"", "\"other\"", "\"won\"", "\"New\"", "\"7\""],
        &["\"New\"", "\"won\"", "\"Lost\"", "\"7\"", "\"other\""],
        &["\"Lost\"", "\"won\"", "\"New\"", "\"other\"", "\"7\""],
    );
    check(
        &json!({ "type": "multiSelect", "options": options }),
        &["[\"Won\"]", "[\"New\",\"Lost\"]", "\"x\"", "\"new, won\"", "\"New\""],
        &["\"New\"", "\"new, won\"", "[\"New\",\"Lost\"]", "[\"Won\"]", "\"x\""],
        &["[\"Won\"]", "[\"New\",\"Lost\"]", "\"new, won\"", "\"New\"", "\"x\""],
    );
}

#[test]
fn words_sort_as_checkboxes() {
    check(
        &json!({ "type": "checkbox" }),
        &["\"yes\"", "\"perhaps\"", "false", "null"],
        &["false", "\"yes\"", "\"perhaps\"", "null"],
        &["\"yes\"", "false", "\"perhaps\"", "null"],
    );
}

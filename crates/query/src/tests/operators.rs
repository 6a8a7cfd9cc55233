//! Each operator asked of many values at once, beside the same asked of one after another.

use proptest::prelude::*;
use rowmill_model::filter::{Node, Operator, Predicate, Search, Test};

use super::made::{cell, filter_with, now, project, selection_of};
use crate::bulk_filter::{FilterPredicate, ValuePredicate, bulk_filter};
use crate::values::Values;

fn values_of(cells: &[String]) -> Values {
    let mut values = Values::default();
    for raw in cells {
        values.push(if raw == "null" { "" } else { raw }).unwrap();
    }
    values
}

fn check(values: &Values, ask: &impl ValuePredicate) {
    let found = bulk_filter(values, ask);
    for (number, raw) in values.iter().enumerate() {
        assert_eq!(found.contains(number), ask.holds(raw), "{raw}");
    }
    assert_eq!(found.count_ones(..), values.iter().filter(|raw| ask.holds(raw)).count());
}

#[test]
fn every_operator_holds_for_the_same_values() {
    for operator in Operator::ALL {
        let asked = (filter_with(operator), prop::collection::vec(cell(), 1..200));
        proptest!(ProptestConfig::with_cases(48), |((filter, cells) in asked)| {
            let table = project().table;
            let selection = selection_of(&serde_json::json!([filter]), &serde_json::json!([]), None);
            let predicate = Predicate::compile(&selection.filters, &table);
            let [Node::Leaf(leaf)] = predicate.nodes() else { panic!("{filter}") };
            if leaf.test() == Test::Value {
                check(&values_of(&cells), &FilterPredicate(leaf, now()));
            }
        });
    }
}

#[test]
fn many_values_are_searched_across_parts_and_chunks() {
    // More than a thread's part and a chunk that is folded at once.
    let cells: Vec<String> = (0..90_000_u64)
        .map(|number| match number % 7 {
            0 => format!("\"Name {number} Zürich\""),
            1 => format!("{number}"),
            2 => String::new(),
            3 => format!("\"{}\"", "x".repeat(usize::try_from(number % 500).unwrap())),
            _ => format!("\"Some Text {number} ab\""),
        })
        .collect();
    let values = values_of(&cells);
    for filter in [
        serde_json::json!({ "columnId": "col_a", "operator": "contains", "value": "TEXT 8" }),
        serde_json::json!({ "columnId": "col_a", "operator": "contains", "value": "xx", "caseSensitive": true }),
        serde_json::json!({ "columnId": "col_a", "operator": "notContains", "value": "b" }),
        serde_json::json!({ "columnId": "col_a", "operator": "startsWith", "value": "some text 7" }),
        serde_json::json!({ "columnId": "col_a", "operator": "endsWith", "value": "9 AB" }),
        serde_json::json!({ "columnId": "col_a", "operator": "equals", "value": "some text 89999 AB" }),
        serde_json::json!({ "columnId": "col_a", "operator": "in", "value": ["x", 8, null] }),
        serde_json::json!({ "columnId": "col_a", "operator": "notEquals", "value": "xx" }),
        serde_json::json!({ "columnId": "col_a", "operator": "isEmpty" }),
        serde_json::json!({ "columnId": "col_a", "operator": "greaterThan", "value": 80_000 }),
        serde_json::json!({ "columnId": "col_a", "operator": "between", "value": [100, 80_004.5] }),
        serde_json::json!({ "columnId": "col_a", "operator": "contains", "value": "77" }),
        serde_json::json!({ "columnId": "col_a", "operator": "matches", "value": "^name [0-9]*7 |^8.*1$" }),
    ] {
        let table = project().table;
        let selection = selection_of(&serde_json::json!([filter]), &serde_json::json!([]), None);
        let predicate = Predicate::compile(&selection.filters, &table);
        let [Node::Leaf(leaf)] = predicate.nodes() else { panic!("{filter}") };
        check(&values, &FilterPredicate(leaf, now()));
    }
    check(&values, &Search::new("zÜRICH", &project().table));
    check(&values, &Search::new("\" ", &project().table));
    check(&values, &Search::new("10", &project().table));
}

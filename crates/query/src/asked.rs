//! Which columns a question looks at, in words that still mean something after a restart, and back.

use std::sync::Arc;

use rowmill_model::Table;
use rowmill_model::filter::{FilterNode, Filters};
use rowmill_model::path::Path;
use rowmill_model::row::Source;
use rowmill_model::sort::{Order, SortKey, Sorting};
use rowmill_model::summary::SummarySource;
use rowmill_store::warm_up::{ASKED_COLUMNS_MAX, AskedColumn, ColumnPart};

use crate::column::ColumnKey;
use crate::plan::value_name;
use crate::selection::Selection;
use crate::waiting_columns::WantedColumns;

/// The columns that a selection looks at, and these others. What somebody typed is not in it: no operand and no text that
/// is searched for.
pub(crate) fn asked_columns(selection: &Selection, also: &[ColumnKey], table: &Table) -> Vec<AskedColumn> {
    let Selection { filters: Filters(filters), sorting, search } = selection;
    let mut asked = Vec::new();
    of_filters(filters, &mut asked);
    let sorted = sorting.0.iter().map(|SortKey { column_id, direction }| AskedColumn {
        column: column_id.clone(),
        path: None,
        part: ColumnPart::Sorted(*direction),
    });
    asked.extend(sorted);
    let is_searched = search.as_deref().is_some_and(|text| !text.is_empty());
    for column in table.columns.iter().filter(|_| is_searched || !also.is_empty()) {
        let of = |part| AskedColumn { column: column.id.clone(), path: None, part };
        let is_needed = |source: &Source| value_name(source, None).is_some_and(|key| also.contains(&key));
        if is_searched || is_needed(&Source::compile(table, column)) {
            asked.push(of(ColumnPart::Values));
        }
        let typed = SummarySource::compile(table, column).source;
        if typed.typed().is_some() && is_needed(&typed) {
            asked.push(of(ColumnPart::Typed));
        }
    }
    let mut distinct: Vec<AskedColumn> = Vec::with_capacity(asked.len());
    for column in asked {
        if distinct.len() < ASKED_COLUMNS_MAX && !distinct.contains(&column) {
            distinct.push(column);
        }
    }
    distinct
}

fn of_filters(nodes: &[FilterNode], asked: &mut Vec<AskedColumn>) {
    for node in nodes {
        match node {
            FilterNode::Group { conjunction: _, filters } => of_filters(filters, asked),
            FilterNode::Filter(filter) => {
                let is_of_state = filter.operator.asks_for_state();
                let path = filter.path.clone().filter(|_| !is_of_state);
                // A path with a condition (`?`) has operands of its own.
                if path.as_ref().is_none_or(|path| !path.contains('?')) {
                    let part = if is_of_state { ColumnPart::States } else { ColumnPart::Values };
                    asked.push(AskedColumn { column: filter.column_id.clone(), path, part });
                }
            }
        }
    }
}

/// What to load so that such questions find all they need, in a table as it is now; in the same order.
pub(crate) fn wanted_columns(asked: &[AskedColumn], table: &Table) -> WantedColumns {
    let mut wanted = WantedColumns::default();
    for AskedColumn { column, path, part } in asked {
        let Some(column) = table.by_id(column.as_str()) else { continue };
        let source = Source::compile(table, column);
        match part {
            ColumnPart::Values => {
                let Ok(path) = path.as_deref().map(Path::parse).transpose() else { continue };
                let path = path.filter(|path| !path.is_whole()).map(Arc::new);
                wanted.names.extend(value_name(&source, path.as_ref()));
            }
            ColumnPart::Typed => {
                wanted.names.extend(value_name(&SummarySource::compile(table, column).source, None));
            }
            ColumnPart::States if source.is_processed() => {
                wanted.names.extend(source.slot().map(|slot| ColumnKey::State { slot }));
            }
            // What state a reference has depends on its value; others have none.
            ColumnPart::States if source.is_reference() => wanted.names.extend(value_name(&source, None)),
            ColumnPart::States => {}
            ColumnPart::Sorted(direction) => {
                let key = SortKey { column_id: column.id.clone(), direction: *direction };
                let order = Order::compile(&Sorting(vec![key]), table);
                for key in order.keys().iter().filter_map(|(source, _)| value_name(source, None)) {
                    wanted.names.push(key.clone());
                    wanted.sorted.push(key);
                }
            }
        }
    }
    wanted.distinct()
}

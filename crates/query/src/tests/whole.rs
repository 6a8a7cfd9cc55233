//! Summaries and finds beside what `model` says row by row.

use std::collections::{HashMap, HashSet};

use rowmill_model::filter::{Measure, Search};
use rowmill_model::row::{RowView, Source};
use rowmill_model::summary::{ColumnSummary, SummarySource, typed_key};
use rowmill_store::{StoredProject, StoredRow};

use super::made::now;
use crate::find::{Find, FindDirection, FindFrom, FoundCell};
use crate::groups::{Group, GroupBy, GroupTally};
use crate::query::Query;
use crate::selection::Selection;

/// Checks what is said of the rows of a selection, which lie at these positions.
pub(super) async fn check(
    query: &Query,
    project: &StoredProject,
    rows: &[StoredRow],
    selection: &Selection,
    positions: &[u64],
) {
    let at = |position: &u64| rows.iter().find(|row| row.position == *position).unwrap();
    let rows: Vec<&StoredRow> = positions.iter().map(at).collect();
    check_summaries(query, project, &rows, selection).await;
    check_groups(query, project, &rows, selection).await;
    for text in ["a", "1", "no such text"] {
        check_find(query, project, &rows, selection, text).await;
    }
}

async fn check_summaries(query: &Query, project: &StoredProject, rows: &[&StoredRow], selection: &Selection) {
    let table = &project.project.table;
    let columns: Vec<_> = table.columns.iter().collect();
    let found = query.summarize(project, selection.clone(), &columns, now()).await.unwrap();
    assert_eq!((found.rows, found.columns.len()), (rows.len() as u64, columns.len()));
    for (column, found) in columns.iter().zip(found.columns) {
        let SummarySource { source, measure, format } = SummarySource::compile(table, column);
        let (mut expected, mut distinct) = (ColumnSummary::default(), HashSet::new());
        for row in rows {
            let view = RowView::new(table, row.values.cells().unwrap(), &row.states);
            let raw = source.value(&view).unwrap_or_default();
            expected.add(&raw, measure.map_or(f64::NAN, |measure| measure.of(&raw)), 1);
            distinct.extend(typed_key(&raw, format.as_deref()));
        }
        let what = format!("{} of {selection:?}", column.id.as_str());
        assert_eq!((found.filled, found.measured), (expected.filled, expected.measured), "{what}");
        assert_eq!(found.sizes(), expected.sizes(), "{what}");
        let (sum, other) = (found.sum().unwrap_or_default(), expected.sum().unwrap_or_default());
        assert!((sum - other).abs() <= 1e-9 * other.abs().max(1.0), "{sum} and {other}: {what}");
        match found.unique {
            Some(unique) => assert_eq!(unique, distinct.len() as u64, "{what}"),
            None => assert!(distinct.len() > 8, "{what}"),
        }
    }
}

async fn check_groups(query: &Query, project: &StoredProject, rows: &[&StoredRow], selection: &Selection) {
    let table = &project.project.table;
    let total = table.by_id("col_b").unwrap();
    let summed = SummarySource::compile(table, total);
    for column in &table.columns {
        let source = Source::compile(table, column);
        let mut expected: HashMap<Option<u64>, (u64, f64)> = HashMap::new();
        for row in rows {
            let view = RowView::new(table, row.values.cells().unwrap(), &row.states);
            let raw = source.value(&view).unwrap_or_default();
            let key = typed_key(&raw, column.format.as_ref());
            let size = summed.source.value(&view).map_or(f64::NAN, |raw| Measure::Number.of(&raw));
            let group = expected.entry(key).or_default();
            group.0 += 1;
            group.1 += if size.is_nan() { 0.0 } else { size };
        }
        let by = GroupBy { column, total: Some(total), limit: usize::MAX };
        let found = query.group(project, selection.clone(), by, now()).await.unwrap();
        let what = format!("{} of {selection:?}", column.id.as_str());
        assert_eq!(found.rows, rows.len() as u64, "{what}");
        let empty = expected.remove(&None).unwrap_or_default();
        let is_same = |tally: &GroupTally, (rows, total): (u64, f64)| {
            tally.rows == rows && (tally.total - total).abs() <= 1e-9 * total.abs().max(1.0)
        };
        assert!(is_same(&found.empty, empty), "{:?} and {empty:?}: {what}", found.empty);
        if !found.is_complete {
            assert!(found.groups.len() < expected.len(), "{what}");
            continue;
        }
        assert_eq!((found.count, found.groups.len()), (expected.len() as u64, expected.len()), "{what}");
        assert!(found.groups.is_sorted_by(|a, b| a.tally.rows >= b.tally.rows), "{what}");
        for Group { raw, tally } in &found.groups {
            let key = typed_key(raw, column.format.as_ref());
            assert!(expected.get(&key).is_some_and(|expected| is_same(tally, *expected)), "{raw} {what}");
        }
        let by = GroupBy { limit: 2, ..by };
        let first = query.group(project, selection.clone(), by, now()).await.unwrap();
        // The rows may have left memory in between: a scan keeps few values here.
        if first.is_complete {
            assert_eq!(first.groups, found.groups[..found.groups.len().min(2)], "{what}");
        }
    }
}

async fn check_find(
    query: &Query,
    project: &StoredProject,
    rows: &[&StoredRow],
    selection: &Selection,
    text: &str,
) {
    let table = &project.project.table;
    let search = Search::new(text, table);
    let mut cells: Vec<(u64, u64, usize)> = Vec::new();
    for (number, row) in (0..).zip(rows) {
        let view = RowView::new(table, row.values.cells().unwrap(), &row.states);
        for (place, column) in table.columns.iter().enumerate() {
            if Source::compile(table, column).value(&view).is_some_and(|raw| search.is_in(&raw)) {
                cells.push((number, row.position, place));
            }
        }
    }
    let middle = cells.get(cells.len() / 2).map_or((1, 2), |(row, _, column)| (*row, *column));
    let froms = [None, Some((middle, true)), Some((middle, false)), Some(((u64::MAX, 0), false))];
    for (from, direction) in
        froms.iter().flat_map(|from| [(from, FindDirection::Next), (from, FindDirection::Previous)])
    {
        let start = from.map(|((row, column), is_included)| FindFrom { row, column, is_included });
        let columns = (0..table.columns.len()).collect();
        let find = Find { text: text.to_owned(), columns, from: start, direction };
        let found = query.find(project, selection, find, now()).await.unwrap();
        if !found.is_complete {
            assert!(cells.len() >= 64);
            continue;
        }
        let is_right = |(row, _, column): &(u64, u64, usize)| match (from, direction) {
            (None, _) => true,
            (Some((from, true)), FindDirection::Next) => (*row, *column) >= *from,
            (Some((from, false)), FindDirection::Next) => (*row, *column) > *from,
            (Some((from, true)), FindDirection::Previous) => (*row, *column) <= *from,
            (Some((from, false)), FindDirection::Previous) => (*row, *column) < *from,
        };
        let expected = match direction {
            FindDirection::Next => cells.iter().position(is_right).or(cells.first().map(|_| 0)),
            FindDirection::Previous => cells.iter().rposition(is_right).or(cells.len().checked_sub(1)),
        };
        let expected = expected.map(|index| {
            let (row, position, column) = cells[index];
            FoundCell { number: index as u64 + 1, row, position, column }
        });
        let what = format!("{text} from {from:?} {direction:?}, {selection:?}");
        assert_eq!((found.total, found.cell), (cells.len() as u64, expected), "{what}");
    }
}

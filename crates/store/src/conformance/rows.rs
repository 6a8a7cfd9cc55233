//! Rows and cells.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

use rowmill_model::{CellStates, ColumnId};

use super::make::{
    ANSWER, MAIL, NAME, batch, by_hand_at, cell, create, insert, load, names, numbered, once, processed,
    project, row, row_id, write, writes,
};
use crate::error::StoreError;
use crate::lookup::Ambiguity::{Several, TooMany};
use crate::lookup::CANDIDATES_MAX;
use crate::spans::Spans;
use crate::store::Store;
use crate::types::{NewRows, PageStart, RowAction, RowsPage, ScanDetail, StoredRow, Wanted, WriteCells};

pub(super) async fn rows_keep_the_order_they_were_sent_in(store: &dyn Store) {
    let id = create(store, project(1, 1)).await.project.id;
    // Neither ids nor values say the order: only the place in the batch does.
    insert(store, id, vec![row(30, &[(NAME, "1")]), row(10, &[(NAME, "2")])]).await;
    insert(store, id, vec![row(20, &[(NAME, "3.10"), (MAIL, "\"ü\\n\"")]), row(5, &[])]).await;
    let page = store.rows(id, PageStart::Offset(0), 10).await.unwrap();
    assert_eq!(names(&page.rows), ["1", "2", "3.10", ""]);
    assert_eq!((page.total, page.more), (4, false));
    let third = store.row(id, row_id(20)).await.unwrap().unwrap();
    assert_eq!(third, page.rows[2]);
    assert_eq!(cell(&third, MAIL).unwrap(), "\"ü\\n\"");
    assert_eq!(load(store, id).await.row_count, 4);
    assert_eq!(store.row(id, row_id(99)).await.unwrap(), None);
}

pub(super) async fn a_page_starts_anywhere(store: &dyn Store) {
    let id = create(store, project(1, 1)).await.project.id;
    let neighbour = create(store, project(2, 1)).await.project.id;
    insert(store, id, numbered(1, 2_500)).await;
    insert(store, neighbour, numbered(10_000, 5)).await;
    // Holes of every size: single rows, a whole run, the very ends.
    let doomed: Vec<u128> =
        (1..=2_500).filter(|n| n % 3 == 0 || (1_000..2_100).contains(n) || *n < 5).collect();
    let count = store.delete_rows(id, doomed.iter().map(|n| row_id(*n)).collect()).await.unwrap();
    assert_eq!(count, u64::try_from(doomed.len()).unwrap());
    let left: Vec<String> = (1..=2_500_u128).filter(|n| !doomed.contains(n)).map(|n| n.to_string()).collect();
    let total = u64::try_from(left.len()).unwrap();
    for offset in (0..total).step_by(37).chain([total - 1, total, total + 1_000, u64::MAX]) {
        let page = store.rows(id, PageStart::Offset(offset), 40).await.unwrap();
        let start = usize::try_from(offset.min(total)).unwrap();
        let end = (start + 40).min(left.len());
        assert_eq!(names(&page.rows), left[start..end], "offset {offset}");
        assert_eq!((page.total, page.more), (total, end < left.len()), "offset {offset}");
        if let Some(last) = page.rows.last() {
            let next = store.rows(id, PageStart::After(last.position), 1).await.unwrap();
            assert_eq!(names(&next.rows), left[end..(end + 1).min(left.len())], "after {offset}");
        }
    }
}

pub(super) async fn a_stale_insert_writes_nothing(store: &dyn Store) {
    let id = create(store, project(1, 1)).await.project.id;
    let version = load(store, id).await.version;
    let stale = store.insert_rows(batch(id, version + 1, numbered(1, 2))).await;
    assert!(matches!(stale, Err(StoreError::Stale)), "{stale:?}");
    let stale = store.write_cells(writes(id, version + 1, vec![write(1, NAME, "1")])).await;
    assert!(matches!(stale, Err(StoreError::Stale)), "{stale:?}");
    assert_eq!(load(store, id).await.row_count, 0);
}

pub(super) async fn columns_made_from_keys_are_saved_with_the_rows(store: &dyn Store) {
    let mut grown = create(store, project(1, 1)).await.project;
    let version = load(store, grown.id).await.version;
    grown.table.push_manual(ColumnId::new("col_city00000000"), "City");
    let rows = vec![row(1, &[(3, "\"Ulm\"")])];
    let insert = NewRows { project_save: Some(Box::new(grown.clone())), ..batch(grown.id, version, rows) };
    store.insert_rows(insert.clone()).await.unwrap();
    let stored = load(store, grown.id).await;
    assert_eq!(stored.project.table, grown.table);
    assert_eq!(cell(&store.row(grown.id, row_id(1)).await.unwrap().unwrap(), 3).unwrap(), "\"Ulm\"");
    let again = store.insert_rows(insert).await;
    assert!(matches!(again, Err(StoreError::Stale)), "{again:?}");
}

pub(super) async fn a_match_updates_and_an_unchanged_row_stays(store: &dyn Store) {
    let id = create(store, processed(1, 1)).await.project.id;
    insert(store, id, vec![row(1, &[(MAIL, "\"a\""), (NAME, "1")]), row(2, &[(NAME, "2")])]).await;
    let version = load(store, id).await.version;
    let changing = row(11, &[(MAIL, "\"a\""), (NAME, "5"), (ANSWER, "6")]);
    let sent = vec![
        row(10, &[(MAIL, "\"a\""), (NAME, "1.0")]),
        changing,
        row(12, &[(MAIL, "\"b\"")]),
        row(13, &[(MAIL, "\"b\""), (NAME, "6")]),
        row(14, &[(MAIL, "\"\"")]),
        row(15, &[(NAME, "7")]),
        row(16, &[(MAIL, "\"a\""), (NAME, "null"), (ANSWER, "null")]),
    ];
    let upsert = NewRows { match_on: Some(MAIL), ..batch(id, version, sent) };
    let inserted = store.insert_rows(upsert).await.unwrap();
    let expected = [
        (1, RowAction::Unchanged),
        (1, RowAction::Updated),
        (12, RowAction::Inserted),
        (12, RowAction::Updated),
        (14, RowAction::Inserted),
        (15, RowAction::Inserted),
        (1, RowAction::Updated),
    ];
    assert_eq!(inserted.rows, expected.map(|(number, action)| (row_id(number), action)));
    let page = store.rows(id, PageStart::Offset(0), 10).await.unwrap();
    assert_eq!(names(&page.rows), ["", "2", "6", "", "7"]);
    assert_eq!(page.total, 5);
    assert_eq!(page.rows[0].states, CellStates::default(), "a cleared cell is idle");
}

pub(super) async fn an_ambiguous_match_writes_nothing(store: &dyn Store) {
    let id = create(store, project(1, 1)).await.project.id;
    insert(store, id, vec![row(1, &[(MAIL, "1")]), row(2, &[(MAIL, "1.0")]), row(3, &[(MAIL, "2")])]).await;
    let version = load(store, id).await.version;
    let sent =
        vec![row(10, &[(MAIL, "2"), (NAME, "9")]), row(11, &[(MAIL, "10e-1")]), row(12, &[(MAIL, "3")])];
    let refused = store.insert_rows(NewRows { match_on: Some(MAIL), ..batch(id, version, sent) }).await;
    assert!(matches!(&refused, Err(StoreError::AmbiguousMatch(at)) if at == &[(1, Several)]), "{refused:?}");
    let page = store.rows(id, PageStart::Offset(0), 10).await.unwrap();
    assert_eq!(names(&page.rows), ["", "", ""]);
}

pub(super) async fn spellings_of_a_number_beyond_those_compared_are_refused(store: &dyn Store) {
    let id = create(store, project(1, 1)).await.project.id;
    let spelling = |number: usize| format!("\"1.{}\"", "0".repeat(number));
    let rows = |first: u128, count: usize| -> Vec<_> {
        (1..=count).zip(first..).map(|(count, number)| row(number, &[(MAIL, &spelling(count))])).collect()
    };
    insert(store, id, rows(1, CANDIDATES_MAX)).await;
    let version = load(store, id).await.version;
    let upsert =
        async |rows| store.insert_rows(NewRows { match_on: Some(MAIL), ..batch(id, version, rows) }).await;
    let again = upsert(rows(1_001, CANDIDATES_MAX)).await.unwrap();
    assert!(again.rows.iter().all(|(_, action)| *action == RowAction::Unchanged), "{again:?}");
    // One more is inserted, and then all are too many: none is taken for new because it was not compared.
    let last = CANDIDATES_MAX + 2;
    let refused = upsert(rows(2_001, last)).await;
    let expected = vec![(last - 1, TooMany)];
    assert!(matches!(&refused, Err(StoreError::AmbiguousMatch(at)) if *at == expected), "{refused:?}");
    insert(store, id, vec![row(3_001, &[(MAIL, &spelling(last))])]).await;
    let refused = upsert(vec![row(4_001, &[(MAIL, &spelling(last))]), row(4_002, &[(MAIL, "\"2\"")])]).await;
    assert!(matches!(&refused, Err(StoreError::AmbiguousMatch(at)) if at == &[(0, TooMany)]), "{refused:?}");
    assert_eq!(store.rows(id, PageStart::Offset(0), 100).await.unwrap().total, CANDIDATES_MAX as u64 + 1);
}

pub(super) async fn the_match_follows_every_write(store: &dyn Store) {
    let id = create(store, project(1, 1)).await.project.id;
    insert(store, id, vec![row(1, &[(MAIL, "\"a\"")]), row(2, &[(MAIL, "\"b\"")])]).await;
    let version = load(store, id).await.version;
    let upsert = async |number, mail: &str| {
        let sent = vec![row(number, &[(MAIL, mail), (NAME, &number.to_string())])];
        let insert = NewRows { match_on: Some(MAIL), ..batch(id, version, sent) };
        store.insert_rows(insert).await.unwrap().rows[0]
    };
    assert_eq!(upsert(10, "\"a\"").await, (row_id(1), RowAction::Updated));
    store.write_cells(writes(id, version, vec![write(1, MAIL, "\"c\"")])).await.unwrap();
    assert_eq!(upsert(11, "\"a\"").await, (row_id(11), RowAction::Inserted));
    assert_eq!(upsert(12, "\"c\"").await, (row_id(1), RowAction::Updated));
    store.delete_rows(id, vec![row_id(2)]).await.unwrap();
    assert_eq!(upsert(13, "\"b\"").await, (row_id(13), RowAction::Inserted));
    insert(store, id, vec![row(20, &[(MAIL, "\"d\"")])]).await;
    assert_eq!(upsert(14, "\"d\"").await, (row_id(20), RowAction::Updated));
}

pub(super) async fn cells_are_written_all_or_none(store: &dyn Store) {
    let id = create(store, processed(1, 1)).await.project.id;
    let other = create(store, project(2, 1)).await.project.id;
    insert(store, id, vec![row(1, &[(NAME, "1"), (MAIL, "\"x\"")]), row(2, &[(NAME, "2")])]).await;
    insert(store, other, numbered(3, 1)).await;
    let version = load(store, id).await.version;
    let refused =
        store.write_cells(writes(id, version, vec![write(1, NAME, "8"), write(3, NAME, "8")])).await;
    assert!(matches!(&refused, Err(StoreError::UnknownRows(rows)) if rows == &[row_id(3)]), "{refused:?}");
    let by_hand = write(2, ANSWER, "5");
    let cells = vec![
        write(1, NAME, "3"),
        write(2, NAME, "5"),
        by_hand,
        write(1, NAME, "4.0"),
        write(1, MAIL, "null"),
    ];
    let returning = vec![row_id(2), row_id(1)];
    let write_all = WriteCells { returning, now_ms: 77, ..writes(id, version, cells) };
    let written = store.write_cells(write_all).await.unwrap();
    assert_eq!(names(&written.rows), ["5", "4.0"]);
    assert_eq!(cell(&written.rows[1], MAIL), None);
    assert_eq!(written.rows[0].states.get(ANSWER), Some(&by_hand_at(77)));
    assert_eq!(written.rows[0].states.get(NAME), None, "nothing runs in a manual column");
    assert_eq!(
        store.rows(id, PageStart::Offset(0), 9).await.unwrap().rows,
        [1, 0].map(|n| written.rows[n].clone())
    );
    store.write_cells(writes(id, version, vec![write(2, ANSWER, "null")])).await.unwrap();
    let idle = store.row(id, row_id(2)).await.unwrap().unwrap();
    assert_eq!((cell(&idle, ANSWER), idle.states), (None, CellStates::default()));
}

pub(super) async fn deleting_counts_only_the_projects_own_rows(store: &dyn Store) {
    let id = create(store, project(1, 1)).await.project.id;
    let other = create(store, project(2, 1)).await.project.id;
    insert(store, id, numbered(1, 3)).await;
    insert(store, other, numbered(10, 3)).await;
    let deleted = store.delete_rows(id, [2, 10, 99].map(row_id).to_vec()).await.unwrap();
    assert_eq!(deleted, 1);
    assert_eq!(load(store, id).await.row_count, 2);
    assert_eq!(load(store, other).await.row_count, 3);
    insert(store, id, numbered(4, 1)).await;
    let page = store.rows(id, PageStart::Offset(0), 9).await.unwrap();
    assert_eq!(names(&page.rows), ["1", "3", "4"]);
    let positions = page.rows.iter().map(|row| row.position).rev().chain([7_777]).collect();
    assert_eq!(names(&store.rows_at(id, positions).await.unwrap().rows), ["4", "3", "1"]);
}

pub(super) async fn every_change_to_rows_moves_the_sequence_on(store: &dyn Store) {
    let id = create(store, project(1, 1)).await.project.id;
    let other = create(store, project(2, 1)).await.project.id;
    let at_rest = load(store, other).await.change_seq;
    let mut last = load(store, id).await.change_seq;
    let mut moved_on = async || {
        let before = std::mem::replace(&mut last, load(store, id).await.change_seq);
        last > before
    };
    assert!(!moved_on().await);
    insert(store, id, numbered(1, 3)).await;
    assert!(moved_on().await, "rows were inserted");
    let version = load(store, id).await.version;
    store.write_cells(writes(id, version, vec![write(1, NAME, "7")])).await.unwrap();
    assert!(moved_on().await, "a cell was written");
    let upsert =
        NewRows { match_on: Some(NAME), ..batch(id, version, vec![row(9, &[(NAME, "7"), (MAIL, "8")])]) };
    store.insert_rows(upsert).await.unwrap();
    assert!(moved_on().await, "a row was matched");
    store.delete_rows(id, vec![row_id(2)]).await.unwrap();
    assert!(moved_on().await, "a row was deleted");
    assert_eq!(load(store, other).await.change_seq, at_rest);
}

pub(super) async fn a_scan_sees_every_row_and_stops_when_told(store: &dyn Store) {
    let id = create(store, processed(1, 1)).await.project.id;
    insert(store, id, numbered(1, 100)).await;
    insert(store, id, vec![row(101, &[(ANSWER, "101")])]).await;
    let scan_as = async |spans, look: ScanDetail, most: usize| {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let shared = Arc::clone(&seen);
        let visit = move |row: crate::types::RowRef<'_>| {
            let mut seen = shared.lock().unwrap();
            seen.push((row.id, row.position, row.states.is_some()));
            if seen.len() < most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        let seq = store.scan(id, spans, look.into(), Box::new(visit)).await.unwrap();
        assert_eq!(seq, load(store, id).await.change_seq);
        Arc::try_unwrap(seen).unwrap().into_inner().unwrap()
    };
    let scan = async |after, most| scan_as(Spans::after(after), ScanDetail::Whole, most).await;
    let all = scan(None, usize::MAX).await;
    assert_eq!(all.len(), 101);
    assert!(
        all.iter().zip(1..).all(|(seen, number)| seen.0 == Some(row_id(number)) && seen.2 == (number == 101))
    );
    assert_eq!(scan(Some(all[49].1), 3).await, all[50..53]);
    assert_eq!(scan(Some(all[100].1), 3).await, []);
    let at = |index: usize| all[index].1;
    let spans = Spans::of([(at(90), u64::MAX), (at(7), at(7)), (at(20), at(22)), (at(21), at(24))]);
    let some = [&all[7..8], &all[20..25], &all[90..]].concat();
    assert_eq!(scan_as(spans, ScanDetail::Whole, usize::MAX).await, some);
    // Many runs, as scattered writes leave them.
    store.delete_rows(id, vec![row_id(11)]).await.unwrap();
    let spans = Spans::of((0..101).step_by(2).map(|index| (at(index), at(index))));
    let plain = scan_as(spans, ScanDetail::Values, usize::MAX).await;
    let expected = all.iter().step_by(2).filter(|seen| seen.0 != Some(row_id(11)));
    assert_eq!(plain, expected.map(|seen| (None, seen.1, false)).collect::<Vec<_>>());
    assert_eq!(scan_as(Spans::default(), ScanDetail::Whole, usize::MAX).await, []);
}

pub(super) async fn rows_are_read_together_with_the_sequence(store: &dyn Store) {
    let id = create(store, project(1, 1)).await.project.id;
    insert(store, id, numbered(1, 3)).await;
    let before = store.rows_at(id, vec![0, 1, 2]).await.unwrap();
    assert_eq!((before.rows.len(), before.change_seq), (3, load(store, id).await.change_seq));
    store.delete_rows(id, vec![before.rows[1].id]).await.unwrap();
    let after = store.rows_at(id, vec![2, 1, 0]).await.unwrap();
    assert_eq!((after.rows.len(), after.change_seq), (2, before.change_seq + 1));
}

pub(super) async fn listeners_hear_where_rows_were_touched(store: &dyn Store) {
    let heard: Arc<Mutex<Vec<(u64, Spans)>>> = Arc::default();
    let id = create(store, project(1, 1)).await.project.id;
    let listening = Arc::clone(&heard);
    store.listen(Box::new(move |change| {
        if change.project == id {
            listening.lock().unwrap().push((change.seq, change.touched.clone().tidied()));
        }
    }));
    let start = load(store, id).await.change_seq;
    insert(store, id, numbered(1, 3_000)).await;
    let version = load(store, id).await.version;
    let cells = vec![write(2_001, NAME, "7"), write(5, NAME, "8")];
    store.write_cells(writes(id, version, cells)).await.unwrap();
    store.delete_rows(id, vec![row_id(9), row_id(11)]).await.unwrap();
    // Every change has the next number, and names every row it touched.
    let expected = [vec![(0, 2_999)], vec![(4, 4), (2_000, 2_000)], vec![(8, 8), (10, 10)]];
    let expected: Vec<_> = expected.into_iter().map(Spans::of).zip(start + 1..).collect();
    let heard: Vec<_> = heard.lock().unwrap().iter().map(|(seq, spans)| (spans.clone(), *seq)).collect();
    assert_eq!(heard, expected);
}

pub(super) async fn new_rows_are_held_to_their_number(store: &dyn Store) {
    let id = create(store, project(1, 1)).await.project.id;
    insert(store, id, numbered(1, 3)).await;
    let version = load(store, id).await.version;
    let insert = async |first, match_on, max| {
        let rows = NewRows { match_on, new_rows_max: Some(max), ..batch(id, version, numbered(first, 3)) };
        store.insert_rows(rows).await
    };
    assert!(matches!(insert(10, None, 2).await, Err(StoreError::Full)));
    // Of these, two are there already, under the same names.
    assert!(matches!(insert(2, Some(NAME), 0).await, Err(StoreError::Full)));
    assert_eq!(load(store, id).await.row_count, 3, "all or nothing");
    insert(2, Some(NAME), 1).await.unwrap();
    insert(20, None, 3).await.unwrap();
    assert_eq!(load(store, id).await.row_count, 7);
}

pub(super) async fn an_insert_is_carried_out_once(store: &dyn Store) {
    let id = create(store, project(1, 1)).await.project.id;
    let version = load(store, id).await.version;
    let insert = |number, once| NewRows {
        once: Some(once),
        ignored_keys: vec!["zip".to_owned()],
        ..batch(id, version, numbered(number, 2))
    };
    let first = store.insert_rows(insert(1, once(1, 1, 100))).await.unwrap();
    assert_eq!(store.insert_rows(insert(5, once(1, 1, 200))).await.unwrap(), first);
    let other = store.insert_rows(insert(7, once(1, 2, 200))).await;
    assert!(matches!(other, Err(StoreError::OnceConflict)), "{other:?}");
    assert_eq!(load(store, id).await.row_count, 2);
}

pub(super) async fn many_writers_lose_nothing(store: &dyn Store) {
    let id = create(store, project(1, 1)).await.project.id;
    let version = load(store, id).await.version;
    let insert = |writer: u128| store.insert_rows(batch(id, version, numbered(writer * 100, 20)));
    let stale = store.insert_rows(batch(id, version + 9, numbered(99_999, 1)));
    // All are under way before any is answered, so that a backend that groups commits groups these; one
    // of them fails, and must not take others down with it.
    let mut pending: Vec<_> = (1..=40).map(|writer| Box::pin(insert(writer))).collect();
    let mut stale = Box::pin(stale);
    let (mut done, mut refused) = (0, false);
    std::future::poll_fn(|context| {
        pending.retain_mut(|insert| match insert.as_mut().poll(context) {
            std::task::Poll::Ready(outcome) => {
                done += outcome.unwrap().rows.len();
                false
            }
            std::task::Poll::Pending => true,
        });
        if !refused && let std::task::Poll::Ready(outcome) = stale.as_mut().poll(context) {
            refused = matches!(outcome, Err(StoreError::Stale));
            assert!(refused, "{outcome:?}");
        }
        if pending.is_empty() && refused { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
    assert_eq!(done, 800);
    let page = store.rows(id, PageStart::Offset(0), 1_000).await.unwrap();
    assert_eq!(page.rows.len(), 800);
    let batches: Vec<Vec<String>> = page.rows.chunks(20).map(names).collect();
    for names in batches {
        let first: u128 = names[0].parse().unwrap();
        let whole: Vec<String> = (first..first + 20).map(|number| number.to_string()).collect();
        assert_eq!(names, whole, "a batch is not torn apart by another");
    }
}

pub(super) async fn rows_are_read_within_bytes_and_the_others_are_named(store: &dyn Store) {
    let id = create(store, project(1, 1)).await.project.id;
    let large = format!("\"{}\"", "x".repeat(10_000));
    insert(store, id, (1..=6).map(|number| row(number, &[(NAME, large.as_str())])).collect()).await;
    store.delete_rows(id, vec![row_id(3)]).await.unwrap();
    let positions = |rows: &[StoredRow]| rows.iter().map(|row| row.position).collect::<Vec<u64>>();
    // Reading ends with the row that reaches the bound, and reads at least one.
    let check = |page: RowsPage, read: &[u64], rest: &[u64], more: bool| {
        assert_eq!((positions(&page.rows).as_slice(), page.rest.as_slice()), (read, rest));
        assert_eq!((page.total, page.more), (5, more));
    };
    let page = async |start, limit, bytes_max: usize| {
        store.rows_within(id, start, limit, bytes_max.into()).await.unwrap()
    };
    check(page(PageStart::Offset(0), 9, usize::MAX).await, &[0, 1, 3, 4, 5], &[], false);
    check(page(PageStart::Offset(0), 9, 15_000).await, &[0, 1], &[3, 4, 5], false);
    check(page(PageStart::Offset(0), 4, 1).await, &[0], &[1, 3, 4], true);
    check(page(PageStart::Offset(1), 2, 1).await, &[1], &[3], true);
    check(page(PageStart::After(1), 3, 15_000).await, &[3, 4], &[5], false);
    check(page(PageStart::After(0), 1, 1).await, &[1], &[], true);
    check(page(PageStart::Offset(7), 3, 1).await, &[], &[], false);
    // In the order asked for; what does not exist is in neither list.
    let asked = vec![5, 2, 0, 4, 77, 1];
    let found = store.rows_at_within(id, asked.clone(), 15_000.into()).await.unwrap();
    assert_eq!((positions(&found.rows), found.rest), (vec![5, 0], vec![4, 1]));
    let found = store.rows_at_within(id, asked, Wanted::ALL).await.unwrap();
    assert_eq!((positions(&found.rows), found.rest), (vec![5, 0, 4, 1], vec![]));
}

pub(super) async fn a_snapshot_stays_what_it_was(store: &dyn Store) {
    let id = create(store, project(1, 1)).await.project.id;
    insert(store, id, numbered(1, 5)).await;
    let mut snapshot = store.snapshot(id).await.unwrap().unwrap();
    let page = snapshot.rows_within(PageStart::Offset(0), 4, 1.into()).await.unwrap();
    assert_eq!((names(&page.rows), page.rest.clone()), (vec!["1".to_owned()], vec![1, 2, 3]));
    // Whatever happens meanwhile.
    store.delete_rows(id, vec![row_id(2)]).await.unwrap();
    let version = load(store, id).await.version;
    store.write_cells(writes(id, version, vec![write(3, NAME, "7")])).await.unwrap();
    let rest = snapshot.rows_at_within(page.rest.clone(), Wanted::ALL).await.unwrap();
    assert_eq!(
        (names(&rest.rows), rest.change_seq),
        (vec!["2".into(), "3".into(), "4".into()], page.change_seq)
    );
    drop(snapshot);
    let now = store.rows_at_within(id, page.rest, Wanted::ALL).await.unwrap();
    assert_eq!((names(&now.rows), now.change_seq), (vec!["7".into(), "4".into()], page.change_seq + 2));
}

pub(super) async fn snapshots_are_few(store: &dyn Store) {
    let id = create(store, project(1, 1)).await.project.id;
    insert(store, id, numbered(1, 2)).await;
    let mut open = Vec::new();
    for _ in 0..100 {
        match store.snapshot(id).await.unwrap() {
            Some(mut snapshot) => {
                snapshot.rows_within(PageStart::Offset(0), 9, 1.into()).await.unwrap();
                open.push(snapshot);
            }
            None => break,
        }
    }
    assert!(!open.is_empty());
    // However many are open, everybody else goes on.
    insert(store, id, numbered(3, 1)).await;
    assert_eq!(store.rows(id, PageStart::Offset(0), 9).await.unwrap().total, 3);
}

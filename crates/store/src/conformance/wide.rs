//! Rows with values so large that a store keeps them apart: they are what they were written, whatever is read of them.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

use jiff::Timestamp;
use rowmill_model::cell::Meta;
use rowmill_model::plan::Pick;
use rowmill_model::record::Slot;
use rowmill_model::{Deletion, ProjectId, Record};
use uuid::Uuid;

use super::make::{
    ANSWER, MAIL, NAME, SECOND, batch, create, insert, load, numbered, processed, project, row, row_id,
    write, writes,
};
use crate::error::StoreError;
use crate::spans::Spans;
use crate::store::Store;
use crate::types::{
    NewRows, PageStart, RowAction, RowRef, ScanDetail, ScanLook, StoredRow, Wanted, WantedSlots, WriteCells,
};
use crate::work::{CellResult, Claim, Lane, Rows, Settlement, Trigger, WorkerId};

/// A value of so many bytes.
fn text(letter: char, bytes: usize) -> String {
    format!("\"{}\"", letter.to_string().repeat(bytes - 2))
}

/// A value that is stored apart, and is of no whole number of pages.
fn wide(letter: char) -> String {
    text(letter, 70_001)
}

fn cell(row: &StoredRow, slot: Slot) -> Option<String> {
    row.values.cells().unwrap().get(slot).map(str::to_owned)
}

async fn read(store: &dyn Store, id: ProjectId, number: u128) -> StoredRow {
    store.row(id, row_id(number)).await.unwrap().unwrap()
}

/// Checks a row however it is read, and that the bytes of all values are known.
async fn check(store: &dyn Store, id: ProjectId, number: u128, expected: &[(Slot, &str)]) {
    let expected = Record::pack(expected.iter().copied());
    let whole = read(store, id, number).await;
    assert_eq!(whole.values, expected);
    let positions = vec![whole.position];
    assert_eq!(store.rows_at(id, positions.clone()).await.unwrap().rows, std::slice::from_ref(&whole));
    for slot in [0, NAME, MAIL, ANSWER, SECOND] {
        let wanted = Wanted { bytes_max: usize::MAX, slots: WantedSlots::only([slot]) };
        let some = store.rows_at_within(id, positions.clone(), wanted).await.unwrap().rows.remove(0);
        assert_eq!((cell(&some, slot), some.id), (cell(&whole, slot), whole.id), "slot {slot}");
    }
    let page = store.rows(id, PageStart::Offset(0), 1_000).await.unwrap().rows;
    assert!(page.contains(&whole));
    let all: usize = page.iter().map(|row| row.values.as_bytes().len()).sum();
    let team = load(store, id).await.project.team;
    assert_eq!(store.team_bytes(team).await.unwrap().bytes, all as u64);
}

async fn set(store: &dyn Store, id: ProjectId, slot: Slot, value: &str) {
    let version = load(store, id).await.version;
    let write = WriteCells { returning: vec![row_id(1)], ..writes(id, version, vec![write(1, slot, value)]) };
    let written = store.write_cells(write).await.unwrap().rows;
    assert_eq!(written, [read(store, id, 1).await]);
}

pub(super) async fn a_wide_value_is_what_was_written(store: &dyn Store) {
    let id = create(store, project(1, 1)).await.project.id;
    let (a, b) = (wide('a'), wide('b'));
    // The last that is stored in the row, and the first that is not.
    let (last, first) = (text('x', 4_096), text('x', 4_097));
    insert(store, id, vec![row(1, &[(NAME, &a), (MAIL, "1.50")]), row(2, &[(NAME, &b), (MAIL, &b)])]).await;
    insert(store, id, vec![row(3, &[(NAME, &last), (MAIL, &first)])]).await;
    check(store, id, 1, &[(NAME, &a), (MAIL, "1.50")]).await;
    check(store, id, 2, &[(NAME, &b), (MAIL, &b)]).await;
    check(store, id, 3, &[(NAME, &last), (MAIL, &first)]).await;
    for (slot, value, name, mail) in [
        (MAIL, "2", &*a, "2"),
        (MAIL, &*b, &*a, &*b),
        (MAIL, &*b, &*a, &*b),
        (NAME, &*first, &*first, &*b),
        (NAME, &*last, &*last, &*b),
        (NAME, &*a, &*a, &*b),
        (MAIL, "null", &*a, "null"),
        (MAIL, &*a, &*a, &*a),
        (NAME, "\"small\"", "\"small\"", &*a),
        (MAIL, "3", "\"small\"", "3"),
        (NAME, &*b, &*b, "3"),
        (NAME, "null", "null", "3"),
    ] {
        set(store, id, slot, value).await;
        check(store, id, 1, &[(NAME, name), (MAIL, mail)]).await;
        check(store, id, 2, &[(NAME, &b), (MAIL, &b)]).await;
    }
    assert_eq!(store.delete_rows(id, vec![row_id(2), row_id(2)]).await.unwrap(), 1);
    assert_eq!(store.row(id, row_id(2)).await.unwrap(), None);
    check(store, id, 3, &[(NAME, &last), (MAIL, &first)]).await;
}

/// Enough rows that a store writes them in bulk.
pub(super) async fn many_rows_have_wide_values(store: &dyn Store) {
    let id = create(store, project(1, 1)).await.project.id;
    let value = |number: u128| text(if number.is_multiple_of(2) { 'a' } else { 'b' }, 5_000);
    let rows = (1..=300).map(|number| match number % 3 {
        0 => row(number, &[(NAME, &value(number)), (MAIL, &number.to_string())]),
        1 => row(number, &[(NAME, &number.to_string()), (MAIL, &value(number))]),
        _ => row(number, &[(NAME, &number.to_string())]),
    });
    insert(store, id, rows.collect()).await;
    for number in [1, 2, 3, 150, 299, 300] {
        let (wide, small) = (value(number), number.to_string());
        let expected = match number % 3 {
            0 => vec![(NAME, &*wide), (MAIL, &*small)],
            1 => vec![(NAME, &*small), (MAIL, &*wide)],
            _ => vec![(NAME, &*small)],
        };
        check(store, id, number, &expected).await;
    }
    let version = load(store, id).await.version;
    let cells = (1..=300).map(|number| write(number, MAIL, "9")).collect();
    store.write_cells(writes(id, version, cells)).await.unwrap();
    check(store, id, 1, &[(NAME, "1"), (MAIL, "9")]).await;
    check(store, id, 3, &[(NAME, &value(3)), (MAIL, "9")]).await;
}

pub(super) async fn a_wide_value_is_matched(store: &dyn Store) {
    let id = create(store, project(1, 1)).await.project.id;
    let (a, b, c) = (wide('a'), wide('b'), wide('c'));
    insert(store, id, vec![row(1, &[(NAME, &a), (MAIL, "1")]), row(2, &[(NAME, &b), (MAIL, &a)])]).await;
    let version = load(store, id).await.version;
    let upsert = async |number: u128, name: &str, mail: &str| {
        let sent = vec![row(number, &[(NAME, name), (MAIL, mail)])];
        let insert = NewRows { match_on: Some(NAME), ..batch(id, version, sent) };
        store.insert_rows(insert).await.unwrap().rows[0]
    };
    assert_eq!(upsert(10, &a, "2").await, (row_id(1), RowAction::Updated));
    assert_eq!(upsert(10, &a, "2").await, (row_id(1), RowAction::Unchanged));
    assert_eq!(upsert(10, &b, &a).await, (row_id(2), RowAction::Unchanged));
    assert_eq!(upsert(10, &b, &c).await, (row_id(2), RowAction::Updated));
    assert_eq!(upsert(10, &c, "5").await, (row_id(10), RowAction::Inserted));
    check(store, id, 1, &[(NAME, &a), (MAIL, "2")]).await;
    check(store, id, 2, &[(NAME, &b), (MAIL, &c)]).await;
    // Another cell is written, then the value itself, then the row is gone: the match follows.
    set(store, id, MAIL, &b).await;
    assert_eq!(upsert(11, &a, &b).await, (row_id(1), RowAction::Unchanged));
    set(store, id, NAME, "\"small\"").await;
    assert_eq!(upsert(11, &a, "7").await, (row_id(11), RowAction::Inserted));
    store.delete_rows(id, vec![row_id(2)]).await.unwrap();
    assert_eq!(upsert(12, &b, "8").await, (row_id(12), RowAction::Inserted));
    check(store, id, 1, &[(NAME, "\"small\""), (MAIL, &b)]).await;
}

pub(super) async fn a_row_with_wide_values_comes_back_from_the_trash(store: &dyn Store) {
    let id = create(store, processed(1, 1)).await.project.id;
    let (a, b) = (wide('a'), wide('b'));
    insert(store, id, vec![row(1, &[(NAME, &a), (MAIL, "1")]), row(2, &[(NAME, "2"), (MAIL, &b)])]).await;
    insert(store, id, vec![row(3, &[(NAME, &b), (MAIL, &a)])]).await;
    let deletion = Deletion { at_ms: 10, by: None };
    store.trash_rows(id, vec![row_id(1), row_id(2), row_id(3)], deletion).await.unwrap();
    assert_eq!(store.row(id, row_id(1)).await.unwrap(), None);
    let page = store.trashed_rows(id, None, 10, usize::MAX).await.unwrap();
    let values: Vec<Record> = page.rows.into_iter().rev().map(|row| row.values).collect();
    assert_eq!(values[0], Record::pack([(NAME, &*a), (MAIL, "1")]));
    assert_eq!(values[2], Record::pack([(NAME, &*b), (MAIL, &*a)]));
    store.restore_rows(id, vec![row_id(1), row_id(3)], 11).await.unwrap();
    check(store, id, 1, &[(NAME, &a), (MAIL, "1")]).await;
    check(store, id, 3, &[(NAME, &b), (MAIL, &a)]).await;
    set(store, id, NAME, "null").await;
    store.trash_rows(id, vec![row_id(1)], deletion).await.unwrap();
    store.empty_trash(id).await.unwrap();
    while store.sweep_trash(20).await.unwrap() {}
    check(store, id, 3, &[(NAME, &b), (MAIL, &a)]).await;
    // A deleted project takes them along, and another is not touched.
    let kept = create(store, project(2, 2)).await.project.id;
    insert(store, kept, vec![row(1, &[(NAME, &a)])]).await;
    assert!(store.delete_project(id, None).await.unwrap());
    check(store, kept, 1, &[(NAME, &a)]).await;
}

/// A worker is given what its column reads of a row, and writes results of any size into it.
pub(super) async fn cells_of_a_wide_row_run(store: &dyn Store) {
    let id = create(store, processed(1, 1)).await.project.id;
    let (a, b, c) = (wide('a'), wide('b'), wide('c'));
    insert(store, id, vec![row(1, &[(NAME, &a), (MAIL, "1")]), row(2, &[(NAME, "2"), (MAIL, &a)])]).await;
    let trigger = Trigger {
        project: id,
        rows: Rows::All,
        pick: Pick::default(),
        limit: None,
        dry_run: false,
        now_ms: 5,
    };
    store.trigger(trigger).await.unwrap();
    let worker = WorkerId(Uuid::from_u128(1));
    let run = async |slot, results: [&str; 2]| {
        let now = Timestamp::from_millisecond(10).unwrap();
        let asks = vec![(Lane { project: id, slot }, 10)];
        let claim = Claim { worker, expires_at_ms: 1_000, now, asks, bytes_max: usize::MAX };
        let mut claimed = store.claim(claim).await.unwrap();
        claimed.sort_unstable_by_key(|cell| cell.row);
        for cell in &claimed {
            let (whole, input) = (
                read(store, id, cell.row.uuid().as_u128()).await,
                if slot == ANSWER { NAME } else { ANSWER },
            );
            assert_eq!(cell.values.cells().unwrap().get(input), whole.values.cells().unwrap().get(input));
        }
        let result = |text: &str| CellResult::Value(text.into(), Meta::new());
        let tickets = claimed.iter().map(|cell| cell.ticket);
        let results = tickets.zip(results).map(|(ticket, text)| Settlement { ticket, result: result(text) });
        assert_eq!(store.settle(worker, 11, results.collect()).await.unwrap(), [true, true]);
    };
    run(ANSWER, [&b, "5"]).await;
    check(store, id, 1, &[(NAME, &a), (MAIL, "1"), (ANSWER, &b)]).await;
    run(SECOND, ["6", &c]).await;
    check(store, id, 1, &[(NAME, &a), (MAIL, "1"), (ANSWER, &b), (SECOND, "6")]).await;
    check(store, id, 2, &[(NAME, "2"), (MAIL, &a), (ANSWER, "5"), (SECOND, &c)]).await;
    // Another row than was seen is not written over, also where only a wide value is another.
    let version = load(store, id).await.version;
    let expect = async |expected: StoredRow| {
        let expected = Some(Box::new(expected));
        store.write_cells(WriteCells { expected, ..writes(id, version, vec![write(1, MAIL, "7")]) }).await
    };
    let seen = read(store, id, 1).await;
    set(store, id, NAME, &c).await;
    assert!(matches!(expect(seen).await, Err(StoreError::Stale)));
    expect(read(store, id, 1).await).await.unwrap();
    check(store, id, 1, &[(NAME, &c), (MAIL, "7"), (ANSWER, &b), (SECOND, "6")]).await;
}

pub(super) async fn only_wanted_bytes_count(store: &dyn Store) {
    let id = create(store, project(1, 1)).await.project.id;
    let large = text('x', 30_000);
    let rows = (1..=6).map(|number| row(number, &[(NAME, &large), (MAIL, &number.to_string())])).collect();
    insert(store, id, rows).await;
    let wanted = |bytes_max, slots: &[Slot]| {
        let slots =
            if slots.is_empty() { WantedSlots::All } else { WantedSlots::only(slots.iter().copied()) };
        Wanted { bytes_max, slots }
    };
    for (wanted, count) in [
        (wanted(usize::MAX, &[]), 6),
        (wanted(45_000, &[]), 2),
        (wanted(1, &[]), 1),
        (wanted(45_000, &[NAME]), 2),
        (wanted(45_000, &[MAIL, NAME]), 2),
        (wanted(25_000, &[MAIL]), 6),
        (wanted(25_000, &[77]), 6),
    ] {
        let page = store.rows_within(id, PageStart::Offset(0), 6, wanted.clone()).await.unwrap();
        assert_eq!((page.rows.len(), page.rest.len()), (count, 6 - count), "{wanted:?}");
        let found = store.rows_at_within(id, (0..6).collect(), wanted.clone()).await.unwrap();
        assert_eq!((&found.rows, &found.rest), (&page.rows, &page.rest), "{wanted:?}");
        let mut snapshot = store.snapshot(id).await.unwrap().unwrap();
        let held = snapshot.rows_within(PageStart::Offset(0), 6, wanted.clone()).await.unwrap();
        assert_eq!(held, page, "{wanted:?}");
        for row in &page.rows {
            for slot in [NAME, MAIL].into_iter().filter(|slot| wanted.slots.contains(*slot)) {
                assert!(cell(row, slot).is_some(), "{wanted:?} {slot}");
            }
        }
    }
}

pub(super) async fn a_scan_shows_what_is_wanted(store: &dyn Store) {
    let id = create(store, project(1, 1)).await.project.id;
    let large = text('x', 30_000);
    // Among small rows and more than are scanned at once.
    insert(store, id, numbered(1, 300)).await;
    let rows = (301..=340).map(|number| row(number, &[(NAME, &large), (MAIL, &number.to_string())]));
    insert(store, id, rows.collect()).await;
    let scan = async |spans: Spans, detail, slots: WantedSlots| {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let shared = Arc::clone(&seen);
        let visit = move |row: RowRef<'_>| {
            shared.lock().unwrap().push(Record::from_bytes(row.values));
            ControlFlow::Continue(())
        };
        store.scan(id, spans, ScanLook { detail, slots }, Box::new(visit)).await.unwrap();
        Arc::try_unwrap(seen).unwrap().into_inner().unwrap()
    };
    for detail in [ScanDetail::Values, ScanDetail::Whole] {
        for spans in [Spans::all(), Spans::of([(0, 0), (299, 305), (330, 330)]), Spans::after(Some(299))] {
            let whole = scan(spans.clone(), detail, WantedSlots::All).await;
            assert!(whole.iter().any(|values| values.cells().unwrap().get(NAME) == Some(&*large)));
            for slots in [[NAME], [MAIL], [77]] {
                let some = scan(spans.clone(), detail, WantedSlots::only(slots)).await;
                let shown = |rows: &[Record]| {
                    let cell = |row: &Record| row.cells().unwrap().get(slots[0]).map(str::to_owned);
                    rows.iter().map(cell).collect::<Vec<_>>()
                };
                assert_eq!(shown(&some), shown(&whole), "{detail:?} {spans:?} {slots:?}");
            }
        }
    }
}

pub(super) async fn a_snapshot_keeps_wide_values(store: &dyn Store) {
    let id = create(store, project(1, 1)).await.project.id;
    let (a, b) = (wide('a'), wide('b'));
    insert(store, id, (1..=3).map(|number| row(number, &[(NAME, &a), (MAIL, &a)])).collect()).await;
    let mut snapshot = store.snapshot(id).await.unwrap().unwrap();
    let before = snapshot.rows_within(PageStart::Offset(0), 1, Wanted::ALL).await.unwrap();
    set(store, id, NAME, &b).await;
    set(store, id, MAIL, "7").await;
    store.delete_rows(id, vec![row_id(2)]).await.unwrap();
    store.trash_rows(id, vec![row_id(3)], Deletion { at_ms: 10, by: None }).await.unwrap();
    let held = snapshot.rows_at_within(vec![0, 1, 2], Wanted::ALL).await.unwrap().rows;
    assert_eq!(held[0], before.rows[0]);
    for row in &held {
        assert_eq!(row.values, Record::pack([(NAME, &*a), (MAIL, &*a)]));
    }
    drop(snapshot);
    check(store, id, 1, &[(NAME, &b), (MAIL, "7")]).await;
}

/// One writes both cells of a row again and again; whoever reads sees both of one write.
pub(super) async fn a_reader_sees_one_moment(store: &dyn Store) {
    let id = create(store, project(1, 1)).await.project.id;
    let value = |number: usize| if number.is_multiple_of(2) { wide('a') } else { number.to_string() };
    insert(store, id, vec![row(1, &[(NAME, &value(0)), (MAIL, &value(0))])]).await;
    let version = load(store, id).await.version;
    let writer = async {
        for number in 1..40 {
            let cells = vec![write(1, NAME, &value(number)), write(1, MAIL, &value(number))];
            store.write_cells(writes(id, version, cells)).await.unwrap();
        }
    };
    let reader = async {
        for _ in 0..60 {
            let row = read(store, id, 1).await;
            assert_eq!(cell(&row, NAME), cell(&row, MAIL));
            let page = store.rows(id, PageStart::Offset(0), 10).await.unwrap();
            assert_eq!(cell(&page.rows[0], NAME), cell(&page.rows[0], MAIL));
        }
    };
    futures_util::future::join(writer, reader).await;
}

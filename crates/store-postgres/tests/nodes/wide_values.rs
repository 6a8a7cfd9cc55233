//! Values that are stored apart from their rows: nobody touches them who need not, none is left behind, and rows of
//! before there were any are what they were.

use std::ops::ControlFlow;
use std::time::Duration;

use rowmill_model::cell::Meta;
use rowmill_model::record::Slot;
use rowmill_model::{Deletion, ProjectId, Record, RowId};
use rowmill_store::{
    CellResult, CellWrite, NewRow, NewRows, PageStart, RowRef, ScanDetail, ScanLook, Settlement, Spans,
    Store, StoreError, StoredRow, TrashStore as _, Wanted, WantedSlots, WorkerId, WriteCells,
};
use rowmill_store_postgres::PostgresStore;
use rowmill_test_postgres::client;
use uuid::Uuid;

use super::setup::{ANSWER, NAME, OTHER, claim, on_a_database, open, project, rows, trigger};

fn wide(letter: &str) -> String {
    format!("\"{}\"", letter.repeat(20_000))
}

fn id_of(number: u128) -> RowId {
    RowId::from_uuid(Uuid::from_u128(number))
}

/// Three rows with a wide name, and one without.
async fn fill(store: &PostgresStore, id: ProjectId) {
    let mut batch = rows(id, 1, 4);
    for NewRow { values, .. } in batch.rows.iter_mut().take(3) {
        *values = Record::pack([(NAME, wide("a").as_str()), (OTHER, "1")]);
    }
    store.insert_rows(batch).await.unwrap();
}

async fn all(store: &PostgresStore, id: ProjectId) -> Vec<StoredRow> {
    store.rows(id, PageStart::Offset(0), 100).await.unwrap().rows
}

async fn write(store: &PostgresStore, project: ProjectId, number: u128, slot: Slot, value: &str) {
    let version = store.project(project).await.unwrap().unwrap().version;
    let cells = vec![CellWrite { row: id_of(number), slot, value: value.into() }];
    let write = WriteCells {
        project,
        version,
        project_save: None,
        cells,
        expected: None,
        new_bytes_max: None,
        now_ms: 20,
        returning: Vec::new(),
    };
    store.write_cells(write).await.unwrap();
}

/// The position and slot of everything that is stored apart, and which transaction wrote it.
async fn stored_apart(address: &str) -> Vec<(i64, i64, String)> {
    let sql = "SELECT position, slot, xmin::text FROM rowmill.wide_values ORDER BY position, slot";
    let found = client(address).await.query(sql, &[]).await.unwrap();
    found.iter().map(|row| (row.get(0), row.get(1), row.get(2))).collect()
}

#[test]
fn another_cell_is_written_without_them() {
    on_a_database(async |address| {
        let store = open(&address).await;
        let id = project(&store, 1).await;
        fill(&store, id).await;
        let before = stored_apart(&address).await;
        assert_eq!(before.len(), 3);
        write(&store, id, 1, OTHER, "7").await;
        write(&store, id, 2, NAME, &wide("a")).await;
        let deletion = Deletion { at_ms: 30, by: None };
        store.trash_rows(id, vec![id_of(1), id_of(3)], deletion).await.unwrap();
        store.restore_rows(id, vec![id_of(1), id_of(3)], 31).await.unwrap();
        // Cells of a row that the node knows are settled, two columns' results in a row.
        trigger(&store, id).await;
        let claimed = claim(&store, 1, id, 10).await;
        assert_eq!(claimed.len(), 4);
        let result = |ticket| Settlement { ticket, result: CellResult::Value("5".into(), Meta::new()) };
        let results = claimed.iter().map(|cell| result(cell.ticket)).collect();
        assert_eq!(store.settle(WorkerId(Uuid::from_u128(1)), 11, results).await.unwrap(), [true; 4]);
        assert_eq!(stored_apart(&address).await, before);
        let now = all(&store, id).await;
        assert_eq!(now[0].values, Record::pack([(NAME, &*wide("a")), (OTHER, "7"), (ANSWER, "5")]));
        write(&store, id, 2, NAME, &wide("b")).await;
        let after = stored_apart(&address).await;
        assert_eq!((&after[0], &after[2]), (&before[0], &before[2]));
        assert_ne!(after[1], before[1]);
    });
}

#[test]
fn who_wants_other_columns_does_not_read_them() {
    on_a_database(async |address| {
        let store = open(&address).await;
        let id = project(&store, 1).await;
        fill(&store, id).await;
        client(&address).await.execute("DELETE FROM rowmill.wide_values", &[]).await.unwrap();
        let page = async |slots| {
            let wanted = Wanted { bytes_max: usize::MAX, slots };
            store.rows_within(id, PageStart::Offset(0), 100, wanted).await.map(|page| page.rows)
        };
        let found = page(WantedSlots::only([OTHER])).await.unwrap();
        let others = found.iter().map(|row| row.values.cells().unwrap().get(OTHER).is_some());
        assert_eq!(others.collect::<Vec<_>>(), [true, true, true, false]);
        let scan = async |slot, detail| {
            let visit = Box::new(|_: RowRef<'_>| ControlFlow::Continue(()));
            let look = ScanLook { detail, slots: WantedSlots::only([slot]) };
            store.scan(id, Spans::all(), look, visit).await.map(|_| ())
        };
        for detail in [ScanDetail::Values, ScanDetail::Whole] {
            scan(OTHER, detail).await.unwrap();
            let outcome = scan(NAME, detail).await;
            assert!(matches!(outcome, Err(StoreError::Damaged(_))), "{outcome:?}");
        }
        for slots in [WantedSlots::All, WantedSlots::only([NAME])] {
            let outcome = page(slots).await;
            assert!(matches!(outcome, Err(StoreError::Damaged(_))), "{outcome:?}");
        }
    });
}

#[test]
fn who_changes_other_cells_does_not_read_them() {
    on_a_database(async |address| {
        let store = open(&address).await;
        let id = project(&store, 1).await;
        let mut batch = rows(id, 1, 2);
        for NewRow { values, .. } in &mut batch.rows {
            *values = Record::pack([(NAME, "1"), (OTHER, wide("a").as_str())]);
        }
        store.insert_rows(batch).await.unwrap();
        client(&address).await.execute("DELETE FROM rowmill.wide_values", &[]).await.unwrap();
        write(&store, id, 1, NAME, "2").await;
        // The answer is made from the name.
        trigger(&store, id).await;
        let claimed = claim(&store, 1, id, 10).await;
        assert_eq!(claimed.len(), 2);
        let result = |ticket| Settlement { ticket, result: CellResult::Value("5".into(), Meta::new()) };
        let results = claimed.iter().map(|cell| result(cell.ticket)).collect();
        assert_eq!(store.settle(WorkerId(Uuid::from_u128(1)), 11, results).await.unwrap(), [true; 2]);
        write(&store, id, 1, NAME, "3").await;
        let deletion = Deletion { at_ms: 30, by: None };
        store.trash_rows(id, vec![id_of(1), id_of(2)], deletion).await.unwrap();
        assert_eq!(store.restore_rows(id, vec![id_of(1), id_of(2)], 31).await.unwrap().rows, 2);
        assert_eq!(store.delete_rows(id, vec![id_of(1)]).await.unwrap(), 1);
    });
}

#[test]
fn nothing_is_left_of_rows_that_are_deleted() {
    on_a_database(async |address| {
        let store = open(&address).await;
        let id = project(&store, 1).await;
        fill(&store, id).await;
        let positions = async || {
            let stored = stored_apart(&address).await;
            stored.into_iter().map(|(position, ..)| position).collect::<Vec<i64>>()
        };
        store.delete_rows(id, vec![id_of(1)]).await.unwrap();
        assert_eq!(positions().await, [1, 2]);
        store.trash_rows(id, vec![id_of(2)], Deletion { at_ms: 30, by: None }).await.unwrap();
        assert_eq!(positions().await, [1, 2]);
        while store.sweep_trash(30).await.unwrap() {}
        assert_eq!(positions().await, [2]);
        assert!(store.delete_project(id, None).await.unwrap());
        for _ in 0..200 {
            if client(&address).await.query("SELECT 1 FROM rowmill.graves", &[]).await.unwrap().is_empty() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        assert_eq!(positions().await, [0_i64; 0]);
        assert!(client(&address).await.query("SELECT 1 FROM rowmill.rows", &[]).await.unwrap().is_empty());
    });
}

#[test]
fn rows_of_an_earlier_version_are_what_they_were() {
    on_a_database(async |address| {
        let store = open(&address).await;
        let id = project(&store, 1).await;
        fill(&store, id).await;
        let before = all(&store, id).await;
        let beside = client(&address).await;
        beside.execute("DELETE FROM rowmill.wide_values", &[]).await.unwrap();
        for row in &before {
            let sql = "UPDATE rowmill.rows SET vals = $2, wide = NULL, wide_bytes = NULL WHERE id = $1";
            beside.execute(sql, &[&row.id.uuid(), &row.values.as_bytes()]).await.unwrap();
        }
        assert_eq!(all(&store, id).await, before);
        let cells = async |number: u128| store.row(id, id_of(number)).await.unwrap().unwrap().values;
        write(&store, id, 1, OTHER, "7").await;
        write(&store, id, 2, NAME, "\"short\"").await;
        write(&store, id, 4, OTHER, &wide("c")).await;
        assert_eq!(cells(1).await, before[0].values.with([(OTHER, "7")]).unwrap());
        assert_eq!(cells(2).await, before[1].values.with([(NAME, "\"short\"")]).unwrap());
        assert_eq!(cells(3).await, before[2].values);
        assert_eq!(cells(4).await, before[3].values.with([(OTHER, wide("c").as_str())]).unwrap());
        let stored: Vec<(i64, i64)> =
            stored_apart(&address).await.into_iter().map(|(position, slot, _)| (position, slot)).collect();
        assert_eq!(stored, [(0, i64::from(NAME)), (3, i64::from(OTHER))]);
        let sent = NewRows { match_on: Some(NAME), ..rows(id, 9, 1) };
        let row = NewRow { values: before[2].values.with([(OTHER, "8")]).unwrap(), ..sent.rows[0].clone() };
        let inserted = store.insert_rows(NewRows { rows: vec![row.clone()], ..sent.clone() }).await;
        // The first and the third have the same name; then only the third has.
        assert!(matches!(inserted, Err(StoreError::AmbiguousMatch(_))), "{inserted:?}");
        write(&store, id, 1, NAME, &wide("d")).await;
        let inserted = store.insert_rows(NewRows { rows: vec![row], ..sent }).await.unwrap();
        assert_eq!(inserted.rows[0].0, id_of(3));
        assert_eq!(cells(3).await, before[2].values.with([(OTHER, "8")]).unwrap());
    });
}

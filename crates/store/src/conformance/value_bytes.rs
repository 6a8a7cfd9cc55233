//! How many bytes values take.

use super::make::{MAIL, NAME, batch, create, insert, load, numbered, project, row, row_id, write, writes};
use crate::error::StoreError;
use crate::store::Store;
use crate::types::{NewRows, WriteCells};

pub(super) async fn bytes_are_counted_with_every_write(store: &dyn Store) {
    let first = create(store, project(1, 1)).await.project;
    let second = create(store, project(2, 1)).await.project;
    let other = create(store, project(3, 2)).await.project;
    let bytes = async || {
        let counted = store.team_bytes(first.team).await.unwrap();
        assert_eq!(counted.uncounted, []);
        counted.bytes
    };
    assert_eq!(bytes().await, 0);
    let long = format!("\"{}\"", "x".repeat(1_000));
    let rows = vec![row(1, &[(NAME, &long)]), row(2, &[(NAME, "1"), (MAIL, &long)])];
    let mut expected: u64 = rows.iter().map(|row| row.values.as_bytes().len() as u64).sum();
    assert!(expected > 2_000);
    insert(store, first.id, rows).await;
    insert(store, other.id, numbered(100, 500)).await;
    assert_eq!(bytes().await, expected);
    let more = numbered(10, 40);
    let of_more: u64 = more.iter().map(|row| row.values.as_bytes().len() as u64).sum();
    insert(store, second.id, more).await;
    expected += of_more;
    assert_eq!(bytes().await, expected);

    // An edit, an update by a value, and one that changes nothing.
    let version = load(store, first.id).await.version;
    let cells = vec![write(1, NAME, "7")];
    store.write_cells(writes(first.id, version, cells)).await.unwrap();
    assert!(bytes().await < expected - 900);
    let matched = NewRows {
        match_on: Some(NAME),
        ..batch(first.id, version, vec![row(9, &[(NAME, "7"), (MAIL, &long)])])
    };
    store.insert_rows(matched.clone()).await.unwrap();
    let stored = store.row(first.id, row_id(1)).await.unwrap().unwrap().values;
    let third = store.row(first.id, row_id(2)).await.unwrap().unwrap().values;
    expected = of_more + (stored.as_bytes().len() + third.as_bytes().len()) as u64;
    assert_eq!(bytes().await, expected);
    store.insert_rows(matched).await.unwrap();
    assert_eq!(bytes().await, expected);

    // What is deleted gives its bytes back, where rows are matched on a column and where none are.
    store.delete_rows(first.id, vec![row_id(1), row_id(1), row_id(77)]).await.unwrap();
    expected -= stored.as_bytes().len() as u64;
    assert_eq!(bytes().await, expected);
    let half = (10..30).map(row_id).collect();
    store.delete_rows(second.id, half).await.unwrap();
    expected -= of_more / 2;
    assert_eq!(bytes().await, expected);
    store.count_bytes(first.id).await.unwrap();
    assert_eq!(bytes().await, expected, "what is known is not counted again");
    assert!(store.delete_project(first.id).await.unwrap());
    assert_eq!(bytes().await, of_more / 2);
}

pub(super) async fn writes_are_held_to_their_bytes(store: &dyn Store) {
    let project = create(store, project(1, 1)).await.project;
    insert(store, project.id, vec![row(1, &[(NAME, "\"0123456789\"")])]).await;
    let version = load(store, project.id).await.version;
    let bytes = async || store.team_bytes(project.team).await.unwrap().bytes;
    let before = bytes().await;
    let edit = async |value: &str, max| {
        let cells = vec![write(1, NAME, value)];
        store.write_cells(WriteCells { new_bytes_max: Some(max), ..writes(project.id, version, cells) }).await
    };
    assert!(matches!(edit("\"0123456789abc\"", 2).await, Err(StoreError::BytesFull)));
    assert_eq!(bytes().await, before, "all or nothing");
    edit("\"0123456789abc\"", 3).await.unwrap();
    edit("\"shorter\"", 0).await.unwrap();
    edit("\"reshort\"", 0).await.unwrap();
    let before = bytes().await;
    let added = async |match_on, number, max| {
        let rows = vec![row(number, &[(NAME, "\"reshort\""), (MAIL, "\"0123456789\"")])];
        let rows = NewRows { match_on, new_bytes_max: Some(max), ..batch(project.id, version, rows) };
        store.insert_rows(rows).await
    };
    for match_on in [None, Some(NAME)] {
        assert!(matches!(added(match_on, 2, 11).await, Err(StoreError::BytesFull)), "{match_on:?}");
    }
    assert_eq!((bytes().await, load(store, project.id).await.row_count), (before, 1));
    added(Some(NAME), 2, 100).await.unwrap();
    added(None, 3, 100).await.unwrap();
    assert_eq!(load(store, project.id).await.row_count, 2);
}

//! Changes of rows that look at wide values which they do not write. Each fails if such a value is taken for empty.

use jiff::Timestamp;
use rowmill_model::cell::Meta;
use rowmill_model::column::{Dependency, ReferenceConfig};
use rowmill_model::guest::CarriedFields;
use rowmill_model::plan::Pick;
use rowmill_model::record::Slot;
use rowmill_model::{CellStatus, ColumnId, ColumnType, Deletion, EventType, Project, ProjectId, Webhook};
use serde_json::{Value, json};
use uuid::Uuid;

use super::guests::{following, guest};
use super::make::{
    ANSWER, MAIL, NAME, SECOND, batch, create, insert, load, processed, project, row, row_id, write, writes,
};
use super::recount::check_counts;
use super::trash::turn;
use super::webhooks::{save, told, webhook};
use crate::error::StoreError;
use crate::store::Store;
use crate::types::{CellWrite, GuestWrite, NewRows, RowAction};
use crate::work::{CellResult, Claim, Claimed, Lane, Rows, Settle, Settlement, Trigger, WorkerId};

const WORKER: WorkerId = WorkerId(Uuid::from_u128(1));
const DELETION: Deletion = Deletion { at_ms: 30, by: None };
/// The column that only some of the projects have: it follows the name.
const FOLLOWING: Slot = 5;

/// A text of so many letters.
fn text(letter: char, letters: usize) -> String {
    format!("\"{}\"", letter.to_string().repeat(letters))
}

fn wide(letter: char) -> String {
    text(letter, 70_001)
}

fn needs(column: &str, required: bool) -> Dependency {
    Dependency { column_id: ColumnId::new(column), required }
}

/// A [`processed`] project whose answer is made from the name and the mail, and the second from the answer and the name,
/// by way of a reference column.
fn two_inputs(number: u128) -> Project {
    let mut project = processed(number, 1);
    let table = &mut project.table;
    table.push_manual(ColumnId::new("col_following000"), "Following");
    for column in &mut table.columns {
        match column.slot {
            ANSWER => column.dependencies.push(needs("col_mail00000000", false)),
            SECOND => column.dependencies.push(needs("col_following000", false)),
            FOLLOWING => {
                column.kind = ColumnType::Reference;
                let (column_id, path) = ("col_name00000000".to_owned(), String::new());
                column.reference_config = Some(ReferenceConfig { column_id, path });
            }
            _ => {}
        }
    }
    project
}

async fn set(store: &dyn Store, id: ProjectId, cells: Vec<CellWrite>) {
    let version = load(store, id).await.version;
    store.write_cells(writes(id, version, cells)).await.unwrap();
}

async fn trigger(store: &dyn Store, project: ProjectId) -> u64 {
    let (pick, rows) = (Pick::default(), Rows::All);
    let trigger = Trigger { project, rows, pick, limit: None, dry_run: false, now_ms: 5 };
    store.trigger(trigger).await.unwrap()
}

fn claim_of(project: ProjectId, slot: Slot) -> Claim {
    let now = Timestamp::from_millisecond(10).unwrap();
    let asks = vec![(Lane { project, slot }, 10)];
    Claim { worker: WORKER, expires_at_ms: 1_000, now, asks, bytes_max: usize::MAX }
}

fn input(cell: &Claimed, slot: Slot) -> Option<String> {
    cell.values.cells().unwrap().get(slot).map(str::to_owned)
}

fn results(cells: &[Claimed], text: &str) -> Vec<Settlement> {
    let result = || CellResult::Value(text.into(), Meta::new());
    cells.iter().map(|cell| Settlement { ticket: cell.ticket, result: result() }).collect()
}

/// Runs the cells of a column that are ready; says how many.
async fn run(store: &dyn Store, id: ProjectId, slot: Slot, text: &str) -> usize {
    let cells = store.claim(claim_of(id, slot)).await.unwrap();
    assert!(cells.iter().all(|cell| cell.values.missed().is_none()));
    let taken = store.settle(WORKER, 11, results(&cells, text)).await.unwrap();
    assert!(taken.iter().all(|taken| *taken));
    cells.len()
}

async fn state(store: &dyn Store, id: ProjectId, slot: Slot) -> (CellStatus, bool) {
    let row = store.row(id, row_id(1)).await.unwrap().unwrap();
    row.states.get(slot).map(|state| (state.status, state.stale)).unwrap_or_default()
}

const FRESH: (CellStatus, bool) = (CellStatus::Completed, false);
const STALE: (CellStatus, bool) = (CellStatus::Completed, true);

/// A project with one row whose name is wide, and whose cells have run.
async fn ran(store: &dyn Store, result: &str) -> ProjectId {
    let id = create(store, two_inputs(1)).await.project.id;
    insert(store, id, vec![row(1, &[(NAME, &wide('a')), (MAIL, "1")])]).await;
    assert_eq!(trigger(store, id).await, 1);
    assert_eq!(run(store, id, ANSWER, result).await, 1);
    assert_eq!(run(store, id, SECOND, "2").await, 1);
    assert_eq!((state(store, id, ANSWER).await, state(store, id, SECOND).await), (FRESH, FRESH));
    id
}

pub(super) async fn a_wide_input_counts_when_another_is_written(store: &dyn Store) {
    let id = ran(store, &wide('r')).await;
    for (slot, value, answer, second) in [
        (MAIL, "2", STALE, FRESH),
        // The inputs are what they were again, of which one was not written.
        (MAIL, "1", FRESH, FRESH),
        (MAIL, &*wide('m'), STALE, FRESH),
        (NAME, &*wide('b'), STALE, STALE),
        (MAIL, "1", STALE, STALE),
        (NAME, &*wide('a'), FRESH, FRESH),
        // The same value again, and one that is written otherwise.
        (NAME, &*wide('a'), FRESH, FRESH),
        (MAIL, "1.0", FRESH, FRESH),
    ] {
        set(store, id, vec![write(1, slot, value)]).await;
        let states = (state(store, id, ANSWER).await, state(store, id, SECOND).await);
        assert_eq!(states, (answer, second), "slot {slot}, {} bytes", value.len());
    }
    check_counts(store, id).await;
}

pub(super) async fn a_wide_input_is_compared_with_what_a_result_was_made_from(store: &dyn Store) {
    let id = ran(store, &wide('r')).await;
    // The same answer once more: what was made from it is not stale.
    set(store, id, vec![write(1, MAIL, "2")]).await;
    assert_eq!(trigger(store, id).await, 1);
    assert_eq!(run(store, id, ANSWER, &wide('r')).await, 1);
    assert_eq!((state(store, id, ANSWER).await, state(store, id, SECOND).await), (FRESH, FRESH));
    // Another one: the run goes on.
    set(store, id, vec![write(1, MAIL, "3")]).await;
    assert_eq!(trigger(store, id).await, 1);
    assert_eq!(run(store, id, ANSWER, &wide('s')).await, 1);
    assert_eq!(state(store, id, SECOND).await.0, CellStatus::Queued);
    assert_eq!(run(store, id, SECOND, "2").await, 1);
    // By hand back to what it was made from before.
    set(store, id, vec![write(1, ANSWER, "\"mine\"")]).await;
    assert_eq!(state(store, id, SECOND).await, STALE);
    set(store, id, vec![write(1, ANSWER, &wide('s'))]).await;
    assert_eq!(state(store, id, SECOND).await, FRESH);
    check_counts(store, id).await;
}

pub(super) async fn a_worker_is_given_what_its_column_reads(store: &dyn Store) {
    let id = create(store, two_inputs(1)).await.project.id;
    let (name, mail, answer) = (wide('n'), wide('m'), wide('r'));
    insert(store, id, vec![row(1, &[(NAME, &name), (MAIL, &mail)]), row(2, &[(NAME, &name)])]).await;
    assert_eq!(trigger(store, id).await, 2);
    let cells = store.claim(claim_of(id, ANSWER)).await.unwrap();
    let inputs: Vec<_> = cells.iter().map(|cell| (input(cell, NAME), input(cell, MAIL))).collect();
    assert_eq!(inputs, [(Some(name.clone()), Some(mail.clone())), (Some(name.clone()), None)]);
    // In the transaction that settles one column the next is claimed, which reads others.
    let settle = Settle {
        worker: WORKER,
        now_ms: 11,
        results: results(&cells, &answer),
        next: Some(claim_of(id, SECOND)),
    };
    let settled = store.settle_and_claim(settle).await.unwrap();
    assert_eq!((settled.taken, settled.claimed.len()), (vec![true, true], 2));
    for cell in &settled.claimed {
        assert_eq!((input(cell, ANSWER), input(cell, NAME)), (Some(answer.clone()), Some(name.clone())));
        assert_eq!(cell.values.missed(), None);
    }
    let taken = store.settle(WORKER, 12, results(&settled.claimed, &wide('s'))).await.unwrap();
    assert_eq!(taken, [true, true]);
    let cells = store.row(id, row_id(1)).await.unwrap().unwrap().values;
    let expected = [(NAME, &*name), (MAIL, &*mail), (ANSWER, &*answer), (SECOND, &*wide('s'))];
    assert_eq!(cells, rowmill_model::Record::pack(expected));
    set(store, id, vec![write(1, MAIL, "1"), write(2, NAME, &wide('o'))]).await;
    assert_eq!((state(store, id, ANSWER).await, state(store, id, SECOND).await), (STALE, FRESH));
    check_counts(store, id).await;
}

/// A condition decides by a wide value, and a cell that was skipped is looked at again when that changes.
pub(super) async fn a_condition_looks_at_a_wide_value(store: &dyn Store) {
    let mut conditional = processed(1, 1);
    conditional.autoplay = true;
    let condition =
        json!([{ "columnId": "col_mail00000000", "operator": "contains", "value": "yes", "type": "filter" }]);
    for column in conditional.table.columns.iter_mut().filter(|column| column.slot == ANSWER) {
        column.run_condition = serde_json::from_value(condition.clone()).unwrap();
    }
    let id = create(store, conditional).await.project.id;
    let (yes, no) = (format!("\"yes{}\"", "y".repeat(70_000)), wide('n'));
    insert(store, id, vec![row(1, &[(NAME, "1"), (MAIL, &no)]), row(2, &[(NAME, "1"), (MAIL, &yes)])]).await;
    let cells = store.claim(claim_of(id, ANSWER)).await.unwrap();
    assert_eq!(cells.iter().map(|cell| cell.row).collect::<Vec<_>>(), [row_id(2)]);
    assert_eq!(state(store, id, ANSWER).await.0, CellStatus::Skipped);
    // The same value is no reason to look again; another one is.
    set(store, id, vec![write(1, MAIL, &no)]).await;
    assert_eq!(state(store, id, ANSWER).await.0, CellStatus::Skipped);
    set(store, id, vec![write(1, MAIL, &yes)]).await;
    assert_eq!(state(store, id, ANSWER).await.0, CellStatus::Queued);
    assert_eq!(run(store, id, ANSWER, "1").await, 1);
    check_counts(store, id).await;
}

pub(super) async fn a_row_that_comes_back_is_compared_and_matched_by_wide_values(store: &dyn Store) {
    let id = ran(store, &wide('r')).await;
    let version = load(store, id).await.version;
    let upsert = async |number: u128, name: &str, mail: &str| {
        let sent = vec![row(number, &[(NAME, name), (MAIL, mail)])];
        store.insert_rows(NewRows { match_on: Some(NAME), ..batch(id, version, sent) }).await
    };
    let action = |outcome: Result<crate::types::Inserted, StoreError>| outcome.unwrap().rows[0];
    assert_eq!(action(upsert(9, &wide('a'), "1").await), (row_id(1), RowAction::Unchanged));
    store.trash_rows(id, vec![row_id(1)], DELETION).await.unwrap();
    assert_eq!(action(upsert(10, &wide('a'), "1").await), (row_id(10), RowAction::Inserted));
    store.restore_rows(id, vec![row_id(1)], 31).await.unwrap();
    assert!(matches!(upsert(11, &wide('a'), "1").await, Err(StoreError::AmbiguousMatch(_))));
    assert_eq!((state(store, id, ANSWER).await, state(store, id, SECOND).await), (FRESH, FRESH));
    store.delete_rows(id, vec![row_id(10)]).await.unwrap();
    assert_eq!(action(upsert(12, &wide('a'), &wide('m')).await), (row_id(1), RowAction::Updated));
    assert_eq!(action(upsert(12, &wide('a'), &wide('m')).await), (row_id(1), RowAction::Unchanged));
    store.trash_rows(id, vec![row_id(1)], DELETION).await.unwrap();
    store.restore_rows(id, vec![row_id(1)], 32).await.unwrap();
    assert_eq!(state(store, id, ANSWER).await, STALE);
    assert_eq!(action(upsert(13, &wide('a'), "1").await), (row_id(1), RowAction::Updated));
    assert_eq!(state(store, id, ANSWER).await, FRESH);
    check_counts(store, id).await;
}

pub(super) async fn a_column_that_comes_back_is_compared_with_wide_values(store: &dyn Store) {
    let id = ran(store, &wide('r')).await;
    turn(store, id, SECOND, false).await;
    turn(store, id, SECOND, true).await;
    assert_eq!(state(store, id, SECOND).await, FRESH);
    turn(store, id, SECOND, false).await;
    set(store, id, vec![write(1, NAME, &wide('b'))]).await;
    turn(store, id, SECOND, true).await;
    assert_eq!(state(store, id, SECOND).await, STALE);
    check_counts(store, id).await;
}

/// What a guest's event carries is merged into what is stored of it.
pub(super) async fn a_guest_with_a_wide_payload_is_updated(store: &dyn Store) {
    const INPUT: Slot = 0;
    let id = create(store, following(1, 1, "evt", true)).await.project.id;
    let send = async |at_ms, cells: &[(Slot, &str)]| {
        let write = guest(id, 1, "g", at_ms, 1);
        let (carried, row) = (CarriedFields::default(), row(1, cells));
        let write = GuestWrite { row, carried, cell_bytes_max: 1_000_000, ..write };
        store.upsert_guests(vec![write]).await.unwrap().rows_updated
    };
    let (first, other) = (wide('a'), wide('b'));
    assert_eq!(send(1, &[(INPUT, &first), (NAME, &other)]).await, 0);
    assert_eq!(send(2, &[(INPUT, &first), (NAME, &other)]).await, 0, "it is the same");
    assert_eq!(send(3, &[(INPUT, &first), (MAIL, "1")]).await, 1);
    assert_eq!(send(4, &[(INPUT, &other)]).await, 1);
    let cells = store.row(id, row_id(1)).await.unwrap().unwrap().values;
    assert_eq!(cells, rowmill_model::Record::pack([(INPUT, &*other), (NAME, &*other), (MAIL, "1")]));
}

/// A webhook is told of a row with its wide values, whichever cell was written.
pub(super) async fn a_webhook_is_told_of_wide_values(store: &dyn Store) {
    let id = create(store, project(1, 1)).await.project.id;
    // It is stored apart, and there is room for it in a delivery.
    let name = text('n', 6_000);
    insert(store, id, vec![row(1, &[(NAME, &name), (MAIL, "1")])]).await;
    let of_mail = Webhook { column_ids: Some(vec![ColumnId::new("col_mail00000000")]), ..webhook(2) };
    let of_deletions = Webhook { events: vec![EventType::RowDeleted], ..webhook(3) };
    save(store, vec![webhook(1), of_mail, of_deletions], Vec::new()).await;
    let last = async |number: u128| {
        told(store, number).await.pop().map(|(event, _, data)| (event, data["rows"][0].clone()))
    };
    let name: Value = serde_json::from_str(&name).unwrap();
    let event = |word: &str, row: Value| Some((word.to_owned(), row));
    set(store, id, vec![write(1, MAIL, "2")]).await;
    let expected = json!({ "id": row_id(1), "cells": { "Name": name, "Mail": 2 }, "changed": ["Mail"] });
    assert_eq!(last(1).await, event("row.updated", expected.clone()));
    assert_eq!(last(2).await, event("row.updated", expected));
    let count = told(store, 1).await.len();
    set(store, id, vec![write(1, NAME, &name.to_string())]).await;
    assert_eq!(told(store, 1).await.len(), count, "it is the same value");
    store.trash_rows(id, vec![row_id(1)], DELETION).await.unwrap();
    assert_eq!(last(3).await, event("row.deleted", json!({ "id": row_id(1) })));
    store.restore_rows(id, vec![row_id(1)], 31).await.unwrap();
    let expected = json!({ "id": row_id(1), "cells": { "Name": name, "Mail": 2 } });
    assert_eq!(last(1).await, event("row.created", expected));
}

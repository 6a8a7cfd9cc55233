//! Whole cells of columns that fan out.

use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use rowmill_model::column::TaskConfig;
use rowmill_model::{CellError, ColumnType, ErrorCode};
use serde_json::{Value as Json, json};

use super::tests::{cell_of, code, provider_calls, value};
use crate::cell_runner::{CallOutcome, Cell, CellRunner as _};
use crate::row_writer::{RowCounts, RowRefusal, RowWriter, RowsToWrite};

/// Takes rows, until it has so many slices.
#[derive(Debug, Default)]
struct Slices {
    taken: Mutex<Vec<Vec<Json>>>,
    max: Option<usize>,
}

#[async_trait]
impl RowWriter for Slices {
    async fn write(&self, rows: RowsToWrite<'_>) -> Result<RowCounts, RowRefusal> {
        assert_eq!((rows.target, rows.match_on), ("target", "key"));
        let mut taken = self.taken.lock();
        if self.max == Some(taken.len()) {
            let error = CellError { code: ErrorCode::ProviderError, message: "Busy.".to_owned() };
            return Err(RowRefusal { error, is_transient: true });
        }
        taken.push(rows.rows.iter().map(|row| serde_json::from_str(row).unwrap()).collect());
        Ok(RowCounts { created: rows.rows.len() as u64, ..RowCounts::default() })
    }
}

fn cell(list: &Json, config: &Json) -> Cell {
    let mut settings = json!({"list": "@{_trigger}", "targetProjectId": "target", "matchOn": "key",
        "mapping": {"key": "$.id", "name": "$.name", "from": "@{a}"}});
    settings.as_object_mut().unwrap().extend(config.as_object().unwrap().clone());
    let task = json!({"taskType": "fanOut", "fanOut": settings});
    let task: TaskConfig = serde_json::from_value(task).unwrap();
    cell_of(&[(0, &list.to_string()), (1, "\"A\"")]).with(|column| {
        column.kind = ColumnType::Task;
        column.task_config = Some(task);
    })
}

async fn call(writer: &Arc<Slices>, cell: &Cell) -> CallOutcome {
    let calls = provider_calls(&[], &[]).with_row_writer(Arc::<Slices>::clone(writer));
    calls.call(cell).await
}

fn items(count: usize, name: &str) -> Json {
    (0..count).map(|id| json!({"id": id, "name": name})).collect()
}

#[tokio::test]
async fn rows_are_written_in_slices() {
    let check = async |list: Json, sizes: &[usize]| {
        let writer = Arc::default();
        let (summary, _) = value(call(&writer, &cell(&list, &json!({}))).await);
        assert_eq!(writer.taken.lock().iter().map(Vec::len).collect::<Vec<_>>(), sizes);
        let summary: Json = serde_json::from_str(&summary).unwrap();
        assert_eq!(summary["created"], sizes.iter().sum::<usize>());
        let first = writer.taken.lock()[0][0].clone();
        assert_eq!((&first["key"], &first["from"]), (&json!(0), &json!("A")));
    };
    check(items(1, "x"), &[1]).await;
    check(json!({"id": 0}), &[1]).await;
    check(items(600, "x"), &[250, 250, 100]).await;
    // A slice has about a mebibyte.
    check(items(25, &"x".repeat(100_000)), &[11, 11, 3]).await;
}

#[tokio::test]
async fn nothing_is_written_that_should_not_be() {
    let check = async |list: Json, config: Json, expected: Option<ErrorCode>| {
        let writer = Arc::default();
        let outcome = call(&writer, &cell(&list, &config)).await;
        match expected {
            None => assert!(matches!(outcome, CallOutcome::NoData(_)), "{outcome:?}"),
            Some(expected) => assert_eq!(code(&outcome), expected, "{outcome:?}"),
        }
        assert!(writer.taken.lock().is_empty());
    };
    check(json!([]), json!({}), None).await;
    check(Json::Null, json!({}), None).await;
    check(json!("text"), json!({}), Some(ErrorCode::InvalidInput)).await;
    check(json!(5), json!({}), Some(ErrorCode::InvalidInput)).await;
    check(items(3, "x"), json!({"limit": 2}), Some(ErrorCode::TooLarge)).await;
    check(items(1, "x"), json!({"matchOn": ""}), Some(ErrorCode::InvalidInput)).await;
    check(items(1, "x"), json!({"mapping": {}}), Some(ErrorCode::InvalidInput)).await;
    check(items(1, "x"), json!({"targetProjectId": ""}), Some(ErrorCode::InvalidInput)).await;
    let twice = json!({"mapping": {"key": "$.id", "a": "$", "b": "$.name", "c": "$"}});
    check(items(100, &"x".repeat(60_000)), twice, Some(ErrorCode::TooLarge)).await;
    // A trial shows what would be written.
    let writer = Arc::default();
    let trial = Cell { run: None, ..cell(&items(7, "x"), &json!({})) };
    let (shown, _) = value(call(&writer, &trial).await);
    let shown: Json = serde_json::from_str(&shown).unwrap();
    assert_eq!((&shown["items"], shown["rows"].as_array().map(Vec::len)), (&json!(7), Some(5)));
    assert!(writer.taken.lock().is_empty());
}

#[tokio::test]
async fn a_refused_slice_is_told_and_a_revoked_cell_ends() {
    let writer = Arc::new(Slices { max: Some(1), ..Slices::default() });
    let CallOutcome::Failed(failure) = call(&writer, &cell(&items(600, "x"), &json!({}))).await else {
        panic!("the second slice is refused")
    };
    assert!(failure.is_transient);
    assert_eq!(writer.taken.lock().len(), 1);
    let writer = Arc::default();
    let revoked = cell(&items(600, "x"), &json!({}));
    revoked.revoked.store(true, std::sync::atomic::Ordering::Relaxed);
    assert!(matches!(call(&writer, &revoked).await, CallOutcome::Later(..)));
    assert!(writer.taken.lock().is_empty());
}

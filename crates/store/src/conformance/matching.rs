//! Rows that are matched on a column nobody matched on before.

use futures_util::future::join;

use super::make::{MAIL, NAME, batch, create, insert, load, project, row, row_id, write, writes};
use crate::store::Store;
use crate::types::{NewRows, RowAction};

/// So many that a column is indexed in several parts.
const ROWS: u128 = 5_000;

pub(super) async fn a_column_is_indexed_while_others_write(store: &dyn Store) {
    let id = create(store, project(1, 1)).await.project.id;
    let mail = |number: u128| format!("\"{number}@example.com\"");
    let rows = (1..=ROWS).map(|number| row(number, &[(MAIL, &mail(number))])).collect();
    insert(store, id, rows).await;
    let version = load(store, id).await.version;
    let upsert = async |number: u128, of: u128| {
        let sent = vec![row(number, &[(MAIL, &mail(of)), (NAME, "1")])];
        let insert = NewRows { match_on: Some(MAIL), ..batch(id, version, sent) };
        store.insert_rows(insert).await.unwrap().rows[0]
    };
    // Rows near both ends change: some are indexed by then, others are not.
    let others = async {
        for number in 1..=20 {
            let late = ROWS + 1 - number;
            let cells = vec![write(number, MAIL, &mail(10_000 + number)), write(late, MAIL, "null")];
            store.write_cells(writes(id, version, cells)).await.unwrap();
            store.delete_rows(id, vec![row_id(100 + number), row_id(ROWS - 100 - number)]).await.unwrap();
            insert(store, id, vec![row(20_000 + number, &[(MAIL, &mail(20_000 + number))])]).await;
        }
    };
    let (matched, ()) = join(upsert(30_000, 2_500), others).await;
    assert_eq!(matched, (row_id(2_500), RowAction::Updated));
    for number in 1..=20 {
        for there in [number + 40, number + 10_000, number + 20_000] {
            let found = if (10_000..20_000).contains(&there) { number } else { there };
            assert_eq!(upsert(40_000 + there, there).await, (row_id(found), RowAction::Updated));
        }
        for gone in [number, ROWS + 1 - number, 100 + number, ROWS - 100 - number] {
            assert_eq!(upsert(50_000 + gone, gone).await, (row_id(50_000 + gone), RowAction::Inserted));
        }
    }
}

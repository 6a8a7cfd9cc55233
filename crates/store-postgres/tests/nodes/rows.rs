//! Rows that several nodes write and read.

use std::ops::ControlFlow;

use futures_util::future::join_all;
use rowmill_model::cell::Meta;
use rowmill_model::{RowId, TeamId};
use rowmill_store::{
    CellResult, CellWrite, Claim, Claimed, IdempotentRequest, Lane, NewRows, PageStart, RowRef, ScanDetail,
    Settlement, Spans, Store as _, StoreError, ValueBytesStore as _, WorkerId, WriteCells,
};
use rowmill_test_postgres::client;
use uuid::Uuid;

use super::setup::{ANSWER, OTHER, claim, on_a_database, open, project, rows, trigger};

#[test]
fn what_is_written_by_hand_beside_a_running_cell_is_kept() {
    on_a_database(async |address| {
        let (one, other) = (open(&address).await, open(&address).await);
        let project = project(&one, 1).await;
        one.insert_rows(rows(project, 0, 300)).await.unwrap();
        trigger(&one, project).await;
        let claimed = claim(&one, 7, project, 300).await;
        assert_eq!(claimed.len(), 300);
        // Neither node waits until the other has heard of it.
        for store in [&one, &other] {
            for number in [1_u128, 2, 299] {
                let cells = vec![CellWrite {
                    row: RowId::from_uuid(Uuid::from_u128(number)),
                    slot: OTHER,
                    value: format!("\"{number}\"").into(),
                }];
                let (project_save, returning) = (None, Vec::new());
                let batch = WriteCells {
                    project,
                    version: 1,
                    project_save,
                    cells,
                    expected: None,
                    new_bytes_max: None,
                    now_ms: 9,
                    returning,
                };
                store.write_cells(batch).await.unwrap();
            }
        }
        let settlement = |cell: &Claimed| Settlement {
            ticket: cell.ticket,
            result: CellResult::Value("\"ok\"".into(), Meta::new()),
        };
        let results = claimed.iter().map(settlement).collect();
        let taken = one.settle(WorkerId(Uuid::from_u128(7)), 10, results).await.unwrap();
        assert_eq!(taken, vec![true; 300]);
        let page = other.rows(project, PageStart::Offset(0), 300).await.unwrap();
        for row in page.rows {
            let by_hand = [1, 2, 299].contains(&row.position).then(|| format!("\"{}\"", row.position));
            let cells = row.values.cells().unwrap();
            assert_eq!((cells.get(ANSWER), cells.get(OTHER)), (Some("\"ok\""), by_hand.as_deref()));
        }
    });
}

#[test]
fn rows_are_found_among_deleted_ones_whichever_node_deletes_them() {
    on_a_database(async |address| {
        let (one, other) = (open(&address).await, open(&address).await);
        let project = project(&one, 1).await;
        one.insert_rows(rows(project, 0, 1_000)).await.unwrap();
        let mut left: Vec<u128> = (0..1_000).collect();
        for round in 0..4_u128 {
            let is_gone = |number: &u128| number % 7 == round || (300..700).contains(number) && round == 2;
            let (gone, rest): (Vec<u128>, Vec<u128>) = left.into_iter().partition(is_gone);
            left = rest;
            let gone = gone.into_iter().map(|number| RowId::from_uuid(Uuid::from_u128(number))).collect();
            other.delete_rows(project, gone).await.unwrap();
            if round == 3 {
                other.insert_rows(rows(project, 1_000, 50)).await.unwrap();
                left.extend(1_000..1_050);
            }
            // The first looks find out, the later ones know.
            for offset in [0, 1, 90, 255, 256, 400, left.len() - 1, left.len(), 2_000].repeat(2) {
                let start = PageStart::Offset(u64::try_from(offset).unwrap());
                let page = one.rows(project, start, 20).await.unwrap();
                let found: Vec<u128> = page.rows.iter().map(|row| row.id.uuid().as_u128()).collect();
                let expected: Vec<u128> = left.iter().skip(offset).take(20).copied().collect();
                assert_eq!((found, page.more), (expected, offset + 20 < left.len()), "{round} {offset}");
                assert_eq!(page.total, u64::try_from(left.len()).unwrap());
            }
        }
    });
}

#[test]
fn many_projects_changed_at_once_lead_to_no_deadlock() {
    on_a_database(async |address| {
        let nodes = join_all((0..3).map(|_| open(&address))).await;
        let ids = join_all((1..=6).map(|number| project(&nodes[0], number))).await;
        join_all(ids.iter().map(|id| nodes[0].insert_rows(rows(*id, 1, 50)))).await;
        for id in &ids {
            trigger(&nodes[0], *id).await;
        }
        let work = nodes.iter().zip(1..).map(async |(node, number)| {
            let worker = WorkerId(Uuid::from_u128(number));
            let mut done = 0;
            loop {
                let asks = ids.iter().map(|id| (Lane { project: *id, slot: ANSWER }, 4));
                let asks = if number == 2 { asks.rev().collect() } else { asks.collect() };
                let now = jiff::Timestamp::from_millisecond(10).unwrap();
                let claim = Claim { worker, expires_at_ms: 10_000, now, asks, bytes_max: usize::MAX };
                let cells = node.claim(claim).await.unwrap();
                if cells.is_empty() && node.lanes(10).await.unwrap().ready.is_empty() {
                    return done;
                }
                let results = cells.iter().rev().map(|cell| Settlement {
                    ticket: cell.ticket,
                    result: CellResult::Value("1".into(), Meta::new()),
                });
                let taken = node.settle(worker, 11, results.collect()).await.unwrap();
                done += taken.iter().filter(|taken| **taken).count();
            }
        });
        assert_eq!(join_all(work).await.iter().sum::<usize>(), 300);
    });
}

#[test]
fn a_request_sent_to_many_nodes_is_carried_out_once() {
    on_a_database(async |address| {
        let nodes = join_all((0..4).map(|_| open(&address))).await;
        let id = project(&nodes[0], 1).await;
        let once = IdempotentRequest { name: [1; 32], fingerprint: [2; 32], now_ms: 1, expires_at_ms: 1_000 };
        // Each would insert rows of its own.
        let sent = nodes.iter().zip(1..).map(|(node, number)| {
            node.insert_rows(NewRows { once: Some(once.clone()), ..rows(id, number * 100, 5) })
        });
        let answers = join_all(sent).await;
        let first = answers[0].as_ref().unwrap();
        assert!(answers.iter().all(|answer| answer.as_ref().unwrap() == first), "{answers:?}");
        assert_eq!(nodes[3].project(id).await.unwrap().unwrap().row_count, 5);
    });
}

#[test]
fn a_missing_row_is_damage_and_not_a_shorter_list() {
    on_a_database(async |address| {
        let node = open(&address).await;
        let project = project(&node, 1).await;
        node.insert_rows(rows(project, 0, 900)).await.unwrap();
        let id = |number: u128| RowId::from_uuid(Uuid::from_u128(number));
        node.delete_rows(project, (0..900).step_by(7).map(id).collect()).await.unwrap();
        let page =
            async |start, limit| node.rows_within(project, start, limit, usize::MAX.into()).await.map(|_| ());
        let scan = async |spans, rows_max: usize, look: ScanDetail| {
            let mut left = rows_max;
            let visit = Box::new(move |_: RowRef<'_>| {
                left -= 1;
                if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
            node.scan(project, spans, look.into(), visit).await.map(|_| ())
        };
        let read_all = async || {
            vec![
                page(PageStart::Offset(0), 1_000).await,
                page(PageStart::Offset(100), 200).await,
                page(PageStart::After(100), 1_000).await,
                page(PageStart::After(200), 100).await,
                scan(Spans::all(), usize::MAX, ScanDetail::Values).await,
                scan(Spans::run(210, 400), usize::MAX, ScanDetail::Whole).await,
                scan(Spans::after(Some(130)), 200, ScanDetail::Values).await,
                scan(Spans::after(Some(130)), 200, ScanDetail::Whole).await,
            ]
        };
        for (place, read) in read_all().await.into_iter().enumerate() {
            assert!(read.is_ok(), "{place}: {read:?}");
        }
        for start in [0, 5, 255, 256, 257, 300, 599, 899, 5_000] {
            page(PageStart::After(start), 3).await.unwrap();
            scan(Spans::run(start, start + 20), usize::MAX, ScanDetail::Values).await.unwrap();
        }
        let lose = "DELETE FROM rowmill.rows WHERE position = 253";
        assert_eq!(client(&address).await.execute(lose, &[]).await.unwrap(), 1);
        for (place, read) in read_all().await.into_iter().enumerate() {
            assert!(matches!(read, Err(StoreError::Damaged(_))), "{place}: {read:?}");
        }
    });
}

#[test]
fn the_bytes_of_a_project_of_an_earlier_version_are_counted_once() {
    on_a_database(async |address| {
        let (one, other) = (open(&address).await, open(&address).await);
        let project = project(&one, 1).await;
        one.insert_rows(rows(project, 0, 300)).await.unwrap();
        let team = TeamId(Uuid::from_u128(1));
        let right = one.team_bytes(team).await.unwrap();
        assert!(right.bytes > 300 && right.uncounted.is_empty());
        // As the migration leaves it, with writes since then.
        let forget = "UPDATE rowmill.counters SET value_bytes = -5, value_bytes_before = NULL";
        client(&address).await.execute(forget, &[]).await.unwrap();
        assert_eq!(other.team_bytes(team).await.unwrap().uncounted, [project]);
        for counted in join_all([one.count_bytes(project), other.count_bytes(project)]).await {
            counted.unwrap();
        }
        assert_eq!(other.team_bytes(team).await.unwrap(), right);
    });
}

//! Cells that several nodes run, and what they tell each other.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::join_all;
use rowmill_clock::{Clock as _, SystemClock};
use rowmill_model::Spacing;
use rowmill_model::cell::Meta;
use rowmill_store::shared_rates::RateRequest;
use rowmill_store::{CellResult, Rows, Settlement, Stop, Store as _, StoreError, Ticket, WorkerId};
use uuid::Uuid;

use super::setup::{ANSWER, claim, heard_by, on_a_database, open, project, rows, trigger, until};

#[test]
fn a_stop_on_one_node_is_heard_on_another() {
    on_a_database(async |address| {
        let (one, other) = (open(&address).await, open(&address).await);
        let (here, there) = (heard_by(&one), heard_by(&other));
        let id = project(&one, 1).await;
        one.insert_rows(rows(id, 1, 3)).await.unwrap();
        assert_eq!(other.project(id).await.unwrap().unwrap().row_count, 3);
        assert_eq!(trigger(&one, id).await, 3);
        until("the other node hears that cells are ready", || {
            there.lock().unwrap().iter().any(|change| change.ready)
        })
        .await;
        let cells = claim(&other, 1, id, 2).await;
        let stop = Stop { project: id, rows: Rows::All, slots: None, now_ms: 6 };
        assert_eq!(one.stop(stop).await.unwrap().cells, 3);
        let revoked = || -> BTreeSet<Ticket> {
            there.lock().unwrap().iter().flat_map(|change| change.revoked.clone()).collect()
        };
        let tickets: BTreeSet<Ticket> = cells.iter().map(|cell| cell.ticket).collect();
        until("the other node hears what it lost", || revoked() == tickets).await;
        // Each hears its own changes once, and every sequence in order.
        tokio::time::sleep(Duration::from_millis(200)).await;
        for heard in [here, there] {
            let heard = heard.lock().unwrap();
            assert!(heard.is_sorted_by_key(|change| change.seq), "{heard:?}");
        }
    });
}

#[test]
fn no_cell_is_run_twice_by_many_nodes() {
    on_a_database(async |address| {
        let nodes = join_all((0..4).map(|_| open(&address))).await;
        let id = project(&nodes[0], 1).await;
        nodes[0].insert_rows(rows(id, 1, 1_000)).await.unwrap();
        assert_eq!(trigger(&nodes[1], id).await, 1_000);
        let work = nodes.iter().zip(1..).map(async |(node, worker)| {
            let mut done = Vec::new();
            loop {
                let cells = claim(node, worker, id, 37).await;
                if cells.is_empty() {
                    return done;
                }
                let results = cells.iter().map(|cell| Settlement {
                    ticket: cell.ticket,
                    result: CellResult::Value("1".into(), Meta::new()),
                });
                let worker = WorkerId(Uuid::from_u128(worker));
                let taken = node.settle(worker, 11, results.collect()).await.unwrap();
                assert!(taken.iter().all(|taken| *taken));
                done.extend(cells.iter().map(|cell| cell.ticket.position));
            }
        });
        let done: Vec<u64> = join_all(work).await.concat();
        assert_eq!((done.len(), done.iter().collect::<BTreeSet<_>>().len()), (1_000, 1_000));
        let standing = nodes[2].processing_status(id).await.unwrap().unwrap();
        assert_eq!(standing.tally.column(ANSWER, 1_000).completed, 1_000);
    });
}

#[test]
fn nodes_take_turns() {
    on_a_database(async |address| {
        let nodes = join_all((0..4).map(|_| open(&address))).await;
        let shared_rates: Vec<_> = nodes.iter().map(|node| node.shared_rates().unwrap()).collect();
        let ask = |key: u128, wanted, rest| RateRequest {
            key: Uuid::from_u128(key),
            spacings: vec![Spacing::of_bucket(1, 40)],
            done: 0,
            unused: 0,
            wanted,
            pause: Duration::from_secs(rest),
        };
        let started = SystemClock.monotonic();
        // All at once, each in an order of its own.
        let work = (0..20_u128)
            .flat_map(|round| shared_rates.iter().map(move |shared_rates| (round, shared_rates)))
            .map(async |(round, shared_rates)| {
                let mut asks = vec![ask(1, 2, 0), ask(2, 1, 0)];
                asks.rotate_left(usize::from(round % 2 == 0));
                let answers = shared_rates.take(asks).await.unwrap();
                answers.iter().map(|answer| answer.granted).sum::<u32>()
            });
        let granted: u32 = join_all(work).await.iter().sum();
        let gained = u32::try_from(started.elapsed().as_secs()).unwrap() + 1;
        assert!((80..=80 + 2 * gained).contains(&granted), "{granted}");
        shared_rates[0].take(vec![ask(3, 0, 60)]).await.unwrap();
        let answer = shared_rates[1].take(vec![ask(3, 1, 0)]).await.unwrap().remove(0);
        assert_eq!(answer.granted, 0);
        assert!(answer.paused_for > Duration::from_secs(30), "{answer:?}");
    });
}

#[test]
fn what_is_left_to_tell_is_told_before_the_end() {
    on_a_database(async |address| {
        let (one, other) = (open(&address).await, open(&address).await);
        let id = project(&one, 1).await;
        one.insert_rows(rows(id, 1, 3)).await.unwrap();
        trigger(&one, id).await;
        claim(&one, 1, id, 3).await;
        let heard = heard_by(&other);
        assert_eq!(one.leave(WorkerId(Uuid::from_u128(1))).await.unwrap(), 3);
        one.close().await.unwrap();
        assert!(matches!(one.ping().await, Err(StoreError::Closed)));
        // Sooner than by looking: its cells wait for another worker.
        let started = SystemClock.monotonic();
        until("the other node hears of cells that are ready", || {
            heard.lock().unwrap().iter().any(|change| change.ready && change.seq == 4)
        })
        .await;
        assert!(started.elapsed() < Duration::from_secs(10));
        assert_eq!(claim(&other, 2, id, 9).await.len(), 3);
    });
}

#[test]
fn a_stop_is_answered_once_other_nodes_have_heard_of_it() {
    on_a_database(async |address| {
        let (one, other) = (open(&address).await, open(&address).await);
        let heard: Arc<Mutex<usize>> = Arc::default();
        let listening = Arc::clone(&heard);
        other.listen(Box::new(move |change| {
            if !change.revoked.is_empty() {
                // A node that is slow to hear.
                std::thread::sleep(Duration::from_millis(200));
                *listening.lock().unwrap() += change.revoked.len();
            }
        }));
        let id = project(&one, 1).await;
        one.insert_rows(rows(id, 1, 300)).await.unwrap();
        let there = heard_by(&other);
        for round in 1..=3 {
            let seen = there.lock().unwrap().len();
            trigger(&one, id).await;
            until("the other node hears of work", || there.lock().unwrap().len() > seen).await;
            assert_eq!(claim(&other, 1, id, 250).await.len(), 250);
            let stop = Stop { project: id, rows: Rows::All, slots: None, now_ms: 6 };
            assert_eq!(one.stop(stop).await.unwrap().cells, 300);
            assert_eq!(*heard.lock().unwrap(), 250 * round, "before the stop is answered");
        }
    });
}

#[test]
fn a_stop_does_not_wait_for_ever_for_a_node_that_is_gone() {
    on_a_database(async |address| {
        let (one, other) = (open(&address).await, open(&address).await);
        let id = project(&one, 1).await;
        one.insert_rows(rows(id, 1, 3)).await.unwrap();
        trigger(&one, id).await;
        assert_eq!(claim(&other, 1, id, 3).await.len(), 3);
        drop(other);
        let started = SystemClock.monotonic();
        let stop = Stop { project: id, rows: Rows::All, slots: None, now_ms: 6 };
        assert_eq!(one.stop(stop).await.unwrap().cells, 3);
        assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
    });
}

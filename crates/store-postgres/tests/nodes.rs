//! Several nodes on one database.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use futures_util::future::join_all;
use rowmill_clock::{Clock, SystemClock};
use rowmill_model::cell::Meta;
use rowmill_model::column::Dependency;
use rowmill_model::plan::Pick;
use rowmill_model::project::ProjectSettings;
use rowmill_model::record::Slot;
use rowmill_model::{ColumnId, ColumnType, Project, ProjectId, Record, RowId, Spacing, Spent, Table, TeamId};
use rowmill_store::carry::Carry as _;
use rowmill_store::shared_rates::RateRequest;
use rowmill_store::{
    CellResult, CellWrite, Change, Claim, Claimed, IdempotentRequest, KeptInput, Lane, NewRow, NewRows,
    PageStart, ProjectSave, Rows, Settlement, Stop, Store, StoreError, Ticket, Trigger, WorkerId, WriteCells,
};
use rowmill_store_postgres::{Carrier, Options, PostgresStore};
use uuid::Uuid;

use rowmill_test_postgres::{client, server};

/// The column that is processed, and the one it needs.
const ANSWER: Slot = 2;
const NAME: Slot = 1;
/// One that nobody processes.
const OTHER: Slot = 3;

async fn open(address: &str) -> PostgresStore {
    PostgresStore::connect(address, Options::default()).await.unwrap()
}

/// Runs a test on a database of its own, if there is a server.
fn on_a_database<F: Future<Output = ()>>(test: impl FnOnce(String) -> F) {
    let Some(server) = server() else { return };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async { test(server.database().await).await });
}

async fn project(store: &dyn Store, number: u128) -> ProjectId {
    let mut table = Table::new();
    table.push_manual(ColumnId::new("col_name00000000"), "Name");
    table.push_manual(ColumnId::new("col_answer000000"), "Answer");
    let column = table.columns.last_mut().unwrap();
    column.kind = ColumnType::Ai;
    column.dependencies = vec![Dependency { column_id: ColumnId::new("col_name00000000"), required: true }];
    assert_eq!(column.slot, ANSWER);
    table.push_manual(ColumnId::new("col_other0000000"), "Other");
    let project = Project {
        id: ProjectId::from_uuid(Uuid::from_u128(number)),
        team: TeamId(Uuid::from_u128(1)),
        title: "Nodes".to_owned(),
        autoplay: false,
        folder_id: None,
        metadata: serde_json::Map::new(),
        settings: ProjectSettings::default(),
        table,
        created_at_ms: 1,
        updated_at_ms: 1,
    };
    let save = ProjectSave {
        project,
        views: Vec::new(),
        version: None,
        row_count: None,
        subject: None,
        fixes: Vec::new(),
        once: None,
    };
    store.save_project(save).await.unwrap().project.id
}

fn rows(project: ProjectId, first: u128, count: u128) -> NewRows {
    let row = |number: u128| NewRow {
        id: RowId::from_uuid(Uuid::from_u128(number)),
        values: Record::pack([(NAME, number.to_string().as_str())]),
        cleared: Vec::new(),
        leftover_bytes_max: None,
    };
    NewRows {
        project,
        version: 1,
        rows: (first..first + count).map(row).collect(),
        match_on: None,
        project_save: None,
        ignored_keys: Vec::new(),
        kept_input: KeptInput::default(),
        new_rows_max: None,
        now_ms: 1,
        once: None,
    }
}

async fn trigger(store: &dyn Store, project: ProjectId) -> u64 {
    let trigger =
        Trigger { project, rows: Rows::All, pick: Pick::default(), limit: None, dry_run: false, now_ms: 5 };
    store.trigger(trigger).await.unwrap()
}

async fn claim(store: &dyn Store, worker: u128, project: ProjectId, most: u32) -> Vec<Claimed> {
    let now = jiff::Timestamp::from_millisecond(10).unwrap();
    let asks = vec![(Lane { project, slot: ANSWER }, most)];
    let worker = WorkerId(Uuid::from_u128(worker));
    store.claim(Claim { worker, expires_at_ms: 10_000, now, asks, bytes_max: usize::MAX }).await.unwrap()
}

fn heard_by(store: &PostgresStore) -> Arc<Mutex<Vec<Change>>> {
    let heard: Arc<Mutex<Vec<Change>>> = Arc::default();
    let listening = Arc::clone(&heard);
    store.listen(Box::new(move |change| listening.lock().unwrap().push(change.clone())));
    heard
}

async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let started = SystemClock.monotonic();
    while !is_so() {
        assert!(started.elapsed() < Duration::from_secs(20), "{what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[test]
fn nodes_that_start_at_once_migrate_once() {
    on_a_database(async |address| {
        let stores = join_all((0..8).map(|_| open(&address))).await;
        for store in &stores {
            store.ping().await.unwrap();
        }
        let sql = "SELECT count(*) FROM rowmill.migrations";
        let migrations: i64 = client(&address).await.query_one(sql, &[]).await.unwrap().get(0);
        assert_eq!(migrations, 4);
    });
}

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
                let batch = WriteCells {
                    project,
                    version: 1,
                    project_save: None,
                    cells,
                    expected: None,
                    now_ms: 9,
                    returning: Vec::new(),
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
fn a_newer_or_altered_database_is_refused() {
    on_a_database(async |address| {
        drop(open(&address).await);
        let beside = client(&address).await;
        let refused = async || PostgresStore::connect(&address, Options::default()).await.unwrap_err();
        beside.batch_execute("INSERT INTO rowmill.migrations VALUES (5, 'later', '')").await.unwrap();
        assert!(matches!(refused().await, StoreError::Newer { found: 5, known: 4 }));
        let alter =
            "DELETE FROM rowmill.migrations WHERE version = 5; UPDATE rowmill.migrations SET sql = ''";
        beside.batch_execute(alter).await.unwrap();
        assert!(matches!(refused().await, StoreError::Damaged(_)));
    });
}

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
fn connections_that_are_lost_are_made_anew() {
    on_a_database(async |address| {
        let store = open(&address).await;
        let id = project(&store, 1).await;
        let beside = client(&address).await;
        for round in 0..5 {
            let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                       WHERE application_name = 'rowmill' AND datname = current_database()";
            beside.query(cut, &[]).await.unwrap();
            store.insert_rows(rows(id, 1 + round * 10, 10)).await.unwrap();
        }
        assert_eq!(store.project(id).await.unwrap().unwrap().row_count, 50);
        let heard = heard_by(&store);
        let other = open(&address).await;
        other.insert_rows(rows(id, 1_000, 1)).await.unwrap();
        until("it listens again", || heard.lock().unwrap().iter().any(|change| change.seq == 6)).await;
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
fn a_database_is_moved_only_while_no_node_uses_it() {
    on_a_database(|address| async move {
        assert!(matches!(Carrier::source(&address).await, Err(StoreError::Missing(_))));
        let store = open(&address).await;
        let id = project(&store, 1).await;
        let words = Carrier::source(&address).await.unwrap_err().to_string();
        assert!(words.contains("127.0.0.1") && words.contains("stop all nodes"), "{words}");
        store.close().await.unwrap();
        drop(store);
        let source = Carrier::source(&address).await.unwrap();
        let impatient = Options { statement_timeout: Duration::from_millis(300), ..Options::default() };
        let late = PostgresStore::connect(&address, impatient).await.unwrap();
        late.delete_project(id, None).await.unwrap_err();
        assert_eq!(source.projects().await.unwrap(), [id]);
        drop(source);
        assert!(late.delete_project(id, None).await.unwrap(), "it is free again");
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

/// A clock that is minutes off.
#[derive(Debug)]
struct WrongClock {
    ahead_ms: i64,
}

#[async_trait]
impl Clock for WrongClock {
    fn now(&self) -> jiff::Timestamp {
        SystemClock.now() + jiff::SignedDuration::from_millis(self.ahead_ms)
    }

    fn monotonic(&self) -> Instant {
        SystemClock.monotonic()
    }

    async fn sleep(&self, duration: Duration) {
        SystemClock.sleep(duration).await;
    }
}

/// A node on a machine whose clock is wrong, and that clock.
struct Wrong(PostgresStore, Arc<WrongClock>);

impl Wrong {
    async fn open(address: &str, ahead_ms: i64) -> Self {
        let clock = Arc::new(WrongClock { ahead_ms });
        let options = Options { clock: Arc::clone(&clock) as Arc<dyn Clock>, ..Options::default() };
        Self(PostgresStore::connect(address, options).await.unwrap(), clock)
    }

    fn now_ms(&self) -> i64 {
        self.1.now_ms() + self.0.clock_ahead_ms()
    }

    async fn claim(&self, worker: u128, project: ProjectId, lease_ms: i64) -> Vec<Claimed> {
        let (expires_at_ms, now_ms) = (self.now_ms() + lease_ms, self.now_ms());
        let now = jiff::Timestamp::from_millisecond(now_ms).unwrap();
        let (worker, asks) = (WorkerId(Uuid::from_u128(worker)), vec![(Lane { project, slot: ANSWER }, 1)]);
        let claim = Claim { worker, expires_at_ms, now, asks, bytes_max: usize::MAX };
        self.0.claim(claim).await.unwrap()
    }
}

const MINUTES_5_MS: i64 = 5 * 60 * 1_000;

#[test]
fn clocks_that_disagree_by_minutes_do_no_harm() {
    on_a_database(async |address| {
        let fast = Wrong::open(&address, MINUTES_5_MS).await;
        let slow = Wrong::open(&address, -MINUTES_5_MS).await;
        for node in [&fast, &slow] {
            assert!((node.now_ms() - SystemClock.now_ms()).abs() < 5_000, "{}", node.0.clock_ahead_ms());
        }
        let id = project(&fast.0, 1).await;
        fast.0.insert_rows(rows(id, 1, 1)).await.unwrap();
        trigger(&fast.0, id).await;

        // A lease that holds on one node holds on the other, and one that ran out has.
        assert_eq!(slow.claim(1, id, 30_000).await.len(), 1);
        assert_eq!(fast.0.requeue_lost(fast.now_ms()).await.unwrap(), 0);
        slow.0.leave(WorkerId(Uuid::from_u128(1))).await.unwrap();
        assert_eq!(fast.claim(2, id, 1).await.len(), 1);
        tokio::time::sleep(Duration::from_millis(200)).await;
        assert_eq!(slow.0.requeue_lost(slow.now_ms()).await.unwrap(), 1);

        // What one puts off for a moment, the other takes up after a moment.
        let cells = fast.claim(3, id, 30_000).await;
        let error =
            rowmill_model::CellError { code: rowmill_model::ErrorCode::TimedOut, message: String::new() };
        let result = CellResult::Retry { at_ms: fast.now_ms() + 500, error, spent: Spent::NOTHING };
        let settlement = Settlement { ticket: cells[0].ticket, result };
        let worker = WorkerId(Uuid::from_u128(3));
        assert_eq!(fast.0.settle(worker, fast.now_ms(), vec![settlement]).await.unwrap(), [true]);
        let due = slow.0.lanes(slow.now_ms()).await.unwrap().next_due_ms.unwrap() - slow.now_ms();
        assert!((-5_000..=1_000).contains(&due), "{due}");
        let started = SystemClock.monotonic();
        while slow.claim(4, id, 30_000).await.is_empty() {
            assert!(started.elapsed() < Duration::from_secs(20), "the retry is never due");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }

        // A request that is kept for a minute is known for that minute everywhere.
        let once = |node: &Wrong| IdempotentRequest {
            name: [1; 32],
            fingerprint: [2; 32],
            now_ms: node.now_ms(),
            expires_at_ms: node.now_ms() + 60_000,
        };
        let insert = |node: &Wrong, first| NewRows { once: Some(once(node)), ..rows(id, first, 1) };
        let first = slow.0.insert_rows(insert(&slow, 100)).await.unwrap();
        assert_eq!(fast.0.insert_rows(insert(&fast, 200)).await.unwrap(), first);
        assert!(slow.0.recall(once(&slow)).await.unwrap().is_some());
    });
}

#[test]
fn what_is_half_moved_is_used_by_no_node() {
    on_a_database(|address| async move {
        let target = Carrier::target(&address).await.unwrap();
        target.begin("half".to_owned()).await.unwrap();
        let refused = PostgresStore::connect(&address, Options::default()).await.unwrap_err();
        assert!(matches!(refused, StoreError::Unfinished), "{refused}");
        drop(target);
        assert!(matches!(Carrier::source(&address).await, Err(StoreError::Unfinished)));
        let target = Carrier::target(&address).await.unwrap();
        assert_eq!(target.checkpoint().await.unwrap().as_deref(), Some("half"));
        // A connection that is lost is told, and what was noted stays.
        let server = client(&address).await;
        let sql = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                   WHERE datname = current_database() AND application_name = 'rowmill-move'";
        server.query(sql, &[]).await.unwrap();
        assert!(matches!(target.checkpoint().await, Err(StoreError::Unavailable(_))));
        let target = Carrier::target(&address).await.unwrap();
        target.finish().await.unwrap();
        open(&address).await.close().await.unwrap();
    });
}

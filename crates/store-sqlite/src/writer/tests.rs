//! Turns, preemption and group commits.

use std::sync::mpsc;

use super::*;

#[tokio::test]
async fn a_write_waits_for_the_one_under_way_and_not_for_all_that_a_neighbour_queued() {
    let connection = Connection::open_in_memory().unwrap();
    let writer = Arc::new(Writer::start(connection, Arc::default(), None).unwrap());
    let order = Arc::new(Mutex::new(Vec::new()));
    let (let_go, held) = mpsc::channel::<()>();
    let mut held = Some(held);
    let mut queue = |team: u128, name: &'static str| {
        let (writer, order, mut held) = (Arc::clone(&writer), Arc::clone(&order), held.take());
        let work = move |_: &Connection| {
            // The first holds up all others until they have queued.
            held.take().map_or(Ok(()), |held| held.recv()).unwrap();
            order.lock().push(name);
            Ok(())
        };
        tokio::spawn(
            Tenant::team(team).scope(async move { writer.send(Weight::Bulk, work, |done| done).await }),
        )
    };
    let queued = [
        queue(1, "first"),
        queue(1, "second"),
        queue(1, "third"),
        queue(2, "quiet"),
        queue(1, "fourth"),
        queue(2, "quiet again"),
    ];
    // One thread runs them all: once it is this one's turn again, all have queued.
    tokio::task::yield_now().await;
    std::thread::sleep(Duration::from_millis(50));
    let_go.send(()).unwrap();
    for write in queued {
        write.await.unwrap().unwrap();
    }
    assert_eq!(*order.lock(), ["first", "quiet", "quiet again", "second", "third", "fourth"]);
    writer.close();
    let late = writer.write(|_| Ok(())).await;
    assert!(matches!(late, Err(StoreError::Closed)), "{late:?}");
}

/// A bulk write that adds rows, and a light write of another team that comes meanwhile. Returns what was done, in order, and
/// how many rows there are then.
async fn bulk_beside_light(lost_max: Duration) -> (Vec<&'static str>, usize) {
    let connection = Connection::open_in_memory().unwrap();
    connection.execute_batch("CREATE TABLE t (name TEXT)").unwrap();
    let queue = WriteQueue::new(lost_max);
    let writer = Arc::new(Writer::start_with(connection, Arc::default(), None, queue).unwrap());
    let done = Arc::new(Mutex::new(Vec::new()));
    let (tell, begun) = mpsc::channel();
    let add = |connection: &Connection, name: &str, rows: usize| {
        let mut insert = connection.prepare("INSERT INTO t VALUES (?1)").unwrap();
        (0..rows).try_for_each(|_| insert.execute([name]).map(|_| ()).map_err(backend))
    };
    let noted = Arc::clone(&done);
    let bulk = move |connection: &Connection| {
        noted.lock().push("bulk");
        let _ = tell.send(());
        // The first time it would take very long, were it not interrupted.
        let rows = if noted.lock().len() == 1 && lost_max > Duration::ZERO { 3_000_000 } else { 200_000 };
        add(connection, "bulk", rows).map(|()| ((), Vec::new()))
    };
    let write = Arc::clone(&writer);
    let bulk = Tenant::team(1).scope(async move { write.change(Weight::Bulk, bulk).await });
    let bulk = tokio::spawn(bulk);
    tokio::task::spawn_blocking(move || begun.recv().unwrap()).await.unwrap();
    let noted = Arc::clone(&done);
    let light = writer.write(move |connection| {
        noted.lock().push("light");
        add(connection, "light", 1)
    });
    Tenant::team(2).scope(light).await.unwrap();
    bulk.await.unwrap().unwrap();
    let count = |connection: &Connection| {
        connection.query_one("SELECT count(*) FROM t", (), |row| row.get(0)).map_err(backend)
    };
    let rows = writer.write(count).await.unwrap();
    let done = done.lock().clone();
    (done, rows)
}

#[tokio::test]
async fn a_light_write_of_another_team_preempts_a_bulk_write_which_is_done_again() {
    let (done, rows) = bulk_beside_light(Duration::from_mins(1)).await;
    assert_eq!((done, rows), (vec!["bulk", "light", "bulk"], 200_001));
}

#[tokio::test]
async fn a_bulk_write_that_has_lost_enough_is_not_preempted() {
    let (done, rows) = bulk_beside_light(Duration::ZERO).await;
    assert_eq!((done, rows), (vec!["bulk", "light"], 200_001));
}

struct Nothing;

impl Write for Nothing {
    fn run(&mut self, _: &Connection, _: Undo) {}

    fn fault(&self) -> Option<StoreError> {
        None
    }

    fn reply(self: Box<Self>, _: Result<(), &StoreError>) {}
}

#[test]
fn a_bulk_write_does_not_join_anothers_transaction() {
    let places = FairSemaphore::new(1, 1);
    let tenant = Tenant::team(1);
    for (weight, of, may_join) in [
        (Weight::Bulk, 1, true),
        (Weight::Light, 1, true),
        (Weight::Light, 2, true),
        (Weight::Bulk, 2, false),
    ] {
        let queue = WriteQueue::default();
        let place = places.try_acquire(tenant).unwrap();
        let job = Job { write: Box::new(Nothing), weight, place, lost: Duration::ZERO };
        queue.push(Tenant::team(of), job).unwrap();
        let batch = Batch { took: vec![(tenant, Duration::from_millis(1))], ..Batch::default() };
        assert_eq!(batch.next(&queue).is_some(), may_join, "{weight:?} of {of}");
    }
}

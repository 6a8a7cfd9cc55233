//! A database that goes away and comes back: the service does, too, by itself, and keeps its word.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;

use super::nodes::{Service, WriteLog, asking_table, insist, provider, verify, write};
use super::processing::{asks, ended};
use crate::harness::database::waiting;
use crate::harness::exposition::Exposition;
use crate::harness::runner::scenarios;
use crate::harness::server::{DataDir, UNLIMITED};
use crate::harness::stub_server::Reply;
use crate::harness::{Request, Scenario, Server, StubServer, eventually};

pub(crate) const NODES: &[Scenario] = &scenarios!("failover", Nodes:
    a_standby_takes_over_and_nothing_acknowledged_is_lost,
    a_database_that_says_nothing_is_given_up_on,
    an_outage_longer_than_the_lease_makes_no_call_twice,
);

/// Longer than any request may take while the database is away, on a busy machine.
const REQUEST_TIME_MAX: Duration = Duration::from_secs(15);
const LOAD: Duration = Duration::from_secs(2);
/// The same for those who only ask whether the service is ready: 2 seconds, and less than others in any case.
const READY_TIME_MAX: Duration = Duration::from_secs(5);

fn a_standby_takes_over_and_nothing_acknowledged_is_lost() {
    let Some((primary, standby)) = rowmill_test_postgres::pair() else { return };
    let database = waiting(primary.database());
    let both = format!("{},{}", primary.host(), standby.host());
    let address = database.replacen(&primary.host(), &both, 1) + "?target_session_attrs=read-write";
    let stub_server = provider();
    let service = Service::start_in(DataDir::at(address), &[]);
    let (table, answer) = asking_table(&service.api(), &stub_server);
    let enough = AtomicBool::new(false);
    let write_logs: Vec<WriteLog> = std::thread::scope(|scope| {
        let (table, enough) = (&table, &enough);
        let clients: Vec<_> =
            (0..4).map(|client| scope.spawn(move || write(table, client, enough))).collect();
        std::thread::sleep(LOAD);

        primary.kill();
        // Told at once, and not after a long wait; the process itself is well.
        let request = table.api.with_key(Request::get(table.path("/rows")));
        let away = eventually("requests are put off", REQUEST_TIME_MAX, || {
            let answer = table.api.send(request.clone());
            (answer.status() == 503).then_some(answer)
        });
        assert_eq!(away.header("retry-after"), Some("1"), "{}", away.text);
        away.refused(503, "unavailable");
        let node = service.nodes[0].api();
        assert_eq!(node.get("/readyz").status(), 503);
        assert_eq!(node.get("/healthz").status(), 200);
        std::thread::sleep(LOAD / 2);
        let promoted = Instant::now();
        standby.promote();
        insist(&mut WriteLog::default(), &table.api, &request).ok();
        println!("a read was answered {:?} after the promotion began", promoted.elapsed());
        std::thread::sleep(LOAD);

        // The same again, with the one server that is left.
        standby.restart();
        let restarted = Instant::now();
        insist(&mut WriteLog::default(), &table.api, &request).ok();
        println!("a read was answered {:?} after the restart", restarted.elapsed());
        std::thread::sleep(LOAD);
        enough.store(true, Ordering::Release);
        clients.into_iter().map(|client| client.join().unwrap()).collect()
    });
    ended(&table);
    let rows = verify(&table, &answer, &write_logs);
    let longest = write_logs.iter().map(|write_log| write_log.longest).max().unwrap();
    let put_off: usize = write_logs.iter().map(|write_log| write_log.put_off).sum();
    assert!(longest < REQUEST_TIME_MAX, "a request took {longest:?}");
    assert_eq!(
        write_logs.iter().map(|write_log| write_log.dropped).sum::<usize>(),
        0,
        "every request was answered"
    );
    println!("{rows} rows, none lost; {put_off} requests put off, none took longer than {longest:?}");
}

fn a_database_that_says_nothing_is_given_up_on() {
    let Some(database) = rowmill_test_postgres::own() else { return };
    let short = [("ROWMILL_DATABASE_TIMEOUT_SECONDS", "1"), ("ROWMILL_NO_WORKERS", "true")];
    let settings: Vec<_> = UNLIMITED.iter().chain(&short).copied().collect();
    let server = Server::start_in(DataDir::at(waiting(database.database())), &settings);
    let table = server.api().table(&["Name"]);
    table.insert(json!({ "Name": "Ada" }));
    database.freeze();
    let start = Instant::now();
    std::thread::scope(|scope| {
        let table = &table;
        let put_off = move |request: Request| {
            let answer = table.api.send(request);
            assert_eq!((answer.status(), answer.header("retry-after")), (503, Some("1")), "{}", answer.text);
        };
        for _ in 0..3 {
            scope.spawn(move || put_off(Request::get(table.path("/rows"))));
            scope.spawn(move || put_off(Request::post(table.path("/rows")).json(&json!({ "Name": "Bob" }))));
        }
        scope.spawn(move || {
            put_off(Request::get("/readyz"));
            let taken = start.elapsed();
            assert!(taken < READY_TIME_MAX, "a balancer was kept waiting for {taken:?}");
        });
    });
    let longest = start.elapsed();
    let told = Exposition::read(&server.metrics());
    assert_eq!(told.sum("rowmill_database_up", &[]), Some(0.0));
    assert!(told.sum("rowmill_database_max_connections", &[]) > Some(0.0));
    for name in ["rowmill_database_connections", "rowmill_database_waiting_requests"] {
        assert!(told.sum(name, &[]).is_some(), "{name} is told all the same");
    }
    database.thaw();
    assert!(longest < REQUEST_TIME_MAX, "a request took {longest:?}");
    println!("a database that hangs was given up on within {longest:?}");
    let insert = Request::post(table.path("/rows")).json(&json!({ "Name": "Eve" }));
    insist(&mut WriteLog::default(), &table.api, &insert).created();
}

fn an_outage_longer_than_the_lease_makes_no_call_twice() {
    let Some(database) = rowmill_test_postgres::own() else { return };
    let short = [
        ("ROWMILL_DATABASE_TIMEOUT_SECONDS", "1"),
        ("ROWMILL_LEASE_SECONDS", "2"),
        ("ROWMILL_ALLOW_PRIVATE", "127.0.0.1/32"),
    ];
    let settings: Vec<_> = UNLIMITED.iter().chain(&short).copied().collect();
    let here = Server::start_in(DataDir::at(waiting(database.database())), &settings);
    let _there = here.beside("worker", &[]);
    let stub_server = StubServer::start(|_, _| Reply::Hanging);
    let table = here.api().table(&["Name"]);
    asks(&table, "Answer", &stub_server, "/@{Name}", json!({}));
    table.insert(json!((0..200).map(|number| json!({ "Name": number })).collect::<Vec<_>>()));
    table.post("/trigger", json!({})).ok();
    eventually("all calls are under way", REQUEST_TIME_MAX, || (stub_server.count() == 200).then_some(()));
    database.kill();
    // As long as no sign of life can be given, and longer than that: it is the time that is tested.
    std::thread::sleep(LOAD * 2);
    database.start();
    eventually("all is well again", REQUEST_TIME_MAX, || {
        (here.api().get("/readyz").status() == 200).then_some(())
    });
    // By now whoever takes others for lost has done so.
    std::thread::sleep(LOAD);
    stub_server.release();
    ended(&table);
    assert_eq!(stub_server.count(), 200, "nobody was lost, so nothing was to be asked again");
}

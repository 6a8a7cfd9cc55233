//! Damage to the database file is noticed: an answer is right, or it says that the database is damaged.

use serde_json::{Value, json};

use crate::harness::faults::sized;
use crate::harness::runner::scenarios;
use crate::harness::{Request, Scenario, Server, http};

pub(crate) const EMBEDDED: &[Scenario] = &scenarios!("damage", Embedded:
    answers_from_a_damaged_database_are_right_or_say_so,
);

const ROWS: usize = 3_000;
const OVERWRITTEN_BYTES: usize = 512;

fn answers_from_a_damaged_database_are_right_or_say_so() {
    let mut server = Server::start(&[]);
    let paths = fill(&server);
    let read = |server: &Server, path: &str| {
        let request = server.api().with_key(Request::get(path));
        let answer = http::exchange(&server.address, &request).unwrap();
        // Some answers name the server's address.
        (answer.status, String::from_utf8(answer.body).unwrap().replace(&server.address, "…"))
    };
    let right: Vec<(u16, String)> = paths.iter().map(|path| read(&server, path)).collect();
    assert!(right.iter().all(|(status, _)| *status == 200), "{right:?}");
    server.terminate();
    server.wait_for_end();
    let file = server.folder().data().join("rowmill.db");
    let whole = std::fs::read(&file).unwrap();

    let mut random = fastrand::Rng::with_seed(sized(1, fastrand::u64(..)));
    println!("seed {}, {} bytes", random.get_seed(), whole.len());
    let (mut refused, mut damaged, mut unharmed) = (0, 0, 0);
    for round in 0..sized(16, 200) {
        let mut bytes = whole.clone();
        if round % 4 == 3 {
            bytes[random.usize(..whole.len())] ^= 1 << random.u8(..8);
        } else {
            let start = random.usize(..whole.len() - OVERWRITTEN_BYTES);
            random.fill(&mut bytes[start..start + OVERWRITTEN_BYTES]);
        }
        std::fs::write(&file, bytes).unwrap();
        for suffix in ["-wal", "-shm"] {
            let _ = std::fs::remove_file(file.with_file_name(format!("rowmill.db{suffix}")));
        }
        if let Err(told) = server.try_restart() {
            assert!(told.contains("damaged") && !told.contains("panicked"), "{told}");
            refused += 1;
            continue;
        }
        let mut is_damaged = false;
        for (path, right) in paths.iter().zip(&right) {
            let (status, body) = read(&server, path);
            if status == 200 {
                assert!(body == right.1, "round {round}: {path} is not what it was");
            } else {
                let told: Value = serde_json::from_str(&body).unwrap();
                assert_eq!((status, &told["code"]), (500, &json!("damaged")), "{path}: {told}");
                is_damaged = true;
            }
        }
        assert!(!server.log().contains("panicked"), "{}", server.log());
        *(if is_damaged { &mut damaged } else { &mut unharmed }) += 1;
        server.kill();
    }
    println!("{refused} refused to start, {damaged} told of damage, {unharmed} answered everything");
    assert!(refused + damaged > 0);
}

/// Fills a database, and says what to read of it.
fn fill(server: &Server) -> Vec<String> {
    let api = server.api();
    let table = api.table(&["Name", "Text"]);
    let mut ids = Vec::new();
    for batch in 0..3 {
        let rows: Vec<Value> = (0..ROWS / 3)
            .map(|row| json!({ "Name": format!("{batch}-{row}"), "Text": "x".repeat(row % 300) }))
            .collect();
        ids.extend(table.insert(json!(rows)));
    }
    // One that needs pages of its own.
    ids.extend(table.insert(json!({ "Name": "long", "Text": "y".repeat(100_000) })));
    assert_eq!(ids.len(), ROWS + 1);
    let pages = (1..=ROWS / 500 + 1).map(|page| table.path(&format!("/rows?pageSize=500&page={page}")));
    let singles = ids.iter().step_by(60).map(|id| table.path(&format!("/rows/{id}")));
    let others = ["", "/columns", "/views", "/rows?search=2-99"].map(|rest| table.path(rest));
    pages.chain(singles).chain(others).chain(["/v4/projects".to_owned(), "/v4/team".to_owned()]).collect()
}

//! `rowmill tail`: the events of a table in a shell, also over a restart of the server.

use std::io::{BufRead as _, BufReader, Lines};
use std::process::{Child, ChildStdout, Stdio};

use serde_json::{Value, json};

use super::client::Shell;
use crate::harness::balancer::Balancer;
use crate::harness::runner::scenarios;
use crate::harness::{Scenario, Server};

pub(crate) const OWN: &[Scenario] = &scenarios!("client_tail", Own:
    events_are_printed_as_they_happen,
    events_go_on_after_a_restart,
);

/// A `rowmill tail --json` that runs, ended when it is dropped.
struct Tail {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Tail {
    fn of(mut child: Child) -> Self {
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// Waits for the next event of this name.
    fn next(&mut self, name: &str) -> Value {
        loop {
            let event: Value = serde_json::from_str(&self.lines.next().unwrap().unwrap()).unwrap();
            if event["event"] == name {
                return event;
            }
        }
    }
}

impl Drop for Tail {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn events_are_printed_as_they_happen() {
    let shell = Shell::signed_in();
    let table = shell.server.api().table(&["Name"]);
    let mut tail = Tail::of(shell.start(&["tail", &table.id, "--json"]));
    let first = tail.next("status");
    let row = table.insert(json!([{ "Name": "Ada" }])).remove(0);
    let event = tail.next("rows");
    assert_eq!(event["data"]["rows"][0]["id"], row.as_str());
    assert_eq!(event["data"]["rows"][0]["cells"]["Name"]["value"], "Ada");
    table.delete_rows(&[&row]).ok();
    assert_eq!(tail.next("rows")["data"]["deleted"], json!([row]));
    drop(tail);
    // From where it was, for people.
    let since = first["id"].as_str().unwrap();
    let told = shell.out(&["tail", &table.id, "--seconds", "0", "--since", since]);
    assert!(told.contains(&format!("Z {row} deleted\n")), "{told}");
    assert!(told.contains("0 rows: 0 waiting, 0 running, 0 failed"), "{told}");
    shell.fails(&["tail", "Nothing"], 4, "Nothing");
}

fn events_go_on_after_a_restart() {
    let mut shell = Shell::new(Server::start(&[]));
    // The address stays, as a proxy's does.
    let proxy = Balancer::start(&[&shell.server.address]);
    let table = shell.server.api().table(&["Name"]).id;
    let mut command = shell.command(&["tail", &table, "--json"]);
    command.env("ROWMILL_URL", format!("http://{}", proxy.address)).env("ROWMILL_API_KEY", &shell.key);
    let mut tail = Tail::of(command.stdout(Stdio::piped()).spawn().unwrap());
    tail.next("status");
    shell.server.crash_and_restart();
    let written =
        shell.server.api().post(format!("/v4/projects/{table}/rows"), json!([{ "Name": "Ada" }])).created();
    proxy.moved(0, &shell.server.address);
    // What was written while it was away is told.
    assert_eq!(tail.next("rows")["data"]["rows"][0]["id"], written["rows"][0]);
}

//! How scenarios are run.

pub(crate) mod agent;
pub(crate) mod api;
pub(crate) mod balancer;
pub(crate) mod batch_provider;
pub(crate) mod database;
pub(crate) mod disk_faults;
pub(crate) mod disk_log;
pub(crate) mod document;
pub(crate) mod exposition;
pub(crate) mod faults;
pub(crate) mod http;
pub(crate) mod preload;
pub(crate) mod runner;
pub(crate) mod server;
pub(crate) mod spans;
pub(crate) mod stub_server;
pub(crate) mod table;

pub(crate) use agent::Agent;
pub(crate) use api::{Answer, Api};
pub(crate) use balancer::Balancer;
pub(crate) use http::Request;
pub(crate) use runner::Scenario;
pub(crate) use server::{Server, rowmill};
pub(crate) use stub_server::StubServer;
pub(crate) use table::Table;

use std::time::{Duration, Instant};

/// Asks again and again until there is an answer. Fails after `limit`.
#[track_caller]
pub(crate) fn eventually<T>(what: &str, limit: Duration, mut ask: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(start.elapsed() < limit, "not within {limit:?}: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

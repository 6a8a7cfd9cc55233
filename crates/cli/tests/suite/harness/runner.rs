//! Runs the table of scenarios, a few at a time, and tells the outcome as `cargo test` does.

use std::collections::VecDeque;
use std::process::ExitCode;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::api::{Api, Version};
use super::database::Database;
use super::{document, server};

/// How many scenarios run at once: most wait for the disk.
const THREADS: usize = 4;
/// A scenario that takes longer hangs. Room for some thousand rounds of crashes, if they are asked for.
const SCENARIO_TIME_MAX: Duration = Duration::from_mins(10);

/// One promise, and how it is put to the test.
#[derive(Clone, Copy)]
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    pub(crate) run: Run,
    pub(crate) version: Version,
    pub(crate) database: Database,
}

impl Scenario {
    /// The same promise in each version that gives it.
    pub(crate) fn in_all_versions(self) -> Vec<Self> {
        match self.run {
            Run::Own(_) | Run::Embedded(_) | Run::Nodes(_) | Run::Shared(_) => vec![self],
            Run::Versions(_) => vec![self, Self { version: Version::V3, ..self.named("v3") }],
        }
    }

    /// The same promise on each database that keeps it.
    pub(crate) fn on_all_databases(self) -> Vec<Self> {
        let on = |database| match database {
            Database::Sqlite if matches!(self.run, Run::Nodes(_)) => None,
            Database::Sqlite => Some(self),
            Database::Postgres if matches!(self.run, Run::Embedded(_)) => None,
            Database::Postgres => Some(Self { database, ..self.named("PostgreSQL") }),
        };
        Database::all().into_iter().filter_map(on).collect()
    }

    fn named(self, what: &str) -> Self {
        Self { name: Box::leak(format!("{} ({what})", self.name).into_boxed_str()), ..self }
    }
}

#[derive(Clone, Copy)]
pub(crate) enum Run {
    /// On the server that all share, in projects of its own.
    Shared(fn(&Api)),
    /// The same, once in each version of the API.
    Versions(fn(&Api)),
    /// On servers of its own.
    Own(fn()),
    /// The same, for what is said of the embedded database alone.
    Embedded(fn()),
    /// The same, for what several nodes on one database do together.
    Nodes(fn()),
}

/// Lists functions as scenarios, under their own names.
macro_rules! scenarios {
    ($module:literal, $kind:ident: $($name:ident),* $(,)?) => {
        [$($crate::harness::runner::Scenario {
            name: concat!($module, "::", stringify!($name)),
            run: $crate::harness::runner::Run::$kind($name),
            version: $crate::harness::api::Version::V4,
            database: $crate::harness::database::Database::Sqlite,
        }),*]
    };
}
pub(crate) use scenarios;

pub(crate) fn run(all: &[Scenario]) -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let filters: Vec<&str> =
        arguments.iter().map(String::as_str).filter(|argument| !argument.starts_with("--")).collect();
    let is_wanted =
        |scenario: &&Scenario| filters.is_empty() || filters.iter().any(|part| scenario.name.contains(part));
    let chosen: Vec<Scenario> = all.iter().filter(is_wanted).copied().collect();
    if arguments.iter().any(|argument| argument == "--list") {
        for scenario in &chosen {
            println!("{}: test", scenario.name);
        }
        return ExitCode::SUCCESS;
    }

    let start = Instant::now();
    println!("\nrunning {} tests", chosen.len());
    let Outcomes { mut failed, unsteady } = run_all(&chosen);
    let mut passed = chosen.len() - failed.len();
    // A part of the scenarios uses a part of the operations.
    if chosen.len() == all.len() && failed.is_empty() {
        let unused = document::unused_operations();
        if unused.is_empty() {
            println!("test every_operation_of_the_document_was_used ... ok");
            passed += 1;
        } else {
            println!("test every_operation_of_the_document_was_used ... FAILED: {unused:?}");
            failed.push("every_operation_of_the_document_was_used");
        }
    }
    server::stop_all();

    if !unsteady.is_empty() {
        println!("\npassed only at the second try; each is a race to be found:");
        for name in &unsteady {
            println!("    {name}");
        }
    }
    if !failed.is_empty() {
        println!("\nfailures:");
        for name in &failed {
            println!("    {name}");
        }
    }
    let verdict = if failed.is_empty() { "ok" } else { "FAILED" };
    let filtered_out = all.len() - chosen.len();
    println!(
        "\ntest result: {verdict}. {passed} passed; {} failed; 0 ignored; 0 measured; {filtered_out} filtered out; \
         finished in {:.2}s\n",
        failed.len(),
        start.elapsed().as_secs_f64()
    );
    if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(101) }
}

/// The names of those that failed, and of those that passed only at the second try.
#[derive(Default)]
struct Outcomes {
    failed: Vec<&'static str>,
    unsteady: Vec<&'static str>,
}

/// What fails is tried once more, and told of: hundreds of scenarios on a busy machine are not to wait for one that met a race.
fn run_all(chosen: &[Scenario]) -> Outcomes {
    let waiting = Mutex::new(chosen.iter().copied().collect::<VecDeque<_>>());
    let outcomes = Mutex::new(Outcomes::default());
    let lock = |mutex: &Mutex<VecDeque<Scenario>>| mutex.lock().pop_front();
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                while let Some(scenario) = lock(&waiting) {
                    if told(scenario, "").is_ok() {
                        continue;
                    }
                    match told(scenario, " at the second try") {
                        Ok(()) => outcomes.lock().unsteady.push(scenario.name),
                        Err(_) => outcomes.lock().failed.push(scenario.name),
                    }
                }
            });
        }
    });
    outcomes.into_inner()
}

/// Runs a scenario and prints how it ended.
fn told(scenario: Scenario, which_try: &str) -> Result<(), &'static str> {
    let start = Instant::now();
    let outcome = run_one(scenario);
    let seconds = start.elapsed().as_secs_f64();
    let verdict = outcome.map_or_else(|words| format!("FAILED: {words}"), |()| "ok".to_owned());
    println!("test {} ... {verdict}{which_try} <{seconds:.2}s>", scenario.name);
    outcome
}

/// In a thread of its own, whose name tells in a panic's message which scenario it was.
fn run_one(scenario: Scenario) -> Result<(), &'static str> {
    let (done, outcome) = mpsc::channel();
    let thread = std::thread::Builder::new().name(scenario.name.to_owned()).spawn(move || {
        scenario.database.choose();
        match scenario.run {
            Run::Shared(run) | Run::Versions(run) => {
                run(&server::shared().api().in_version(scenario.version));
            }
            Run::Own(run) | Run::Embedded(run) | Run::Nodes(run) => run(),
        }
        let _ = done.send(());
    });
    thread.map_err(|_| "no thread for it")?;
    match outcome.recv_timeout(SCENARIO_TIME_MAX) {
        Ok(()) => Ok(()),
        Err(RecvTimeoutError::Disconnected) => Err("it panicked"),
        Err(RecvTimeoutError::Timeout) => Err("it hangs"),
    }
}

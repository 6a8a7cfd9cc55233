//! The `rowmill` binary.

#![warn(clippy::print_stderr)]

mod backup;
mod backup_folder;
mod backup_schedule;
mod backup_settings;
mod browser;
mod check;
mod clock;
mod command_line;
mod commands;
mod config;
mod connections;
mod database;
mod doctor;
mod health;
#[cfg(target_os = "linux")]
mod idle_pages;
mod keys;
mod listen_address;
mod logging;
mod manual;
mod moving;
mod observing;
mod otlp;
mod request_id;
mod restore;
mod secret_key;
mod secret_setting;
mod serve;
mod service_manager;
mod shutdown;
mod storage_space;
mod thumbnails;
mod trials;
mod variables;
mod welcome;
mod workers;

use std::process::ExitCode;
use std::sync::Arc;

use clap::CommandFactory as _;
use rowmill_client::notice;
use rowmill_clock::SystemClock;
use rowmill_providers::scrape::child;

use crate::command_line::{Cli, Command};
use crate::commands::TeamCommand;
use crate::serve::Role;

/// Kinder to a server that lives long and allocates from many threads than the system's.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    use_small_pages();
    // It reads what strangers wrote, so it has nothing to do with settings, stores or other threads.
    if std::env::args_os().nth(1).is_some_and(|word| word == child::COMMAND) {
        let outcome = child::run(std::io::stdin().lock(), std::io::stdout().lock());
        return outcome.map_or_else(|error| fail(&error), |()| ExitCode::SUCCESS);
    }
    let command = command_line::with_file(std::env::args_os());
    logging::prepare(command.as_ref().ok(), std::env::args_os());
    let command = match command {
        Ok(command) => command,
        Err(fault) if is_doctor() => return unreadable_settings(&fault),
        Err(fault) => return fail(&fault),
    };
    match variables::check(&command, std::env::vars_os().map(|(name, _)| name)) {
        Ok(warnings) => warnings.iter().for_each(|warning| logging::warn(warning)),
        Err(unknown) if is_doctor() => return unreadable_settings(&unknown),
        Err(unknown) => return fail(&unknown),
    }
    let matches = command.try_get_matches();
    let cli = match matches.and_then(|matches| <Cli as clap::FromArgMatches>::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        // What is asked for, such as help, is no error.
        Err(error) if logging::is_json() && error.use_stderr() => return misused(&error),
        Err(error) => error.exit(),
    };
    // One more than there are processors: one is always left while the others wait for the disk.
    let threads = std::thread::available_parallelism().map_or(1, usize::from) + 1;
    let runtime =
        match tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_all().build() {
            Ok(runtime) => runtime,
            Err(error) => return fail(&error),
        };
    let outcome = runtime.block_on(run(cli));
    shutdown::end(runtime);
    match outcome {
        Ok(status) => status,
        Err(error) => fail(&*error),
    }
}

/// What is wrong with the command line, as a line of the log.
fn misused(error: &clap::Error) -> ExitCode {
    let words = error.to_string();
    let words: Vec<&str> = words.split_whitespace().collect();
    notice!("{}", logging::error(&words.join(" ")));
    ExitCode::from(2)
}

/// Whether the command is the one that tells what is wrong with the settings, before they can be read.
fn is_doctor() -> bool {
    std::env::args_os().skip(1).any(|word| word == "doctor")
}

fn unreadable_settings(fault: &dyn std::error::Error) -> ExitCode {
    let json = std::env::args_os().skip(1).any(|word| word == "--json");
    doctor::unreadable_settings(fault, json)
}

/// The allocator asks for pages of 2 MiB, and a service that has little to do would hold 22 MB it does not need: 61
/// instead of 39. Reading a million rows into a view takes 650 instead of 550 ms for it.
fn use_small_pages() {
    #[cfg(target_os = "linux")]
    {
        // Where the system does not let us, we have the larger ones.
        let _ = rustix::thread::disable_transparent_huge_pages(true);
    }
}

async fn run(cli: Cli) -> Result<ExitCode, Box<dyn std::error::Error>> {
    let outcome = match cli.command {
        Command::Client(command) => return Ok(rowmill_client::run(command, Arc::new(SystemClock)).await),
        Command::Serve(serve) => serve::serve(serve, Role::Server).await,
        Command::Worker(worker) => serve::serve(worker, Role::Worker).await,
        Command::Team { command: TeamCommand::Create { slug, name, store } } => {
            commands::create_team(&store, &slug, name.as_deref()).await
        }
        Command::Team { command: TeamCommand::List { store } } => commands::list_teams(&store).await,
        Command::Key { command } => keys::run(command).await,
        Command::Move(args) => moving::run(args).await,
        Command::Backup(args) => backup::run(args).await,
        Command::Restore(args) => restore::run(args).await,
        Command::Check(args) => check::run(args).await,
        Command::Doctor(args) => return Ok(doctor::run(*args).await),
        Command::Health(args) => health::run(&args),
        Command::Openapi(args) => commands::openapi(*args),
        Command::Completions(args) => manual::completions(&args, Cli::command()),
        Command::Man(args) => manual::pages(&args, Cli::command()),
        Command::Licenses => manual::licenses(),
    };
    outcome.map(|()| ExitCode::SUCCESS)
}

/// An error and its causes, on one line.
fn chain(error: &(dyn std::error::Error + '_)) -> String {
    let causes = std::iter::successors(error.source(), |error| error.source());
    let mut told = error.to_string();
    for cause in causes.map(ToString::to_string) {
        // Some say what their cause is in their own words.
        if !told.contains(&cause) {
            told = format!("{told}: {cause}");
        }
    }
    told
}

/// Words go to standard error; data alone goes to standard output.
fn fail(error: &(dyn std::error::Error + '_)) -> ExitCode {
    let mut said = error.to_string();
    if logging::is_json() {
        notice!("{}", logging::error(&chain(error)));
        return ExitCode::FAILURE;
    }
    notice!("rowmill: {said}");
    let mut cause = error.source();
    while let Some(error) = cause {
        // Some say what their cause is in their own words.
        let words = error.to_string();
        if !said.contains(&words) {
            notice!("  Caused by: {words}");
            said = words;
        }
        cause = error.source();
    }
    ExitCode::FAILURE
}

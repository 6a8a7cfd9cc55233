//! `rowmill` as a client: the commands that talk to a running server, over its public API only.

#![warn(clippy::print_stderr)]

#[macro_use]
mod notice;
mod causes;
mod columns;
mod condition;
mod connection;
mod event_stream;
mod exporting;
mod failure;
mod file_body;
mod file_kind;
mod importing;
mod json_lines;
mod login;
mod output;
mod profiles;
mod progress;
mod rows;
mod running;
mod selection;
mod server;
mod server_url;
mod status;
mod tables;
mod tail;
mod wire;

use std::process::ExitCode;
use std::sync::Arc;

use clap::Subcommand;
use rowmill_clock::Clock;

use crate::failure::{Ending, Failure};

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Sign in to a server: check an API key and save it. The key is read from `ROWMILL_API_KEY`, from standard input, or
    /// asked for.
    Login(login::LoginArgs),
    /// Forget a saved server and its API key. The key itself stays valid.
    Logout(login::LogoutArgs),
    /// List the saved servers, or choose the current one.
    Profiles(login::ProfilesArgs),
    /// List the tables, or create one.
    Tables(tables::TablesArgs),
    /// List the columns of a table.
    Columns(columns::ColumnsArgs),
    /// List, import and export rows.
    Rows {
        #[command(subcommand)]
        command: RowsCommand,
    },
    /// Run the cells of a table that are due: those that never ran, failed, were skipped or are stale.
    Run(running::RunArgs),
    /// Stop the cells of a table that wait or run.
    Stop(running::StopArgs),
    /// Show how many cells of a table wait, run, are done or failed.
    Status(status::StatusArgs),
    /// Print changes of a table as they happen, until Ctrl-C.
    Tail(tail::TailArgs),
}

#[derive(Debug, Subcommand)]
pub enum RowsCommand {
    /// List rows.
    List(rows::ListArgs),
    /// Import a file: CSV, JSON or JSON Lines. Large files are imported in the background.
    Import(importing::ImportArgs),
    /// Export rows as CSV or JSON Lines, to a file or to standard output.
    Export(exporting::ExportArgs),
}

/// Runs a command. Data goes to standard output, words go to standard error.
pub async fn run(command: Command, clock: Arc<dyn Clock>) -> ExitCode {
    let is_json = is_json(&command);
    match execute(command, clock).await {
        Ok(ending) => ending.status(),
        Err(failure) => {
            if let Some(words) = failure.words(is_json) {
                notice!("{words}");
            }
            failure.status()
        }
    }
}

async fn execute(command: Command, clock: Arc<dyn Clock>) -> Result<Ending, Failure> {
    match command {
        Command::Login(args) => login::login(args, clock).await,
        Command::Logout(args) => login::logout(&args),
        Command::Profiles(args) => login::profiles(&args),
        Command::Tables(args) => tables::run(args, clock).await,
        Command::Columns(args) => columns::run(args, clock).await,
        Command::Rows { command: RowsCommand::List(args) } => rows::run(args, clock).await,
        Command::Rows { command: RowsCommand::Import(args) } => importing::run(args, clock).await,
        Command::Rows { command: RowsCommand::Export(args) } => exporting::run(args, clock).await,
        Command::Run(args) => running::run(args, clock).await,
        Command::Stop(args) => running::stop(args, clock).await,
        Command::Status(args) => status::run(args, clock).await,
        Command::Tail(args) => tail::run(args, clock).await,
    }
}

fn is_json(command: &Command) -> bool {
    match command {
        Command::Login(args) => args.json,
        Command::Logout(args) => args.json,
        Command::Profiles(args) => args.json,
        Command::Tables(args) => args.is_json(),
        Command::Columns(args) => args.connection.json,
        Command::Rows { command: RowsCommand::List(args) } => args.connection.json,
        Command::Rows { command: RowsCommand::Import(args) } => args.connection.json,
        Command::Rows { command: RowsCommand::Export(args) } => args.connection.json,
        Command::Run(args) => args.connection.json,
        Command::Stop(args) => args.connection.json,
        Command::Status(args) => args.connection.json,
        Command::Tail(args) => args.connection.json,
    }
}

//! `rowmill doctor`: checks a set-up and says what to do about what is wrong. It changes nothing and calls no provider.

mod browser;
mod clock;
mod collector;
mod database;
mod folder;
mod network;
mod permissions;
mod providers;
mod report;
mod settings;

use std::process::ExitCode;

use clap::Args;

use self::report::{Finding, Report};
use crate::config::Serve;

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Print the report as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    serve: Serve,
}

/// The exit status is 0 if all is well, 1 if there are warnings, and 2 if there are problems.
pub(crate) async fn run(args: DoctorArgs) -> ExitCode {
    let DoctorArgs { json, serve } = args;
    let mut report = Report::default();
    report.add(settings::check(&serve));
    report.add(folder::check(&serve));
    report.add(database::check(&serve).await);
    report.add(clock::check(&serve));
    report.add(network::check(&serve).await);
    report.add(providers::check().await);
    report.add(collector::check(&serve.otlp).await);
    report.add(browser::check(&serve.workers).await);
    report.print(json)
}

/// The report on settings that cannot even be read.
pub(crate) fn unreadable_settings(fault: &dyn std::error::Error, json: bool) -> ExitCode {
    let cause = fault.source().and_then(|cause| cause.downcast_ref::<std::io::Error>());
    let action = if cause.is_some_and(permissions::is_denied) {
        permissions::RUN_AS
    } else {
        "Correct it; nothing else was checked. `rowmill serve --help` lists all settings."
    };
    let mut report = Report::default();
    report.add([Finding::problem("settings", fault.to_string(), action)]);
    report.print(json)
}

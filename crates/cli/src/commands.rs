//! The commands beside `serve`. Data on standard output, words on standard error.

use std::error::Error;
use std::io::Write as _;
use std::sync::Arc;

use clap::{Args, Subcommand};
use rowmill_api::PublicUrl;
use rowmill_app::{App, Environment, Vault};
use rowmill_client::notice;
use rowmill_model::Limits;
use rowmill_store_sqlite::Access;
use serde_json::{Value, json};

use crate::clock::SharedClock;
use crate::config::{LimitArgs, StoreArgs};
use crate::database;

#[derive(Debug, Subcommand)]
pub(crate) enum TeamCommand {
    /// Create a team and print it.
    Create {
        /// The team's short name in URLs: lower-case letters, digits and hyphens.
        #[arg(long)]
        slug: String,
        /// The team's display name. Default: the slug.
        #[arg(long)]
        name: Option<String>,
        #[command(flatten)]
        store: StoreArgs,
    },
    /// List all teams.
    List {
        #[command(flatten)]
        store: StoreArgs,
    },
}

/// The settings that the document shows, and those that every command takes.
#[derive(Debug, Args)]
pub(crate) struct OpenapiArgs {
    #[command(flatten)]
    store: StoreArgs,
    /// Public URL of the server: the document names it in `servers`.
    #[arg(long, env = "ROWMILL_PUBLIC_URL", value_parser = PublicUrl::parse)]
    public_url: Option<PublicUrl>,
    #[command(flatten)]
    limits: LimitArgs,
}

pub(crate) type AnyResult = Result<(), Box<dyn Error>>;

pub(crate) async fn create_team(store: &StoreArgs, slug: &str, name: Option<&str>) -> AnyResult {
    // What is refused makes no database.
    App::check_team(slug, name)?;
    let is_new = database::is_new(store);
    let team = visit(store).await?.0.create_team(slug, name).await?;
    if is_new {
        notice!(
            "The database is new, and this is its first team, so `rowmill serve` will print no key. Make one with \
             `rowmill key create --team {slug}`."
        );
    }
    print(&json!({ "id": team.id, "slug": team.slug, "name": team.name }).to_string())
}

pub(crate) async fn list_teams(store: &StoreArgs) -> AnyResult {
    let teams = visit_existing(store).await?.0.teams().await?;
    let teams: Value =
        teams.iter().map(|team| json!({ "id": team.id, "slug": team.slug, "name": team.name })).collect();
    print(&teams.to_string())
}

pub(crate) fn openapi(args: OpenapiArgs) -> AnyResult {
    let service = rowmill_api::service(args.limits.into())?.at(args.public_url.as_ref());
    print(&serde_json::to_string_pretty(&service.document()?)?)
}

/// The application beside a service that may be running on the same data.
pub(crate) async fn visit(store: &StoreArgs) -> Result<(App, SharedClock), Box<dyn Error>> {
    let store = database::open(store, Access::Visit).await?;
    let (vault, environment) = (Vault::locked(), Environment::default());
    let clock = SharedClock(Arc::clone(&store));
    let app = App::new(store, Limits::default(), vault, environment, Arc::new(clock.clone()));
    Ok((app, clock))
}

/// The same for commands that make nothing: a database that does not exist is an error.
pub(crate) async fn visit_existing(store: &StoreArgs) -> Result<(App, SharedClock), Box<dyn Error>> {
    database::check_exists(store)?;
    visit(store).await
}

pub(crate) fn print(line: &str) -> AnyResult {
    let mut out = std::io::stdout().lock();
    Ok(unless_closed(writeln!(out, "{line}").and_then(|()| out.flush()))?)
}

/// What became of writing to standard output. A reader that goes away, as in `rowmill openapi | head`, has seen enough.
pub(crate) fn unless_closed(written: std::io::Result<()>) -> std::io::Result<()> {
    match written {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

//! The commands beside `serve`. Data on standard output, words on standard error.

use std::error::Error;
use std::io::Write as _;
use std::sync::Arc;

use clap::{Args, Subcommand};
use rowmill_api::PublicUrl;
use rowmill_app::{App, Environment, Vault};
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

#[derive(Debug, Subcommand)]
pub(crate) enum KeyCommand {
    /// Create an API key and print it. It is shown only once.
    Create {
        /// The slug of the key's team.
        #[arg(long)]
        team: String,
        /// A name that says what the key is for.
        #[arg(long)]
        name: Option<String>,
        #[command(flatten)]
        store: StoreArgs,
    },
    /// List the keys, without their secrets.
    List {
        /// List only the keys of this team.
        #[arg(long)]
        team: Option<String>,
        #[command(flatten)]
        store: StoreArgs,
    },
    /// Revoke a key. A running server rejects it within a second.
    Revoke {
        /// The key's id, from `key list`.
        id: String,
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

type AnyResult = Result<(), Box<dyn Error>>;

pub(crate) async fn create_team(store: &StoreArgs, slug: &str, name: Option<&str>) -> AnyResult {
    let team = visit(store).await?.create_team(slug, name).await?;
    print(&json!({ "id": team.id, "slug": team.slug, "name": team.name }).to_string())
}

pub(crate) async fn list_teams(store: &StoreArgs) -> AnyResult {
    let teams = visit(store).await?.teams().await?;
    let teams: Value =
        teams.iter().map(|team| json!({ "id": team.id, "slug": team.slug, "name": team.name })).collect();
    print(&teams.to_string())
}

pub(crate) async fn create_key(store: &StoreArgs, team: &str, name: Option<&str>) -> AnyResult {
    let new_key = visit(store).await?.create_key(team, name).await?;
    print(new_key.secret.reveal())
}

pub(crate) async fn list_keys(store: &StoreArgs, team: Option<&str>) -> AnyResult {
    let app = visit(store).await?;
    let keys = app.keys(team).await?;
    let moment = |ms: i64| rowmill_api::timestamp(ms);
    let keys: Value = keys
        .iter()
        .map(|key| {
            json!({
                "id": key.id,
                "name": key.name,
                "createdAt": moment(key.created_at_ms),
                "lastUsedAt": key.last_used_at_ms.map(moment),
            })
        })
        .collect();
    print(&keys.to_string())
}

pub(crate) async fn revoke_key(store: &StoreArgs, id: &str) -> AnyResult {
    if visit(store).await?.revoke_key(id).await? {
        eprintln!("Revoked {id}. A running server rejects it within a second.");
        Ok(())
    } else {
        Err(format!("there is no key {id:?}; `rowmill key list` lists the ids").into())
    }
}

pub(crate) fn openapi(args: OpenapiArgs) -> AnyResult {
    let service = rowmill_api::service(args.limits.into())?.at(args.public_url.as_ref());
    print(&serde_json::to_string_pretty(service.document())?)
}

/// The application beside a service that may be running on the same data.
async fn visit(store: &StoreArgs) -> Result<App, Box<dyn Error>> {
    let store = database::open(store, Access::Visit).await?;
    let (vault, environment) = (Vault::locked(), Environment::default());
    let clock = Arc::new(SharedClock(Arc::clone(&store)));
    Ok(App::new(store, Limits::default(), vault, environment, clock))
}

fn print(line: &str) -> AnyResult {
    writeln!(std::io::stdout(), "{line}")?;
    Ok(())
}

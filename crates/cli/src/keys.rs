//! `rowmill key`: API keys, for whoever runs the installation.

use clap::{Args, Subcommand};
use rowmill_app::{ApiKey, App, Error, KeyRequest, KeyRotation, Noun};
use rowmill_client::notice;
use rowmill_clock::{Clock, SystemClock};
use rowmill_model::{Offence, Restrictions, Scope, Scopes};
use serde_json::{Value, json};

use crate::commands::{AnyResult, print, visit, visit_existing};
use crate::config::StoreArgs;
use crate::database;

#[derive(Debug, Subcommand)]
pub(crate) enum KeyCommand {
    /// Create an API key and print it. It is shown only once.
    Create(KeyCreateArgs),
    /// List the keys, without their secrets.
    List {
        /// List only the keys of this team.
        #[arg(long)]
        team: Option<String>,
        /// Show also what each key is restricted to, when it expires, and from where it was last used.
        #[arg(long)]
        details: bool,
        #[command(flatten)]
        store: StoreArgs,
    },
    /// Create a key in place of another, with the same restrictions, and print it. The old one keeps working for a while.
    Rotate(KeyRotateArgs),
    /// Revoke a key. A running server rejects it within a second.
    Revoke {
        /// The key's id, from `key list`.
        id: String,
        #[command(flatten)]
        store: StoreArgs,
    },
}

#[derive(Debug, Args)]
pub(crate) struct KeyCreateArgs {
    /// The slug of the key's team.
    #[arg(long)]
    team: String,
    /// A name that says what the key is for.
    #[arg(long)]
    name: Option<String>,
    /// What the key may do: read, write, run, schema, admin, separated by commas. Default: all.
    #[arg(long, value_delimiter = ',', value_parser = scope)]
    scopes: Option<Vec<Scope>>,
    /// The ids of the only projects that the key reaches, separated by commas. Default: all.
    #[arg(long, value_delimiter = ',')]
    projects: Option<Vec<String>>,
    /// When the key stops working: a time such as 2027-01-31T12:00:00Z, or after 12h or 30d. Default: never.
    #[arg(long)]
    expires: Option<String>,
    /// Addresses and ranges that the key can be used from, such as 192.0.2.7,10.0.0.0/8. Default: any.
    #[arg(long, value_delimiter = ',')]
    allow_from: Option<Vec<String>>,
    #[command(flatten)]
    store: StoreArgs,
}

#[derive(Debug, Args)]
pub(crate) struct KeyRotateArgs {
    /// The key's id, from `key list`.
    id: String,
    /// When the old key stops working: a time, or after 12h or 30d; 0h is at once. Default: 24h.
    #[arg(long)]
    old_expires: Option<String>,
    /// When the new key stops working: a time, or after 12h or 30d. Default: when the old one would have.
    #[arg(long)]
    expires: Option<String>,
    #[command(flatten)]
    store: StoreArgs,
}

pub(crate) async fn run(command: KeyCommand) -> AnyResult {
    match command {
        KeyCommand::Create(args) => create(args).await,
        KeyCommand::List { team, details, store } => list(&store, team.as_deref(), details).await,
        KeyCommand::Rotate(args) => rotate(args).await,
        KeyCommand::Revoke { id, store } => revoke(&store, &id).await,
    }
}

async fn create(args: KeyCreateArgs) -> AnyResult {
    let KeyCreateArgs { team, name, scopes, projects, expires, allow_from, store } = args;
    let is_new = database::is_new(&store);
    if is_new {
        check_first(&store, &team, projects.is_some())?;
    }
    let mut request = KeyRequest {
        name: name.unwrap_or_else(|| if is_new { "first key" } else { "key" }.to_owned()),
        scopes: scopes.map(Scopes::from),
        project_ids: projects,
        expires_at: moment("--expires", expires.as_deref(), &SystemClock)?,
        allow_from,
    };
    // What is refused makes no database. Of several nodes, it is the database's clock that counts.
    let now_ms = if store.url().is_none() { SystemClock.now_ms() } else { i64::MIN };
    request.check(now_ms).map_err(|error| in_options(&error))?;
    let (app, clock) = visit(&store).await?;
    request.expires_at = moment("--expires", expires.as_deref(), &clock)?;
    match app.create_key(&team, request).await {
        Err(Error::NotFound(what)) => Err(no_team(what, &team).into()),
        made => {
            print(made.map_err(|error| in_options(&error))?.secret.reveal())?;
            if is_new {
                notice!(
                    "The database is new, and this is its first key, so `rowmill serve` will print neither a key nor a link to \
                     sign in. Open the server's address and sign in with this key."
                );
            }
            Ok(())
        }
    }
}

/// Refuses a first key that cannot be made, before the database is.
fn check_first(store: &StoreArgs, team: &str, is_limited_to_projects: bool) -> AnyResult {
    let first = App::FIRST_SLUG;
    if team != first {
        database::check_exists(store).map_err(|error| {
            let words = format!(
                "{error}, or create its first team and key with `rowmill key create --team {first}`. To name that team \
                 yourself, run `rowmill team create --slug {team}` first"
            );
            words.into()
        })
    } else if is_limited_to_projects {
        let words = "the database is new and has no projects yet, so the first key cannot be limited to some. Leave out \
                     --projects, or name the folder of another database with --data-dir";
        Err(words.into())
    } else {
        Ok(())
    }
}

fn no_team(what: Noun, team: &str) -> String {
    format!("{what} not found: {team:?}; `rowmill team list` lists the slugs")
}

/// What is wrong, by the options of this program instead of the fields of the API.
fn in_options(error: &Error) -> String {
    let (Error::Invalid { details, .. } | Error::LimitExceeded { details, .. }) = error else {
        return error.to_string();
    };
    let option = |path: &str| match path.split('[').next() {
        Some("projectIds") => "--projects",
        Some("allowFrom") => "--allow-from",
        Some("expiresAt") => "--expires",
        Some("oldExpiresAt") => "--old-expires",
        Some("scopes") => "--scopes",
        _ => "--name",
    };
    let line = |offence: &Offence| {
        let (option, message) = (option(&offence.path), &offence.message);
        // Times can be given in another way here.
        let more =
            if message.contains("date and time") { ", or a time from now such as 12h or 30d" } else { "" };
        format!("{option} {message}{more}")
    };
    let lines: Vec<String> = details.iter().map(line).collect();
    if lines.is_empty() { error.to_string() } else { lines.join("\n") }
}

async fn list(store: &StoreArgs, team: Option<&str>, details: bool) -> AnyResult {
    let (app, _) = visit_existing(store).await?;
    let keys = match (app.keys(team).await, team) {
        (Err(Error::NotFound(what)), Some(team)) => return Err(no_team(what, team).into()),
        (keys, _) => keys?,
    };
    let keys: Value = keys.into_iter().map(|key| listed(key, details)).collect();
    print(&keys.to_string())
}

fn listed(key: ApiKey, details: bool) -> Value {
    let ApiKey { id, team: _, name, hash: _, created_at_ms, last_used, expires_at_ms, restrictions } = key;
    let Restrictions { scopes, projects, allow_from } = restrictions;
    let mut fields = json!({
        "id": id,
        "name": name,
        "createdAt": rowmill_api::timestamp(created_at_ms),
        "lastUsedAt": last_used.map(|last| rowmill_api::timestamp(last.at_ms)),
    });
    let more = json!({
        "lastUsedFrom": last_used.and_then(|last| last.from),
        "scopes": scopes,
        "projectIds": projects,
        "expiresAt": expires_at_ms.map(rowmill_api::timestamp),
        "allowFrom": (!allow_from.is_empty()).then_some(allow_from),
    });
    if let (true, Value::Object(fields), Value::Object(more)) = (details, &mut fields, more) {
        fields.extend(more);
    }
    fields
}

async fn rotate(args: KeyRotateArgs) -> AnyResult {
    let KeyRotateArgs { id, old_expires, expires, store } = args;
    let (app, clock) = visit_existing(&store).await?;
    let rotation = KeyRotation {
        old_expires_at: moment("--old-expires", old_expires.as_deref(), &clock)?,
        expires_at: moment("--expires", expires.as_deref(), &clock)?,
    };
    match app.rotate_key(&id, rotation).await {
        Err(Error::NotFound(_)) => Err(unknown(&id).into()),
        made => print(made.map_err(|error| in_options(&error))?.secret.reveal()),
    }
}

async fn revoke(store: &StoreArgs, id: &str) -> AnyResult {
    if visit_existing(store).await?.0.revoke_key(id).await? {
        notice!("Revoked {id}. A running server rejects it within a second.");
        Ok(())
    } else {
        Err(unknown(id).into())
    }
}

fn unknown(id: &str) -> String {
    format!("there is no key {id:?}; `rowmill key list` lists the ids")
}

fn scope(word: &str) -> Result<Scope, String> {
    Scope::parse(word.trim()).ok_or_else(|| {
        let words: Vec<&str> = Scope::ALL.into_iter().map(Scope::word).collect();
        format!("the scopes are {}", words.join(", "))
    })
}

/// A time, or so many hours or days from now, as a time. What is neither stays as it is, and is told to be wrong where
/// times are checked.
fn moment(option: &str, text: Option<&str>, clock: &impl Clock) -> Result<Option<String>, String> {
    const HOUR_MS: i64 = 60 * 60 * 1000;
    let Some(text) = text else { return Ok(None) };
    let amount = |unit: char| text.strip_suffix(unit).filter(|digits| is_number(digits));
    let amount = amount('h').map(|hours| (hours, HOUR_MS)).or(amount('d').map(|days| (days, 24 * HOUR_MS)));
    let Some((number, unit_ms)) = amount else { return Ok(Some(text.to_owned())) };
    let at_ms = number.parse::<i64>().ok().and_then(|number| number.checked_mul(unit_ms));
    let at_ms = at_ms.and_then(|ms| clock.now_ms().checked_add(ms));
    match at_ms.filter(|at_ms| jiff::Timestamp::from_millisecond(*at_ms).is_ok()) {
        Some(at_ms) => Ok(Some(rowmill_api::timestamp(at_ms))),
        None => Err(format!("{option} is too far away: the last year is 9999")),
    }
}

fn is_number(digits: &str) -> bool {
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

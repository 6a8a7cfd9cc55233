//! `rowmill login`, `logout` and `profiles`: which servers are known, and with which key.

use std::io::{BufRead as _, IsTerminal as _, Read as _, Write as _};
use std::sync::Arc;

use clap::Args;
use console::Term;
use rowmill_clock::Clock;
use rowmill_model::Secret;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::connection::key_of_environment;
use crate::failure::{Ending, Failure, Kind};
use crate::output::{Grid, print_line};
use crate::profiles::{self, Profile, Profiles};
use crate::server::{KeySource, Server};
use crate::server_url;

/// Longer than any key.
const KEY_BYTES_MAX: u64 = 4096;

#[derive(Debug, Args)]
pub struct LoginArgs {
    /// The server's URL, such as `https://rowmill.example.com`.
    #[arg(env = "ROWMILL_URL")]
    url: String,
    /// Save the server under this name, to use several. It becomes the current one.
    #[arg(long, env = "ROWMILL_PROFILE", value_name = "NAME", default_value = profiles::DEFAULT)]
    profile: String,
    /// Print JSON instead of text, for errors too.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub struct LogoutArgs {
    /// The saved server. Default: the current one.
    #[arg(long, env = "ROWMILL_PROFILE", value_name = "NAME")]
    profile: Option<String>,
    /// Print JSON instead of text, for errors too.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub struct ProfilesArgs {
    /// Make this saved server the current one.
    #[arg(long = "use", value_name = "NAME")]
    chosen: Option<String>,
    /// Print JSON instead of text, for errors too.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Deserialize)]
struct TeamAnswer {
    team: Team,
}

#[derive(Deserialize)]
struct Team {
    slug: String,
    name: String,
}

pub(crate) async fn login(args: LoginArgs, clock: Arc<dyn Clock>) -> Result<Ending, Failure> {
    let LoginArgs { url, profile, json } = args;
    let url = server_url::parse(&url).map_err(|words| Failure::new(Kind::Usage, words))?;
    if profile.trim().is_empty() {
        return Err(Failure::new(Kind::Usage, "the profile's name is empty"));
    }
    let mut saved = Profiles::load()?;
    if server_url::is_exposed(&url) {
        notice!("Warning: {url} is not encrypted, so others on the network can read the API key. Use https.");
    }
    let key = match key_of_environment() {
        Some(key) => (key, KeySource::Environment),
        None => (read_key(&url)?, KeySource::Saved),
    };
    let server = Server::new(&url, &key, clock)?;
    let answer = server.get("/v4/team", &[]).await.and_then(|answer| answer.parse());
    let TeamAnswer { team } = answer.map_err(|failure| about_path(failure, &url))?;
    let entry = Profile { url: url.clone(), api_key: key.0.expose().to_owned(), team: team.slug.clone() };
    saved.profiles.insert(profile.clone(), entry);
    saved.current = Some(profile.clone());
    let path = saved.save()?;
    if json {
        let team = json!({ "slug": team.slug, "name": team.name });
        print_line(&json!({ "profile": profile, "url": url, "team": team }).to_string())?;
    } else {
        notice!("Signed in to {url} as team {} ({}).", team.name, team.slug);
        notice!("The key is saved in {}, which only you can read.", path.display());
    }
    Ok(Ending::Done)
}

/// Adds what may be wrong with the URL, where something answers but not as Rowmill does.
fn about_path(failure: Failure, url: &str) -> Failure {
    let is_about_path = matches!(failure.kind, Kind::Failed | Kind::NotFound);
    let Some(root) = server_url::without_path(url).filter(|_| is_about_path) else { return failure };
    let mut failure = failure.with_hint(&format!(
        "The URL has a path. Unless Rowmill is served below it, leave the path out: rowmill login {root}"
    ));
    failure.kind = Kind::Failed;
    failure
}

pub(crate) fn logout(args: &LogoutArgs) -> Result<Ending, Failure> {
    let mut saved = Profiles::load()?;
    let Some(name) = args.profile.clone().or_else(|| saved.current.clone()) else {
        return Err(Failure::new(Kind::NotSignedIn, "not signed in: there is no saved server"));
    };
    let url = saved.named(&name)?.url.clone();
    saved.profiles.remove(&name);
    if saved.current.as_deref() == Some(&name) {
        saved.current = None;
    }
    saved.save()?;
    if args.json {
        print_line(&json!({ "profile": name, "url": url }).to_string())?;
    } else {
        notice!("Forgot {name} ({url}). Its API key stays valid until it is revoked.");
    }
    Ok(Ending::Done)
}

pub(crate) fn profiles(args: &ProfilesArgs) -> Result<Ending, Failure> {
    let mut saved = Profiles::load()?;
    if let Some(name) = &args.chosen {
        saved.named(name)?;
        saved.current = Some(name.clone());
        saved.save()?;
    }
    let is_current = |name: &String| saved.current.as_ref() == Some(name);
    if args.json {
        let listed: Value = saved
            .profiles
            .iter()
            .map(|(name, Profile { url, team, .. })| {
                json!({ "name": name, "url": url, "team": team, "current": is_current(name) })
            })
            .collect();
        print_line(&listed.to_string())?;
        return Ok(Ending::Done);
    }
    let row = |(name, Profile { url, team, .. }): (&String, &Profile)| {
        let mark = if is_current(name) { "*" } else { "" };
        vec![mark.to_owned(), name.clone(), url.clone(), team.clone()]
    };
    let rows: Vec<Vec<String>> = saved.profiles.iter().map(row).collect();
    Grid::new(&["CURRENT", "NAME", "URL", "TEAM"]).print(&rows)?;
    Ok(Ending::Done)
}

/// The key from the terminal, where it is not shown, or else the first line of standard input.
fn read_key(url: &str) -> Result<Secret, Failure> {
    let told = |error: std::io::Error| Failure::failed(format!("cannot read the API key: {error}"));
    let line = if std::io::stdin().is_terminal() {
        let mut terminal = Term::stderr();
        write!(terminal, "API key for {url}: ").and_then(|()| terminal.flush()).map_err(told)?;
        terminal.read_secure_line().map_err(told)?
    } else {
        let mut line = String::new();
        std::io::stdin().lock().take(KEY_BYTES_MAX).read_line(&mut line).map_err(told)?;
        line
    };
    let key = line.trim();
    if key.is_empty() {
        let words = "no API key: type it when asked, send it to standard input, or set ROWMILL_API_KEY. Settings, API \
                     keys in the web app creates one";
        return Err(Failure::new(Kind::NotSignedIn, words));
    }
    Ok(Secret::new(key))
}

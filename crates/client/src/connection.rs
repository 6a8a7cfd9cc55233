//! Which server a command talks to, and with which key.

use std::sync::Arc;

use clap::Args;
use rowmill_clock::Clock;
use rowmill_model::Secret;

use crate::failure::{Failure, Kind};
use crate::profiles::{Profile, Profiles};
use crate::server::{KeySource, Server};
use crate::server_url;

/// What every command that talks to a server takes.
#[derive(Debug, Args)]
pub(crate) struct ConnectionArgs {
    /// Use this saved server instead of the current one. `rowmill profiles` lists them.
    #[arg(long, env = "ROWMILL_PROFILE", value_name = "NAME", help_heading = "Server")]
    profile: Option<String>,
    /// The server's URL, instead of a saved one. The API key is that of `ROWMILL_API_KEY`, or of the profile with this URL.
    #[arg(long, env = "ROWMILL_URL", value_name = "URL", help_heading = "Server")]
    url: Option<String>,
    /// Print JSON instead of text, for errors too.
    #[arg(long)]
    pub(crate) json: bool,
}

impl ConnectionArgs {
    pub(crate) fn connect(&self, clock: Arc<dyn Clock>) -> Result<Server, Failure> {
        let (url, key) = self.find(key_of_environment(), &Profiles::load()?)?;
        Server::new(&url, &key, clock)
    }

    fn find(&self, key: Option<Secret>, saved: &Profiles) -> Result<(String, (Secret, KeySource)), Failure> {
        let key = key.map(|key| (key, KeySource::Environment));
        let of_profile = |profile: &Profile| (Secret::new(profile.api_key.as_str()), KeySource::Saved);
        let given = |text: &Option<String>| text.clone().filter(|text| !text.trim().is_empty());
        let (named, url) = match (given(&self.profile), given(&self.url)) {
            (Some(_), Some(_)) => {
                let words =
                    "give a profile (--profile, ROWMILL_PROFILE) or a URL (--url, ROWMILL_URL), not both";
                return Err(Failure::new(Kind::Usage, words));
            }
            (named, url) => (named, url),
        };
        if let Some(url) = url {
            let url = server_url::parse(&url).map_err(|words| Failure::new(Kind::Usage, words))?;
            // Never the key of another server.
            let saved = || saved.profiles.values().find(|profile| profile.url == url);
            let key = key.or_else(|| saved().map(of_profile));
            return key.map(|key| (url.clone(), key)).ok_or_else(|| {
                let words =
                    format!("no API key for {url}: set ROWMILL_API_KEY, or run `rowmill login {url}`");
                Failure::new(Kind::NotSignedIn, words)
            });
        }
        let Some(name) = named.or_else(|| saved.current.clone()) else {
            let words = "not signed in. Run `rowmill login URL`, or set ROWMILL_URL and ROWMILL_API_KEY";
            return Err(Failure::new(Kind::NotSignedIn, words));
        };
        let profile = saved.named(&name)?;
        Ok((profile.url.clone(), key.unwrap_or_else(|| of_profile(profile))))
    }
}

/// The key for programs: no file, no terminal.
pub(crate) fn key_of_environment() -> Option<Secret> {
    let key = std::env::var("ROWMILL_API_KEY").ok()?;
    Some(key.trim()).filter(|key| !key.is_empty()).map(Secret::new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_goes_to_its_own_server_only() {
        let profile =
            |url: &str, key: &str| Profile { url: url.into(), api_key: key.into(), team: "t".into() };
        let mut saved = Profiles { current: Some("one".into()), ..Profiles::default() };
        saved.profiles.insert("one".into(), profile("http://localhost:1", "k1"));
        saved.profiles.insert("two".into(), profile("https://two.example", "k2"));
        let find = |profile: Option<&str>, url: Option<&str>, key: Option<&str>| {
            let args =
                ConnectionArgs { profile: profile.map(Into::into), url: url.map(Into::into), json: false };
            match args.find(key.map(Secret::new), &saved) {
                Ok((url, (key, source))) => format!("{url} {} {source:?}", key.expose()),
                Err(failure) => format!("{:?}", failure.kind),
            }
        };
        assert_eq!(find(None, None, None), "http://localhost:1 k1 Saved");
        assert_eq!(find(None, Some(""), None), "http://localhost:1 k1 Saved");
        assert_eq!(find(Some("two"), None, None), "https://two.example k2 Saved");
        assert_eq!(find(Some("two"), None, Some("k")), "https://two.example k Environment");
        assert_eq!(find(None, Some("two.example/"), None), "https://two.example k2 Saved");
        assert_eq!(find(None, Some("http://other"), Some("k")), "http://other k Environment");
        assert_eq!(find(None, Some("http://other"), None), "NotSignedIn");
        assert_eq!(find(Some("three"), None, None), "NotSignedIn");
        assert_eq!(find(Some("two"), Some("http://other"), None), "Usage");
    }
}

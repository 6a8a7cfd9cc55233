//! Which pages a site asks programs not to read (RFC 9309).

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use reqwest::Method;
use robotxt::{AccessResult, Robots};
use url::Url;

use crate::failure::{Failure, FailureKind};
use crate::gate::Gate;
use crate::ssrf_guard::{Client, NetworkPolicy, REDIRECTS_MAX, Request};

/// What lies beyond is not read, as the standard has it.
const BYTES_MAX: usize = 500 * 1024;
const DEADLINE: Duration = Duration::from_secs(10);
/// As long as the standard allows.
const KEPT_FOR: SignedDuration = SignedDuration::from_hours(24);
const ORIGINS_MAX: usize = 1_000;

/// The rules of the origins visited lately, each fetched once by whoever comes first.
#[derive(Debug, Default)]
pub(super) struct Rules(Mutex<HashMap<String, Arc<Origin>>>);

type Origin = tokio::sync::Mutex<Option<(Arc<Robots>, Timestamp)>>;

impl Rules {
    /// Fails if the site does not want this page read, or cannot be asked.
    pub(super) async fn check(&self, client: &Client, url: &Url, gate: &dyn Gate) -> Result<(), Failure> {
        let robots = self.robots(client, url, gate).await?;
        if robots.is_none_or(|robots| robots.is_url_allowed(url)) {
            return Ok(());
        }
        let words =
            "The site's robots.txt disallows this page. Set `respectRobots` to false to read it anyway.";
        Err(Failure::new(FailureKind::Blocked, words))
    }

    /// The rules of a page's site, if it can have any.
    pub(super) async fn robots(
        &self,
        client: &Client,
        url: &Url,
        gate: &dyn Gate,
    ) -> Result<Option<Arc<Robots>>, Failure> {
        match robotxt::robots_url(url) {
            Ok(robots_url) => self.of(client, robots_url, gate).await.map(Some),
            Err(_) => Ok(None),
        }
    }

    /// The rules of a page's site, if nobody needs to be asked.
    pub(super) fn known(&self, url: &Url, now: Timestamp) -> Option<Arc<Robots>> {
        let robots_url = robotxt::robots_url(url).ok()?;
        let origin = Arc::clone(self.0.lock().get(robots_url.as_str())?);
        let kept = origin.try_lock().ok()?;
        kept.as_ref().filter(|(_, until)| *until > now).map(|(robots, _)| Arc::clone(robots))
    }

    async fn of(&self, client: &Client, robots_url: Url, gate: &dyn Gate) -> Result<Arc<Robots>, Failure> {
        let origin = self.origin(robots_url.as_str(), client.clock().now());
        // Held while the file is fetched, so that it is fetched once.
        let mut kept = origin.lock().await;
        let now = client.clock().now();
        if let Some((robots, until)) = kept.as_ref()
            && *until > now
        {
            return Ok(Arc::clone(robots));
        }
        let robots = Arc::new(fetch(client, robots_url, gate).await?);
        let until = now.saturating_add(KEPT_FOR).unwrap_or(Timestamp::MAX);
        *kept = Some((Arc::clone(&robots), until));
        Ok(robots)
    }

    fn origin(&self, key: &str, now: Timestamp) -> Arc<Origin> {
        let mut origins = self.0.lock();
        if origins.len() >= ORIGINS_MAX && !origins.contains_key(key) {
            make_room(&mut origins, now);
        }
        Arc::clone(origins.entry(key.to_owned()).or_default())
    }
}

/// Forgets what is out of date, and if that is nothing, all that nobody is fetching.
fn make_room(origins: &mut HashMap<String, Arc<Origin>>, now: Timestamp) {
    let is_fresh = |origin: &Arc<Origin>| match origin.try_lock() {
        Ok(kept) => kept.as_ref().is_some_and(|(_, until)| *until > now),
        Err(_) => true,
    };
    origins.retain(|_, origin| is_fresh(origin));
    if origins.len() >= ORIGINS_MAX {
        origins.retain(|_, origin| origin.try_lock().is_err());
    }
}

async fn fetch(client: &Client, url: Url, gate: &dyn Gate) -> Result<Robots, Failure> {
    let request = Request::new(Method::GET, url, NetworkPolicy::Guarded)
        .redirects(REDIRECTS_MAX)
        .bytes_max(BYTES_MAX)
        .cut_short()
        .deadline(DEADLINE);
    gate.acquire().await;
    // The name that sites know us by.
    let agent = client.user_agent().product();
    let answer = match client.send(request).await {
        Ok(answer) => answer,
        // Redirects without end are no rules.
        Err(failure) if failure.kind == FailureKind::ProviderError && !failure.is_transient => {
            return Ok(Robots::from_access(AccessResult::TooManyRedirects, agent));
        }
        Err(failure) => return Err(failure),
    };
    match answer.status {
        200..300 => Ok(Robots::from_access(AccessResult::Successful(&answer.body), agent)),
        500.. => {
            let failure = answer.failure("The site's robots.txt");
            // Until the site says what may be read, nothing may.
            Err(failure.with_transient(true))
        }
        _ => Ok(Robots::from_access(AccessResult::Unavailable, agent)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_is_bounded() {
        let rules = Rules::default();
        let now = Timestamp::UNIX_EPOCH;
        for number in 0..ORIGINS_MAX * 3 {
            let origin = rules.origin(&format!("https://{number}.example/robots.txt"), now);
            let until = now.saturating_add(KEPT_FOR).unwrap();
            *origin.try_lock().unwrap() = Some((Arc::new(Robots::allow_all()), until));
        }
        let kept = rules.0.lock();
        assert!(kept.len() <= ORIGINS_MAX);
        assert!(kept.contains_key(&format!("https://{}.example/robots.txt", ORIGINS_MAX * 3 - 1)));
    }
}

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
/// What all rules together may take, about.
const KEPT_BYTES_MAX: usize = 64 * 1024 * 1024;
/// What a byte of a file takes once it is read: the shortest rule has eight.
const READ_BYTE_TAKES: usize = 8;

/// The rules of the origins visited lately, each fetched once by whoever comes first.
#[derive(Debug, Default)]
pub(super) struct Rules(Mutex<HashMap<String, Arc<Origin>>>);

type Origin = tokio::sync::Mutex<Option<Kept>>;

#[derive(Debug, Clone)]
struct Kept {
    robots: Arc<Robots>,
    until: Timestamp,
    /// What it takes, about.
    bytes: usize,
}

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
        kept.as_ref().filter(|kept| kept.until > now).map(|kept| Arc::clone(&kept.robots))
    }

    async fn of(&self, client: &Client, robots_url: Url, gate: &dyn Gate) -> Result<Arc<Robots>, Failure> {
        let origin = self.origin(robots_url.as_str(), client.clock().now());
        // Held while the file is fetched, so that it is fetched once.
        let mut kept = origin.lock().await;
        let now = client.clock().now();
        if let Some(Kept { robots, until, .. }) = kept.as_ref()
            && *until > now
        {
            return Ok(Arc::clone(robots));
        }
        let (robots, bytes) = fetch(client, robots_url, gate).await?;
        let robots = Arc::new(robots);
        let until = now.saturating_add(KEPT_FOR).unwrap_or(Timestamp::MAX);
        *kept = Some(Kept { robots: Arc::clone(&robots), until, bytes: bytes * READ_BYTE_TAKES });
        drop(kept);
        make_room(&mut self.0.lock(), now);
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

/// Forgets what is out of date, and as many of the oldest as are too many or take too much. Those that somebody is
/// fetching stay.
fn make_room(origins: &mut HashMap<String, Arc<Origin>>, now: Timestamp) {
    let sum = |origins: &HashMap<String, Arc<Origin>>| -> usize {
        let bytes = |origin: &Arc<Origin>| origin.try_lock().ok()?.as_ref().map(|kept| kept.bytes);
        origins.values().filter_map(bytes).sum()
    };
    let mut bytes = sum(origins);
    if origins.len() < ORIGINS_MAX && bytes <= KEPT_BYTES_MAX {
        return;
    }
    let is_fresh = |origin: &Arc<Origin>| match origin.try_lock() {
        Ok(kept) => kept.as_ref().is_some_and(|kept| kept.until > now),
        Err(_) => true,
    };
    origins.retain(|_, origin| is_fresh(origin));
    let kept = |(key, origin): (&String, &Arc<Origin>)| {
        let kept = origin.try_lock().ok()?.clone()?;
        Some((kept.until, kept.bytes, key.clone()))
    };
    let mut by_age: Vec<(Timestamp, usize, String)> = origins.iter().filter_map(kept).collect();
    by_age.sort_unstable();
    for (_, of_oldest, key) in by_age {
        if origins.len() < ORIGINS_MAX && bytes <= KEPT_BYTES_MAX {
            return;
        }
        origins.remove(&key);
        bytes = bytes.saturating_sub(of_oldest);
    }
}

/// The rules of a site, and how long their file is.
async fn fetch(client: &Client, url: Url, gate: &dyn Gate) -> Result<(Robots, usize), Failure> {
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
            return Ok((Robots::from_access(AccessResult::TooManyRedirects, agent), 0));
        }
        Err(failure) => return Err(failure),
    };
    match answer.status {
        200..300 => {
            Ok((Robots::from_access(AccessResult::Successful(&answer.body), agent), answer.body.len()))
        }
        500.. => {
            let failure = answer.failure("The site's robots.txt");
            // Until the site says what may be read, nothing may.
            Err(failure.with_transient(true))
        }
        _ => Ok((Robots::from_access(AccessResult::Unavailable, agent), 0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keeps the rules of so many sites, one after the other; the oldest first.
    fn keep(rules: &Rules, sites: usize, bytes: usize) {
        for number in 0..sites {
            let now = Timestamp::from_second(i64::try_from(number).unwrap()).unwrap();
            let origin = rules.origin(&format!("https://{number}.example/robots.txt"), now);
            let until = now.saturating_add(KEPT_FOR).unwrap();
            *origin.try_lock().unwrap() = Some(Kept { robots: Arc::new(Robots::allow_all()), until, bytes });
            make_room(&mut rules.0.lock(), now);
        }
    }

    #[test]
    fn the_cache_is_bounded() {
        for (bytes, most) in [(0, ORIGINS_MAX), (4_000_000, KEPT_BYTES_MAX / 4_000_000)] {
            let rules = Rules::default();
            keep(&rules, ORIGINS_MAX * 3, bytes);
            let kept = rules.0.lock();
            assert!(kept.len() <= most && kept.len() + 2 > most, "{} of {most}", kept.len());
            assert!(kept.contains_key(&format!("https://{}.example/robots.txt", ORIGINS_MAX * 3 - 1)));
        }
    }
}

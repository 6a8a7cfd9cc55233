//! Rate limits of the API, as token buckets: how often one caller may call.

use std::collections::HashMap;
use std::fmt::Debug;
use std::hash::Hash;
use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::http::header::{HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use rowmill_app::shared_rates::{RateGrant, RateRequest};
use rowmill_clock::Clock;
use rowmill_model::Spacing;
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

pub(crate) const LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
pub(crate) const REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
pub(crate) const RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");

/// The rates of the contract, and that of a team. All settable; none means no limit.
#[derive(Debug, Clone)]
pub struct Rates {
    /// Per API key.
    pub key: Option<Rate>,
    /// All keys of a team together.
    pub team: Option<Rate>,
    /// Reads without a key, per client address.
    pub anonymous: Option<Rate>,
    /// Webhook deliveries, per team.
    pub webhook: Option<Rate>,
    /// Wrong keys, per client address. Right keys are never held up by it, so nobody is locked out.
    pub auth_failures: Option<Rate>,
}

impl Default for Rates {
    fn default() -> Self {
        let rate = |per_second, burst| Some(Rate { per_second, burst });
        Self {
            key: rate(100, 200),
            team: rate(400, 800),
            anonymous: rate(20, 40),
            webhook: rate(100, 500),
            auth_failures: rate(5, 20),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    pub per_second: u32,
    pub burst: u32,
}

impl Rate {
    /// The rate of a team whose keys have this one.
    #[must_use]
    pub fn of_team(self) -> Self {
        let times = |number: u32| number.saturating_mul(4);
        Self { per_second: times(self.per_second), burst: times(self.burst) }
    }

    /// `"100/200"` is 100 a second with bursts of 200; `"0"` is no limit.
    pub fn parse(text: &str) -> Result<Option<Self>, String> {
        if text.trim() == "0" {
            return Ok(None);
        }
        text.parse().map(Some)
    }
}

impl FromStr for Rate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |part: &str| part.trim().parse::<u32>().ok().filter(|number| *number > 0);
        text.split_once('/')
            .and_then(|(rate, burst)| Some(Self { per_second: number(rate)?, burst: number(burst)? }))
            .ok_or_else(|| {
                format!(
                    "{text:?} is not a rate; write requests per second and burst as 100/200, or 0 for no limit"
                )
            })
    }
}

/// Where a caller stands after a request was counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimitStatus {
    pub is_allowed: bool,
    /// The burst: what a rested caller may send at once.
    pub limit: u32,
    pub remaining: u32,
    /// When the bucket will be full again.
    pub reset_unix_seconds: u64,
    /// When the next request will be let through; 0 if it was.
    pub retry_after_seconds: u64,
}

impl RateLimitStatus {
    /// The narrower of two limits that both count a request.
    pub(crate) fn narrower(self, other: Self) -> Self {
        let remaining = |status: &Self| (status.is_allowed, status.remaining);
        if remaining(&other) < remaining(&self) { other } else { self }
    }

    pub(crate) fn write_headers(&self, headers: &mut HeaderMap) {
        headers.insert(LIMIT, self.limit.into());
        headers.insert(REMAINING, self.remaining.into());
        headers.insert(RESET, HeaderValue::from(self.reset_unix_seconds));
        if !self.is_allowed {
            headers.insert(RETRY_AFTER, HeaderValue::from(self.retry_after_seconds));
        }
    }
}

/// One bucket per caller, in bounded memory: a bucket that is full again is as good as none, and
/// callers beyond [`CALLERS_MAX`] share one.
pub struct TokenBuckets<K> {
    /// What is counted. Callers of different buckets may have the same name.
    kind: &'static str,
    rate: Rate,
    clock: Arc<dyn Clock>,
    state: Mutex<State<K>>,
}

const CALLERS_MAX: usize = 100_000;
const SWEEP_EVERY: Duration = Duration::from_secs(1);
/// Callers of whom other nodes hear at a time.
const SYNCED_MAX: usize = 1_000;

struct State<K> {
    /// `None` is the bucket shared by those who come when there is no room left.
    buckets: HashMap<Option<K>, TokenBucket>,
    swept_at: Instant,
}

#[derive(Clone, Copy)]
struct TokenBucket {
    /// Fewer than none if more was spent on other nodes than anybody knew.
    tokens: f64,
    at: Instant,
    /// Spent here, and not known to other nodes.
    unsynced: u32,
}

impl<K: Hash + Eq + Clone + Debug> TokenBuckets<K> {
    pub fn new(kind: &'static str, rate: Rate, clock: Arc<dyn Clock>) -> Self {
        let state = State { buckets: HashMap::new(), swept_at: clock.monotonic() };
        Self { kind, rate, clock, state: Mutex::new(state) }
    }

    /// Counts one request of this caller.
    pub fn take(&self, caller: K) -> RateLimitStatus {
        let now = self.clock.monotonic();
        // A panic while counting leaves nothing half-done that matters.
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        self.sweep(&mut state, now);
        let has_room = state.buckets.len() < CALLERS_MAX;
        let mut caller = Some(caller);
        if !has_room && !state.buckets.contains_key(&caller) {
            caller = None;
        }
        let fresh = TokenBucket { tokens: f64::from(self.rate.burst), at: now, unsynced: 0 };
        let bucket = state.buckets.entry(caller).or_insert(fresh);
        bucket.tokens = self.tokens(bucket, now);
        bucket.at = now;
        let is_allowed = bucket.tokens >= 1.0;
        if is_allowed {
            bucket.tokens -= 1.0;
            bucket.unsynced = bucket.unsynced.saturating_add(1);
        }
        let tokens = bucket.tokens;
        drop(state);
        self.standing(is_allowed, tokens)
    }

    fn tokens(&self, bucket: &TokenBucket, now: Instant) -> f64 {
        let gained = now.duration_since(bucket.at).as_secs_f64() * f64::from(self.rate.per_second);
        (bucket.tokens + gained).min(f64::from(self.rate.burst))
    }

    fn standing(&self, is_allowed: bool, tokens: f64) -> RateLimitStatus {
        let rate = f64::from(self.rate.per_second);
        let until = |wanted: f64| ((wanted - tokens).max(0.0) / rate).ceil();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and u32::MAX")]
        let (remaining, full_in, one_in) =
            (tokens as u32, until(f64::from(self.rate.burst)) as u64, until(1.0).max(1.0) as u64);
        RateLimitStatus {
            is_allowed,
            limit: self.rate.burst,
            remaining,
            reset_unix_seconds: u64::try_from(self.clock.now().as_second()).unwrap_or_default() + full_in,
            retry_after_seconds: if is_allowed { 0 } else { one_in },
        }
    }

    /// What other nodes should hear of. Of those who share a bucket they need not.
    pub(crate) fn unsynced(&self) -> Vec<(K, RateRequest)> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let spent = state.buckets.iter_mut().filter(|(_, bucket)| bucket.unsynced > 0);
        let ask = |(caller, bucket): (&Option<K>, &mut TokenBucket)| {
            let caller = caller.clone()?;
            let spacings = vec![Spacing::of_bucket(self.rate.per_second, self.rate.burst)];
            let done = std::mem::take(&mut bucket.unsynced);
            let key = self.name(&caller);
            Some((caller, RateRequest { key, spacings, done, unused: 0, wanted: 0, pause: Duration::ZERO }))
        };
        spent.filter_map(ask).take(SYNCED_MAX).collect()
    }

    /// Takes in how a bucket stands after all nodes were heard.
    pub(crate) fn apply_shared(&self, caller: K, answer: &RateGrant) {
        let now = self.clock.monotonic();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bucket) = state.buckets.get_mut(&Some(caller)) {
            let due_in = answer.due_in.first().copied().unwrap_or_default().as_secs_f64();
            let spent = due_in * f64::from(self.rate.per_second) + f64::from(bucket.unsynced);
            (bucket.tokens, bucket.at) = (f64::from(self.rate.burst) - spent, now);
        }
    }

    /// The same on all nodes.
    fn name(&self, caller: &K) -> Uuid {
        let digest = Sha256::digest(format!("{} {caller:?}", self.kind));
        Uuid::from_slice(digest.get(..16).unwrap_or_default()).unwrap_or_default()
    }

    /// Drops what is full again, at most once a second.
    fn sweep(&self, state: &mut State<K>, now: Instant) {
        if now.duration_since(state.swept_at) < SWEEP_EVERY {
            return;
        }
        state.swept_at = now;
        let is_full = |bucket: &TokenBucket| self.tokens(bucket, now) >= f64::from(self.rate.burst);
        state.buckets.retain(|_, bucket| !is_full(bucket));
    }
}

impl<K> Debug for TokenBuckets<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TokenBuckets").field("rate", &self.rate).finish_non_exhaustive()
    }
}

/// The buckets behind [`Rates`].
#[derive(Debug)]
pub(crate) struct RateLimiters {
    pub key: Option<TokenBuckets<u128>>,
    pub team: Option<TokenBuckets<u128>>,
    pub anonymous: Option<TokenBuckets<IpAddr>>,
    pub webhook: Option<TokenBuckets<String>>,
    pub auth_failures: Option<TokenBuckets<IpAddr>>,
}

impl RateLimiters {
    pub(crate) fn new(rates: &Rates, clock: &Arc<dyn Clock>) -> Self {
        let Rates { key, team, anonymous, webhook, auth_failures } = rates;
        Self {
            key: key.map(|rate| TokenBuckets::new("key", rate, Arc::clone(clock))),
            team: team.map(|rate| TokenBuckets::new("team", rate, Arc::clone(clock))),
            anonymous: anonymous.map(|rate| TokenBuckets::new("anonymous", rate, Arc::clone(clock))),
            webhook: webhook.map(|rate| TokenBuckets::new("webhook", rate, Arc::clone(clock))),
            auth_failures: auth_failures.map(|rate| TokenBuckets::new("failures", rate, Arc::clone(clock))),
        }
    }
}

impl RateLimiters {
    /// Counts one request of a key, and of its team. A key that is refused costs its team nothing.
    pub(crate) fn key_and_team(&self, key: u128, team: u128) -> Option<RateLimitStatus> {
        let of_key = self.key.as_ref().map(|buckets| buckets.take(key));
        if of_key.is_some_and(|status| !status.is_allowed) {
            return of_key;
        }
        let of_team = self.team.as_ref().map(|buckets| buckets.take(team));
        match (of_key, of_team) {
            (Some(of_key), Some(of_team)) => Some(of_key.narrower(of_team)),
            (of_key, of_team) => of_key.or(of_team),
        }
    }

    /// Counts one failed try to be let in.
    pub(crate) fn auth_failure(&self, client: IpAddr) -> Option<RateLimitStatus> {
        self.auth_failures.as_ref().map(|buckets| buckets.take(client_of(client)))
    }
}

/// What stands for a client: its address, or for IPv6 its /64, since whoever has one has all of it.
pub(crate) fn client_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << 64))),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use async_trait::async_trait;
    use jiff::Timestamp;
    use rowmill_clock::SystemClock;

    use super::*;

    #[derive(Debug)]
    struct FakeClock {
        started: Instant,
        advanced_ms: AtomicU64,
    }

    impl FakeClock {
        fn advance(&self, milliseconds: u64) {
            self.advanced_ms.fetch_add(milliseconds, Ordering::Relaxed);
        }

        fn advanced(&self) -> Duration {
            Duration::from_millis(self.advanced_ms.load(Ordering::Relaxed))
        }
    }

    #[async_trait]
    impl Clock for FakeClock {
        fn now(&self) -> Timestamp {
            Timestamp::from_second(1_000).unwrap() + self.advanced()
        }

        fn monotonic(&self) -> Instant {
            self.started + self.advanced()
        }

        async fn sleep(&self, duration: Duration) {
            self.advance(u64::try_from(duration.as_millis()).unwrap());
        }
    }

    fn buckets(per_second: u32, burst: u32) -> (Arc<FakeClock>, TokenBuckets<u32>) {
        let (started, advanced_ms) = (SystemClock.monotonic(), AtomicU64::new(0));
        let clock = Arc::new(FakeClock { started, advanced_ms });
        (Arc::clone(&clock), TokenBuckets::new("test", Rate { per_second, burst }, clock))
    }

    #[test]
    fn a_burst_then_the_rate() {
        let (clock, buckets) = buckets(2, 3);
        let remaining: Vec<_> = (0..3).map(|_| buckets.take(1).remaining).collect();
        assert_eq!(remaining, [2, 1, 0]);
        let refused = RateLimitStatus {
            is_allowed: false,
            limit: 3,
            remaining: 0,
            reset_unix_seconds: 1_002,
            retry_after_seconds: 1,
        };
        assert_eq!(buckets.take(1), refused);
        assert!(buckets.take(2).is_allowed, "another caller has a bucket of its own");
        clock.advance(500);
        assert!(buckets.take(1).is_allowed);
        assert!(!buckets.take(1).is_allowed);
        clock.advance(60_000);
        assert_eq!(buckets.take(1).remaining, 2, "never more than the burst");
    }

    #[test]
    fn what_other_nodes_let_through_counts() {
        let ((clock, here), (_, there)) = (buckets(2, 3), buckets(2, 3));
        assert!((0..3).all(|_| here.take(1).is_allowed));
        assert!((0..2).all(|_| there.take(1).is_allowed));
        // Five were let through where three should have been.
        let (mut due, mut rests_until) = (Vec::new(), 0);
        for (caller, ask) in there.unsynced().into_iter().chain(here.unsynced()) {
            let answer = ask.decide(&mut due, &mut rests_until, 0);
            here.apply_shared(caller, &answer);
        }
        assert!(here.unsynced().is_empty());
        clock.advance(1_400);
        assert!(!here.take(1).is_allowed, "what was too much is paid back");
        clock.advance(110);
        assert!(here.take(1).is_allowed);
        assert_eq!(here.unsynced().len(), 1);
    }

    #[test]
    fn full_buckets_are_forgotten() {
        let (clock, buckets) = buckets(1, 2);
        for caller in 0..50 {
            buckets.take(caller);
        }
        clock.advance(500);
        buckets.take(99);
        assert_eq!(buckets.state.lock().unwrap().buckets.len(), 51);
        clock.advance(1_000);
        buckets.take(99);
        assert_eq!(buckets.state.lock().unwrap().buckets.len(), 1);
    }

    #[test]
    fn memory_is_bounded() {
        let (_clock, buckets) = buckets(1, 2);
        let callers = u32::try_from(CALLERS_MAX).unwrap() + 10;
        let last = (0..callers).map(|caller| buckets.take(caller)).last().unwrap();
        assert_eq!(buckets.state.lock().unwrap().buckets.len(), CALLERS_MAX + 1);
        assert!(!last.is_allowed, "latecomers share one bucket");
        assert!(buckets.take(0).is_allowed, "those who were there before keep theirs");
    }

    #[test]
    fn rates_are_written_as_two_numbers() {
        assert_eq!(Rate::parse("100/200"), Ok(Some(Rate { per_second: 100, burst: 200 })));
        assert_eq!(Rate::parse("0"), Ok(None));
        for wrong in ["", "5", "5/0", "0/5", "-1/5", "a/b", "1/2/3"] {
            assert!(Rate::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn ipv6_clients_are_counted_by_network() {
        let check = |address: &str, client: &str| {
            assert_eq!(client_of(address.parse().unwrap()), client.parse::<IpAddr>().unwrap());
        };
        check("192.0.2.7", "192.0.2.7");
        check("::ffff:192.0.2.7", "192.0.2.7");
        check("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::");
    }
}

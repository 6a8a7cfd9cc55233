//! What the tests share: a client, a clock that does not wait, accesses.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use jiff::Timestamp;
use rowmill_clock::{Clock, SystemClock};
use rowmill_providers::{Access, AllowList, Client, NetworkPolicy, Secret};
use url::Url;

/// Planted as every credential; found in nothing that is emitted.
pub(crate) const CANARY: &str = "canary/7f3a\"key";

/// Remembers how long it was asked to wait, and does not.
#[derive(Debug, Default)]
pub(crate) struct FakeClock(Mutex<Vec<Duration>>);

impl FakeClock {
    pub(crate) fn waited(&self) -> Vec<Duration> {
        self.0.lock().unwrap().clone()
    }
}

#[async_trait]
impl Clock for FakeClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_second(784_111_777).unwrap()
    }

    fn monotonic(&self) -> Instant {
        SystemClock.monotonic()
    }

    async fn sleep(&self, duration: Duration) {
        self.0.lock().unwrap().push(duration);
    }
}

pub(crate) fn client(allow: &str) -> Client {
    client_at(allow, Arc::default())
}

pub(crate) fn client_at(allow: &str, clock: Arc<FakeClock>) -> Client {
    Client::new(AllowList::parse(allow).unwrap(), clock).unwrap()
}

/// As from the operator's environment.
pub(crate) fn trusted(base_url: &Url) -> Access {
    Access {
        base_url: base_url.clone(),
        network_policy: NetworkPolicy::Trusted,
        api_key: Some(Secret::new(CANARY)),
    }
}

/// No way of printing may show the canary.
pub(crate) fn assert_clean(emitted: &impl std::fmt::Debug) {
    let text = format!("{emitted:?} {emitted:#?}");
    assert!(!text.contains("canary"), "{text}");
}

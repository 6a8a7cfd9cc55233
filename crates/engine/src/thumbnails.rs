//! Thumbnails of images in cells. Each is made once for everybody in a team who waits for it, and kept for a while.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use rowmill_fairness::{FairSemaphore, Tenant};
use rowmill_model::TeamId;
use rowmill_providers::scrape::{self, Thumbnail};
use rowmill_providers::{Failure, FailureKind};

use crate::digest::Digest;
use crate::single_flight::SingleFlight;

/// Images that are fetched or decoded at the same time: of all teams, and of one. Each is in memory meanwhile.
const AT_ONCE_MAX: usize = 12;
const TEAM_AT_ONCE_MAX: usize = 4;
/// The wait for a turn, the fetch and the decoding together.
const TIME_MAX: Duration = Duration::from_secs(30);
/// What is kept in memory, and for how long. A failure is kept so that a page that shows it again does not ask again.
const KEPT_MAX: usize = 4_096;
const KEPT_BYTES_MAX: usize = 32 * 1024 * 1024;
const KEPT_FOR: Duration = Duration::from_hours(1);
const FAILURE_KEPT_FOR: Duration = Duration::from_mins(5);
const TRANSIENT_KEPT_FOR: Duration = Duration::from_secs(20);
/// What an entry takes beside its bytes.
const ENTRY_BYTES: usize = 256;

type Made = Result<Arc<Thumbnail>, Arc<Failure>>;

/// Makes thumbnails, in turns.
#[derive(Debug)]
pub struct Thumbnails {
    maker: scrape::Thumbnails,
    single_flight: SingleFlight<Made>,
    turns: Arc<FairSemaphore>,
}

impl Thumbnails {
    pub fn new(maker: scrape::Thumbnails) -> Self {
        Self {
            maker,
            single_flight: SingleFlight::new(KEPT_MAX, KEPT_BYTES_MAX),
            turns: FairSemaphore::new(AT_ONCE_MAX, TEAM_AT_ONCE_MAX),
        }
    }

    /// The thumbnail of the image at an address. Dropping the future ends the work, unless others wait for it.
    pub async fn of(&self, team: TeamId, address: &str) -> Result<Arc<Thumbnail>, Arc<Failure>> {
        // By team, so that nobody learns by the time it takes what others look at.
        let key = Digest::of([team.to_string().as_str(), address]);
        let now = self.maker.clock().now();
        if let Some(made) = self.single_flight.find(key, now) {
            count("hit");
            return made;
        }
        count("miss");
        let kept = |made: &Made| Some((bytes_of(made), now_plus(self.maker.clock().now(), kept_for(made))));
        self.single_flight.run(key, Some(now), self.make(address), |_| true, kept).await.0
    }

    async fn make(&self, address: &str) -> Made {
        let work = async {
            let _turn = self.turns.acquire(Tenant::current()).await;
            self.maker.make(address).await
        };
        let made = tokio::time::timeout(TIME_MAX, work).await.unwrap_or_else(|_| {
            let words = format!("The image was not ready within {} seconds.", TIME_MAX.as_secs());
            Err(Failure::new(FailureKind::TimedOut, words))
        });
        made.map(Arc::new).map_err(Arc::new)
    }
}

fn kept_for(made: &Made) -> Duration {
    match made {
        Ok(_) => KEPT_FOR,
        Err(failure) if failure.is_transient => TRANSIENT_KEPT_FOR,
        Err(_) => FAILURE_KEPT_FOR,
    }
}

fn bytes_of(made: &Made) -> usize {
    ENTRY_BYTES + made.as_ref().map_or_else(|failure| failure.message.len(), |made| made.bytes.len())
}

fn now_plus(now: Timestamp, time: Duration) -> Timestamp {
    now.saturating_add(time).unwrap_or(Timestamp::MAX)
}

fn count(result: &'static str) {
    metrics::counter!("rowmill_cache_lookups_total", "cache" => "thumbnails", "result" => result)
        .increment(1);
}

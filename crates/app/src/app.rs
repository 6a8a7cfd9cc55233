//! The application: everything the use cases share.
//!
//! The use cases are methods of [`App`]. Each module implements its own.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rowmill_clock::Clock;
use rowmill_fairness::{FairSemaphore, KeyedMutex};
use rowmill_model::{Limits, ProjectId, TeamId};
use rowmill_query::{Budget, Query};
use rowmill_store::{Change, Store};

use crate::credential_cache::CredentialCache;
use crate::environment::Environment;
use crate::error::{Error, Result};
use crate::event_hub::EventHub;
use crate::event_streams::Streams;
use crate::key_cache::KeyCache;
use crate::pattern_checks::PatternChecks;
use crate::quotas::Quotas;
use crate::received_log::ReceivedLog;
use crate::sequences::Sequences;
use crate::sign_in_link::SignInLink;
use crate::tester::Tester;
use crate::thumbnailer::Thumbnailer;
use crate::vault::Vault;

/// For how long deleted things can be restored, unless the operator says otherwise.
const KEEPS_DELETED_FOR: Duration = Duration::from_hours(30 * 24);

/// For how long what inbound webhooks received is kept, unless the operator says otherwise.
const KEEPS_RECEIVED_FOR: Duration = Duration::from_hours(7 * 24);

/// Calls of comparisons at the same time: of all teams, and of one.
const COMPARING_MAX: usize = 32;
const COMPARING_EACH_MAX: usize = 8;

/// Everything the use cases need.
#[derive(Debug)]
pub struct App {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) query: Query,
    pub(crate) limits: Limits,
    pub(crate) quotas: Quotas,
    /// For how long deleted things can be restored.
    pub(crate) keeps_deleted_for: Duration,
    /// For how long what inbound webhooks received is kept.
    pub(crate) keeps_received_for: Duration,
    pub(crate) received_log: Arc<ReceivedLog>,
    pub(crate) vault: Vault,
    pub(crate) environment: Environment,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) keys: KeyCache,
    pub(crate) link: SignInLink,
    pub(crate) tester: Tester,
    pub(crate) thumbnailer: OnceLock<Arc<dyn Thumbnailer>>,
    /// Calls of comparisons at the same time.
    pub(crate) comparing: Arc<FairSemaphore>,
    pub(crate) credential_cache: CredentialCache,
    pub(crate) pattern_checks: PatternChecks,
    /// By the team that changes a project and its id: others wait neither for its turn to compute nor for its decision.
    pub(crate) altering: KeyedMutex<(TeamId, ProjectId)>,
    /// By the names of runs that are started with an idempotency key.
    pub(crate) repeating: KeyedMutex<[u8; 32]>,
    /// Held while the bytes of old projects are counted.
    pub(crate) counting: tokio::sync::Mutex<()>,
    pub(crate) hub: Arc<EventHub>,
    pub(crate) streams: Arc<Streams>,
    pub(crate) sequences: Arc<Sequences>,
    /// One permit a copy whose rows this process copies.
    pub(crate) copies: Arc<FairSemaphore>,
    /// Told when this process has queued an import.
    pub(crate) import_queued: tokio::sync::Notify,
    is_stopping: AtomicBool,
}

impl App {
    pub fn new(
        store: Arc<dyn Store>,
        limits: Limits,
        vault: Vault,
        environment: Environment,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let hub = Arc::new(EventHub::new(Arc::clone(&clock)));
        let told = Arc::clone(&hub);
        store.listen(Box::new(move |change| told.note(change)));
        let sequences = Arc::new(Sequences::default());
        let told = Arc::clone(&sequences);
        store.listen(Box::new(move |change| told.note(change)));
        let mut query = Query::new(Arc::clone(&store));
        query.set_patience(Duration::from_secs(limits.read_seconds_max.into()));
        let received_log = Arc::new(ReceivedLog::new(Arc::clone(&store), limits.inbound_bytes_max));
        Self {
            hub,
            streams: Streams::new(&limits),
            sequences,
            query,
            copies: FairSemaphore::new(limits.copies_max as usize, limits.copies_max.div_ceil(2) as usize),
            store,
            limits,
            quotas: Quotas::default(),
            keeps_deleted_for: KEEPS_DELETED_FOR,
            keeps_received_for: KEEPS_RECEIVED_FOR,
            received_log,
            vault,
            environment,
            clock,
            keys: KeyCache::default(),
            link: SignInLink::default(),
            tester: Tester::default(),
            thumbnailer: OnceLock::new(),
            comparing: FairSemaphore::new(COMPARING_MAX, COMPARING_EACH_MAX),
            credential_cache: CredentialCache::default(),
            pattern_checks: PatternChecks::default(),
            altering: KeyedMutex::default(),
            repeating: KeyedMutex::default(),
            counting: tokio::sync::Mutex::new(()),
            import_queued: tokio::sync::Notify::new(),
            is_stopping: AtomicBool::new(false),
        }
    }

    /// Has a listener told of every change to rows, in order and before whoever made it is answered. It must be quick.
    pub fn listen(&self, listener: impl Fn(&Change) + Send + Sync + 'static) {
        self.store.listen(Box::new(listener));
    }

    /// With these quotas for each team.
    #[must_use]
    pub fn with_quotas(self, quotas: Quotas) -> Self {
        Self { quotas, ..self }
    }

    /// With this time for which deleted things can be restored; none at all deletes at once.
    #[must_use]
    pub fn with_trash(self, keeps_deleted_for: Duration) -> Self {
        Self { keeps_deleted_for, ..self }
    }

    /// With this time for which what inbound webhooks received is kept.
    #[must_use]
    pub fn with_received(self, keeps_received_for: Duration) -> Self {
        Self { keeps_received_for, ..self }
    }

    /// How much memory the columns that views look at may take; a part of the machine's unless it is set.
    pub fn set_query_memory(&self, budget: Budget) {
        self.query.set_memory(budget.bytes());
    }

    /// The time of day by the clock that all nodes go by, in Unix milliseconds.
    pub fn now_ms(&self) -> i64 {
        self.clock.now_ms()
    }

    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// From now on balancers are told to send requests elsewhere. Those that come are still answered.
    pub fn begin_shutdown(&self) {
        self.is_stopping.store(true, Ordering::Release);
    }

    pub fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::Acquire)
    }

    /// Whether the store answers, and requests are welcome.
    pub async fn ready(&self) -> Result<()> {
        if self.is_stopping() {
            return Err(Error::Stopping);
        }
        Ok(self.store.ping().await?)
    }

    /// Loads columns that are likely to be asked for. For the start of a server, in the background.
    pub async fn warm_up(&self) {
        self.query.warm_up(self.clock.now()).await;
    }

    /// Finishes what was accepted and closes the store.
    pub async fn close(&self) -> Result<()> {
        self.query.flush().await;
        self.received_log.flush().await;
        Ok(self.store.close().await?)
    }
}

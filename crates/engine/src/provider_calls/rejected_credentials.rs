//! Credentials that a provider has rejected, so that it is not asked with them again and again.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use parking_lot::Mutex;
use rowmill_clock::Clock;
use rowmill_model::{ProjectId, Spent};
use rowmill_providers::Failure;
use tokio::sync::OwnedMutexGuard;

use super::shared_verdicts::{SharedVerdicts, Verdict};
use crate::cell_runner::Cell;
use crate::digest::Digest;

/// Credentials that are not asked again in a run: they are wrong, or their account is empty. The project's next
/// run asks again, and a new credential is another one.
///
/// With a credential that is not known to be good, one cell asks first and the others wait, on all nodes: a wrong key
/// is sent once, and not once by each worker. Calls that are under way when a good credential turns bad are lost.
#[derive(Debug, Default)]
pub(super) struct RejectedCredentials {
    known: Mutex<KnownAccounts>,
    /// None where there are no other nodes.
    shared: Option<SharedVerdicts>,
}

#[derive(Debug, Default)]
struct KnownAccounts {
    /// By project: in which run it was rejected, and how.
    rejected: BTreeMap<(ProjectId, Digest), (u64, Failure)>,
    /// When it was last not rejected.
    good: HashMap<Digest, Timestamp>,
    /// Who asks first, while nothing is known.
    first: HashMap<Digest, Arc<tokio::sync::Mutex<()>>>,
}

/// While it is held, others with the same credential wait.
pub(super) struct FirstCall(#[expect(dead_code, reason = "it is held")] OwnedMutexGuard<()>);

impl RejectedCredentials {
    const LEN_MAX: usize = 10_000;
    /// How long a cell waits for the first answer. A provider that takes longer is asked by all.
    const WAIT_MAX: Duration = Duration::from_secs(10);
    /// After this time without a call, one cell asks first again: the key may have been withdrawn meanwhile.
    const GOOD_FOR: Duration = Duration::from_mins(1);

    pub(super) fn new(shared: Option<SharedVerdicts>) -> Self {
        Self { known: Mutex::default(), shared }
    }

    /// How the credential was refused before in the run that the cell belongs to.
    pub(super) fn recall(&self, cell: &Cell, account: Digest) -> Option<Failure> {
        let run = cell.run?;
        let known = self.known.lock();
        let (_, failure) =
            known.rejected.get(&(cell.project.id, account)).filter(|(rejected_in, _)| *rejected_in == run)?;
        let message = format!("Not called again because of an earlier error: {}", failure.message);
        Some(Failure { message, spent: Spent::NOTHING, ..failure.clone() })
    }

    /// Waits until somebody else's first call with this credential is over, if nothing is known of it. Whoever gets a
    /// [`FirstCall`] makes it now. What became of the other's call must be looked up afterwards.
    pub(super) async fn wait_for_first(
        &self,
        cell: &Cell,
        account: Digest,
        clock: &dyn Clock,
    ) -> Option<FirstCall> {
        // A trial belongs to no run.
        let run = cell.run?;
        let gate = {
            let mut known = self.known.lock();
            if known.is_good(account, clock.now()) {
                return None;
            }
            if known.first.len() >= Self::LEN_MAX {
                known.first.retain(|_, gate| Arc::strong_count(gate) > 1);
            }
            Arc::clone(known.first.entry(account).or_default())
        };
        let first = tokio::select! {
            // A gate that is free is not waited for.
            biased;
            guard = gate.lock_owned() => guard,
            () = clock.sleep(Self::WAIT_MAX) => return None,
        };
        if self.known.lock().is_good(account, clock.now()) || self.recall(cell, account).is_some() {
            return None;
        }
        if let Some(shared) = &self.shared
            && let Some(verdict) = shared.wait(subject(cell, run, account), Self::WAIT_MAX, clock).await
        {
            self.learn(cell, account, &verdict, clock.now());
            return None;
        }
        Some(FirstCall(first))
    }

    /// Notes what became of a call: whether the credential was rejected.
    pub(super) async fn note<T>(
        &self,
        cell: &Cell,
        account: Digest,
        outcome: &Result<T, Failure>,
        clock: &dyn Clock,
    ) {
        let rejection = outcome.as_ref().err().filter(|failure| failure.kind.rejects_credential());
        let verdict = rejection.map_or(Verdict::Good, |failure| Verdict::Rejected(failure.clone()));
        let is_news = self.learn(cell, account, &verdict, clock.now());
        if let (Some(shared), Some(run), true) = (&self.shared, cell.run, is_news) {
            shared.tell(subject(cell, run, account), &verdict, clock).await;
        }
    }

    /// Whether it was news.
    fn learn(&self, cell: &Cell, account: Digest, verdict: &Verdict, now: Timestamp) -> bool {
        let mut known = self.known.lock();
        match verdict {
            Verdict::Good => {
                let is_news = !known.is_good(account, now);
                if known.good.len() >= Self::LEN_MAX {
                    // To forget one costs a wait.
                    known.good.clear();
                }
                known.good.insert(account, now);
                known.first.remove(&account);
                is_news
            }
            Verdict::Rejected(failure) => {
                known.good.remove(&account);
                let Some(run) = cell.run else { return false };
                if known.rejected.len() >= Self::LEN_MAX {
                    // To forget one costs a call.
                    known.rejected.clear();
                }
                let before = known.rejected.insert((cell.project.id, account), (run, failure.clone()));
                before.is_none_or(|(rejected_in, _)| rejected_in != run)
            }
        }
    }
}

impl KnownAccounts {
    fn is_good(&self, account: Digest, now: Timestamp) -> bool {
        let until =
            |at: &Timestamp| at.saturating_add(RejectedCredentials::GOOD_FOR).unwrap_or(Timestamp::MAX);
        self.good.get(&account).is_some_and(|at| until(at) > now)
    }
}

/// What a verdict is about: a credential in a run.
fn subject(cell: &Cell, run: u64, account: Digest) -> Digest {
    Digest::of(["credential", &cell.project.id.to_string(), &run.to_string(), &format!("{account:?}")])
}

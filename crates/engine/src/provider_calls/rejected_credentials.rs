//! Credentials that a provider has rejected, so that it is not asked with them again and again.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rowmill_clock::Clock;
use rowmill_model::{ProjectId, Spent};
use rowmill_providers::Failure;
use tokio::sync::OwnedMutexGuard;

use crate::cell_runner::Cell;
use crate::digest::Digest;

/// Credentials that are not asked again in a run: they are wrong, or their account is empty. The project's next
/// run asks again, and a new credential is another one. Each process finds out for itself.
///
/// With a credential that is not known to be good, one cell asks first and the others wait: a wrong key is sent once,
/// and not once by each worker.
#[derive(Debug, Default)]
pub(super) struct RejectedCredentials(Mutex<KnownAccounts>);

#[derive(Debug, Default)]
struct KnownAccounts {
    /// By project: in which run it was rejected, and how.
    rejected: BTreeMap<(ProjectId, Digest), (u64, Failure)>,
    /// Whose last call was not rejected.
    good: HashSet<Digest>,
    /// Who asks first, while nothing is known.
    first: HashMap<Digest, Arc<tokio::sync::Mutex<()>>>,
}

/// While it is held, others with the same credential wait.
pub(super) struct FirstCall(#[expect(dead_code, reason = "it is held")] OwnedMutexGuard<()>);

impl RejectedCredentials {
    const LEN_MAX: usize = 10_000;
    /// How long a cell waits for the first answer. A provider that takes longer is asked by all.
    const WAIT_MAX: Duration = Duration::from_secs(10);

    /// How the credential was refused before in the run that the cell belongs to.
    pub(super) fn recall(&self, cell: &Cell, account: Digest) -> Option<Failure> {
        let run = cell.run?;
        let known = self.0.lock();
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
        cell.run?;
        let gate = {
            let mut known = self.0.lock();
            if known.good.contains(&account) {
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
        let is_good = self.0.lock().good.contains(&account);
        (!is_good).then_some(FirstCall(first))
    }

    /// Notes what became of a call: whether the credential was rejected.
    pub(super) fn note<T>(&self, cell: &Cell, account: Digest, outcome: &Result<T, Failure>) {
        let mut known = self.0.lock();
        let rejection = outcome.as_ref().err().filter(|failure| failure.kind.rejects_credential());
        let Some(failure) = rejection else {
            if known.good.len() >= Self::LEN_MAX {
                // To forget one costs a wait.
                known.good.clear();
            }
            known.good.insert(account);
            known.first.remove(&account);
            return;
        };
        known.good.remove(&account);
        let Some(run) = cell.run else { return };
        if known.rejected.len() >= Self::LEN_MAX {
            // To forget one costs a call.
            known.rejected.clear();
        }
        known.rejected.insert((cell.project.id, account), (run, failure.clone()));
    }
}

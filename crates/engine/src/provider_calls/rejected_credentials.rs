//! Credentials that a provider has rejected, so that it is not asked with them again and again.

use std::collections::BTreeMap;

use parking_lot::Mutex;
use rowmill_model::{ProjectId, Spent};
use rowmill_providers::Failure;

use crate::cell_runner::Cell;
use crate::digest::Digest;

/// Credentials that are not asked again in a run: they are wrong, or their account is empty. The project's next
/// run asks again, and a new credential is another one. Each process finds out for itself.
#[derive(Debug, Default)]
pub(super) struct RejectedCredentials(Mutex<BTreeMap<(ProjectId, Digest), (u64, Failure)>>);

impl RejectedCredentials {
    const LEN_MAX: usize = 10_000;

    /// How the credential was refused before in the run that the cell belongs to.
    pub(super) fn recall(&self, cell: &Cell, account: Digest) -> Option<Failure> {
        let run = cell.run?;
        let accounts = self.0.lock();
        let (_, failure) =
            accounts.get(&(cell.project.id, account)).filter(|(rejected_in, _)| *rejected_in == run)?;
        let message = format!("Not called again because of an earlier error: {}", failure.message);
        Some(Failure { message, spent: Spent::NOTHING, ..failure.clone() })
    }

    /// Notes how a call failed, if the credential is why.
    pub(super) fn remember(&self, cell: &Cell, account: Digest, failure: &Failure) {
        let Some(run) = cell.run.filter(|_| failure.kind.rejects_credential()) else { return };
        let mut accounts = self.0.lock();
        if accounts.len() >= Self::LEN_MAX {
            // To forget one costs a call.
            accounts.clear();
        }
        accounts.entry((cell.project.id, account)).insert_entry((run, failure.clone()));
    }
}

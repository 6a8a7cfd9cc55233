//! Credentials that a provider has rejected, so that it is not asked with them again and again.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use parking_lot::Mutex;
use rowmill_model::Spent;
use rowmill_providers::Failure;
use rowmill_store::Lane;

use crate::digest::Digest;

/// Credentials that are not asked again in a run: they are wrong, or their account is empty. A run has no
/// end that can be seen from here, so they are forgotten after a while, and a new credential is another one.
#[derive(Debug, Default)]
pub(super) struct RejectedCredentials(Mutex<BTreeMap<(Lane, Digest), (Timestamp, Failure)>>);

impl RejectedCredentials {
    const LEN_MAX: usize = 10_000;
    const REMEMBERED_FOR: Duration = Duration::from_secs(10);

    pub(super) fn recall(&self, account: (Lane, Digest), now: Timestamp) -> Option<Failure> {
        let accounts = self.0.lock();
        let (_, failure) = accounts.get(&account).filter(|(until, _)| *until > now)?;
        let message = format!("Not called again because of an earlier error: {}", failure.message);
        Some(Failure { message, spent: Spent::NOTHING, ..failure.clone() })
    }

    pub(super) fn remember(&self, account: (Lane, Digest), failure: Failure, now: Timestamp) {
        let mut accounts = self.0.lock();
        if accounts.len() >= Self::LEN_MAX {
            accounts.retain(|_, (until, _)| *until > now);
        }
        if accounts.len() >= Self::LEN_MAX {
            accounts.clear();
        }
        let until = now.saturating_add(Self::REMEMBERED_FOR).unwrap_or(now);
        accounts.insert(account, (until, failure));
    }
}

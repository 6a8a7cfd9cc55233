//! A budget of bytes: in total, and a share of it per team.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rowmill_model::TeamId;
use tokio::sync::Notify;

/// A team may use this part of all at most, so that others find room.
const TEAM_PART: usize = 4;

#[derive(Debug)]
pub(crate) struct ByteBudget {
    total_max: usize,
    usage: Mutex<Usage>,
    freed: Notify,
}

/// Bytes in use.
#[derive(Debug, Default)]
struct Usage {
    total: usize,
    teams: HashMap<TeamId, usize>,
}

/// Bytes that are in use until this is dropped.
#[derive(Debug)]
pub(crate) struct Charge {
    budget: Arc<ByteBudget>,
    team: TeamId,
    bytes: usize,
}

impl ByteBudget {
    pub(crate) fn new(total_max: usize) -> Arc<Self> {
        Arc::new(Self { total_max, usage: Mutex::default(), freed: Notify::new() })
    }

    /// So many bytes for a team, if there is room for them before `wait` is over.
    pub(crate) async fn charge(
        self: &Arc<Self>,
        team: TeamId,
        bytes: usize,
        wait: Duration,
    ) -> Option<Charge> {
        let charged = async {
            loop {
                // Listened for before it is tried: what is freed between is not missed.
                let freed = self.freed.notified();
                let mut freed = std::pin::pin!(freed);
                freed.as_mut().enable();
                let mut charge = Charge { budget: Arc::clone(self), team, bytes: 0 };
                if charge.resize(bytes) {
                    return charge;
                }
                freed.await;
            }
        };
        tokio::time::timeout(wait, charged).await.ok()
    }
}

impl Charge {
    /// Takes more or gives some back. Says whether there was room.
    pub(crate) fn resize(&mut self, bytes: usize) -> bool {
        let total_max = self.budget.total_max;
        let mut usage = self.budget.usage.lock();
        let others = usage.total - self.bytes;
        let own = usage.teams.get(&self.team).copied().unwrap_or(0) - self.bytes;
        let is_more = bytes > self.bytes;
        if is_more && (others + bytes > total_max || own + bytes > total_max / TEAM_PART) {
            return false;
        }
        usage.total = others + bytes;
        if own + bytes == 0 {
            usage.teams.remove(&self.team);
        } else {
            usage.teams.insert(self.team, own + bytes);
        }
        let is_less = bytes < self.bytes;
        self.bytes = bytes;
        drop(usage);
        if is_less {
            self.budget.freed.notify_waiters();
        }
        true
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.resize(0);
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[tokio::test]
    async fn a_team_has_its_share_and_all_have_the_total() {
        let budget = ByteBudget::new(100);
        let now = Duration::ZERO;
        let team = |number| TeamId(Uuid::from_u128(number));
        let mut first = budget.charge(team(1), 20, now).await.unwrap();
        assert!(budget.charge(team(1), 6, now).await.is_none(), "a quarter is its share");
        assert!(first.resize(25) && !first.resize(26));
        let others = [2, 3, 4].map(|number| (number, 25));
        let mut charges = Vec::new();
        for (number, bytes) in others {
            charges.push(budget.charge(team(number), bytes, now).await.unwrap());
        }
        assert!(budget.charge(team(5), 1, now).await.is_none(), "all of it is used");
        assert!(first.resize(5));
        let (waited, ()) = tokio::join!(budget.charge(team(5), 25, Duration::from_mins(1)), async {
            drop(charges.pop());
        });
        assert!(waited.is_some(), "who waits gets what is freed");
        drop((first, charges, waited));
        let usage = budget.usage.lock();
        assert_eq!((usage.total, usage.teams.len()), (0, 0));
    }
}

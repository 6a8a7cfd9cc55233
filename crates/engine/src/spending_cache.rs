//! What teams have set for spending, as of a moment ago.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use parking_lot::Mutex;
use rowmill_model::TeamId;
use rowmill_store::Store;
use rowmill_store::spending::TeamSpending;

/// For how long a team's settings are believed: so soon a new price or cap holds on every node.
const KEPT_FOR: Duration = Duration::from_secs(1);
/// Teams whose settings are remembered.
const TEAMS_MAX: usize = 10_000;

#[derive(Debug, Default)]
pub(crate) struct SpendingCache(Mutex<HashMap<TeamId, (Timestamp, Arc<TeamSpending>)>>);

impl SpendingCache {
    /// What a team has set. If the database does not answer, what it had set.
    pub(crate) async fn of(&self, store: &dyn Store, team: TeamId, now: Timestamp) -> Arc<TeamSpending> {
        let is_fresh = |read_at: Timestamp| now.duration_since(read_at).unsigned_abs() < KEPT_FOR;
        let known = match self.0.lock().get_mut(&team) {
            Some((read_at, known)) if is_fresh(*read_at) => return Arc::clone(known),
            Some((read_at, known)) => {
                // Others go by what is known while this one asks.
                *read_at = now;
                Some(Arc::clone(known))
            }
            None => None,
        };
        match store.spending(team).await {
            Ok(read) => {
                let read = Arc::new(read);
                let mut teams = self.0.lock();
                if teams.len() >= TEAMS_MAX {
                    teams.clear();
                }
                teams.insert(team, (now, Arc::clone(&read)));
                read
            }
            Err(error) => {
                tracing::warn!(%team, %error, "could not read a team's prices and caps");
                known.unwrap_or_default()
            }
        }
    }

    /// Whether a team is known to have caps.
    pub(crate) fn has_caps(&self, team: TeamId) -> bool {
        self.0.lock().get(&team).is_some_and(|(_, known)| known.has_caps())
    }
}

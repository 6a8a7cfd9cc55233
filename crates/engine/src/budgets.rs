//! Spending caps: money is set aside in the store before cells are claimed, so that all nodes together keep to a cap.
//!
//! The dispatcher alone reserves. What it holds of a lane is the sum over the lane's cells that are still in flight, and
//! is written down with each reservation; so nothing needs to be given back, and a worker that dies holds nothing.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use parking_lot::{Mutex, MutexGuard};
use rowmill_model::pricing::model_price;
use rowmill_model::{Amount, CellError, Column, ColumnId, ErrorCode, Project, SpendingSettings, TeamId};
use rowmill_store::spending::{Money, Reached, Reserve, Reserved, TeamSpending};
use rowmill_store::{Lane, Store, Ticket, WorkerId};

use crate::cell_runner::Payees;
use crate::in_flight::InFlightCells;

/// For how long a team's settings are believed: so soon a new cap holds on every node.
const SETTINGS_KEPT: Duration = Duration::from_secs(1);
/// How soon a cap that was reached is looked at again: it may have been raised, or begun again.
const RECHECK_AFTER: Duration = Duration::from_secs(1);
/// How often a cell of a lane that waits is taken, to be told why.
const TOLD_EVERY: Duration = Duration::from_secs(10);
/// Teams whose settings are remembered.
const TEAMS_MAX: usize = 10_000;

/// What this worker has set aside, and what teams have set.
#[derive(Debug, Default)]
pub(crate) struct Budgets(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    settings: HashMap<TeamId, (Timestamp, Arc<TeamSpending>)>,
    lanes: HashMap<Lane, LaneBudget>,
}

/// A column under caps.
#[derive(Debug)]
struct LaneBudget {
    team: TeamId,
    column: ColumnId,
    providers: Vec<String>,
    guess: Money,
    /// Cells that may be begun, and what is set aside for each.
    granted: u32,
    each: Money,
    tickets: HashMap<Ticket, Money>,
    /// What the store was told that is held.
    told: Money,
    /// Cells that were taken only to be told why they wait.
    refused: HashMap<Ticket, CellError>,
    reached: Option<CellError>,
    looked_at: Timestamp,
    refused_at: Option<Timestamp>,
}

impl LaneBudget {
    fn held(&self) -> Money {
        self.tickets.values().fold(Money::default(), |sum, each| sum.plus(*each))
    }
}

impl Budgets {
    /// What a team has set, as of a moment ago.
    pub(crate) async fn settings(
        &self,
        store: &dyn Store,
        team: TeamId,
        now: Timestamp,
    ) -> Arc<TeamSpending> {
        let is_fresh = |read_at: Timestamp| now.duration_since(read_at).unsigned_abs() < SETTINGS_KEPT;
        let known = {
            let mut inner = self.lock();
            let known = inner.settings.get_mut(&team);
            match known {
                Some((read_at, known)) if is_fresh(*read_at) => return Arc::clone(known),
                Some((read_at, known)) => {
                    // Others go by what is known while this one asks.
                    *read_at = now;
                    Some(Arc::clone(known))
                }
                None => None,
            }
        };
        match store.spending(team).await {
            Ok(read) => {
                let read = Arc::new(read);
                let mut inner = self.lock();
                if inner.settings.len() >= TEAMS_MAX {
                    inner.settings.clear();
                }
                inner.settings.insert(team, (now, Arc::clone(&read)));
                read
            }
            Err(error) => {
                tracing::warn!(%error, "could not read a team's prices and caps");
                known.unwrap_or_default()
            }
        }
    }

    /// Whether a team is known to have caps.
    pub(crate) fn has_caps(&self, team: TeamId) -> bool {
        self.lock().settings.get(&team).is_some_and(|(_, known)| known.has_caps())
    }

    /// A claimed cell of a lane. If it has no money it will be refused.
    pub(crate) fn admit(&self, ticket: Ticket) {
        let mut inner = self.lock();
        let Some(budget) = inner.lanes.get_mut(&ticket.lane) else { return };
        if let Some(left) = budget.granted.checked_sub(1) {
            budget.granted = left;
            budget.tickets.insert(ticket, budget.each);
        } else if let Some(reached) = &budget.reached {
            budget.refused.insert(ticket, reached.clone());
        }
    }

    /// Why a cell is not to be run, and until when it waits.
    pub(crate) fn refusal(&self, ticket: Ticket, now: Timestamp) -> Option<(CellError, Timestamp)> {
        let mut inner = self.lock();
        let error = inner.lanes.get_mut(&ticket.lane)?.refused.remove(&ticket)?;
        Some((error, now.saturating_add(TOLD_EVERY).unwrap_or(now)))
    }

    /// Whether a lane is to be looked at in this round. One that costs something of a team with caps is remembered.
    pub(crate) fn may_ask(
        &self,
        lane: Lane,
        project: &Project,
        column: &Column,
        payees: Option<(Payees, &SpendingSettings)>,
        now: Timestamp,
    ) -> bool {
        let mut inner = self.lock();
        let Some((payees, settings)) = payees.filter(|(payees, _)| !payees.providers.is_empty()) else {
            // What the store was told is held must be taken back first.
            if inner.lanes.get(&lane).is_some_and(|budget| budget.told == Money::default()) {
                inner.lanes.remove(&lane);
            }
            return true;
        };
        let guess = guess(&payees, settings);
        let budget = inner.lanes.entry(lane).or_insert_with(|| LaneBudget {
            team: project.team,
            column: column.id.clone(),
            providers: Vec::new(),
            guess,
            granted: 0,
            each: Money::default(),
            tickets: HashMap::new(),
            told: Money::default(),
            refused: HashMap::new(),
            reached: None,
            looked_at: Timestamp::MIN,
            refused_at: None,
        });
        (budget.providers, budget.guess) = (payees.providers, guess);
        budget.reached.is_none() || now.duration_since(budget.looked_at).unsigned_abs() >= RECHECK_AFTER
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock()
    }
}

/// Who reserves, and when.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reserver {
    pub(crate) worker: WorkerId,
    pub(crate) expires_at_ms: i64,
    pub(crate) now: Timestamp,
}

impl Budgets {
    /// What is to be set aside for so many cells of a lane. `None` if it is under no cap.
    pub(crate) fn reservation(
        &self,
        in_flight: &InFlightCells,
        by: Reserver,
        lane: Lane,
        wanted: u32,
    ) -> Option<Reserve> {
        let mut inner = self.lock();
        let budget = inner.lanes.get_mut(&lane)?;
        budget.granted = 0;
        budget.tickets.retain(|ticket, _| in_flight.holds(*ticket));
        budget.refused.retain(|ticket, _| in_flight.holds(*ticket));
        Some(Reserve {
            worker: by.worker,
            expires_at_ms: by.expires_at_ms,
            now_ms: by.now.as_millisecond(),
            team: budget.team,
            lane,
            column: budget.column.clone(),
            providers: budget.providers.clone(),
            guess: budget.guess,
            held: budget.held(),
            in_flight: u32::try_from(budget.tickets.len()).unwrap_or(u32::MAX),
            wanted,
        })
    }

    /// Remembers what was granted; says how many cells to claim.
    pub(crate) fn note(&self, lane: Lane, held: Money, reserved: Reserved, now: Timestamp) -> u32 {
        let mut inner = self.lock();
        let Some(budget) = inner.lanes.get_mut(&lane) else { return 0 };
        let Reserved { granted, each, reached } = reserved;
        (budget.granted, budget.each, budget.looked_at) = (granted, each, now);
        budget.told = held.plus(each.times(granted));
        budget.reached = reached.filter(|_| granted == 0).map(|reached| spend_limit(&reached));
        if budget.reached.is_none() {
            budget.refused_at = None;
            return granted;
        }
        // One cell is taken to be told why all of them wait.
        let is_told = |at: Timestamp| now.duration_since(at).unsigned_abs() < TOLD_EVERY;
        if budget.refused_at.is_some_and(is_told) {
            return 0;
        }
        budget.refused_at = Some(now);
        1
    }

    /// Lanes of which nothing is asked for and less is held than the store was told.
    pub(crate) fn idle_lanes(&self, in_flight: &InFlightCells, asks: &[(Lane, u32)]) -> Vec<Lane> {
        let inner = self.lock();
        let is_asked = |lane: &Lane| asks.iter().any(|(asked, _)| asked == lane);
        let changed = inner.lanes.iter().filter(|(lane, budget)| {
            let running = budget.tickets.iter().filter(|(ticket, _)| in_flight.holds(**ticket));
            let held = running.fold(Money::default(), |sum, (_, each)| sum.plus(*each));
            !is_asked(lane) && budget.told != held
        });
        changed.map(|(lane, _)| *lane).collect()
    }

    /// The store was told what is held of a lane.
    pub(crate) fn told(&self, lane: Lane, held: Money) {
        let mut inner = self.lock();
        if held == Money::default() {
            inner.lanes.remove(&lane);
        } else if let Some(budget) = inner.lanes.get_mut(&lane) {
            budget.told = held;
        }
    }
}

/// What a cell is taken to cost as long as none has told.
fn guess(payees: &Payees, settings: &SpendingSettings) -> Money {
    let parts = |number: f64| Amount::told(number).map_or(0, Amount::parts);
    if let Some(model) = &payees.model {
        let price = model_price(settings, model);
        let dollars = price.map_or(0.0, |price| price.dollars(payees.input_tokens, payees.output_tokens));
        return Money { usd: parts(dollars), credits: 0 };
    }
    let prices = payees.providers.iter().filter_map(|provider| settings.providers.get(provider));
    let each = prices.filter_map(|price| price.usd_per_call.or(price.usd_per_credit));
    Money { usd: parts(each.fold(0.0, f64::max)), credits: parts(1.0) }
}

fn spend_limit(reached: &Reached) -> CellError {
    let until = match reached.resets_at_ms.and_then(|at_ms| Timestamp::from_millisecond(at_ms).ok()) {
        Some(at) => format!("goes on at {at:.0} or when the cap is raised"),
        None => "goes on when the cap is raised".to_owned(),
    };
    let message = format!("{} is reached; this {until}.", reached.cap.words());
    CellError { code: ErrorCode::SpendLimit, message }
}

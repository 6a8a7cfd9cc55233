//! Spending caps: money is set aside in the store before cells are claimed, so that all nodes together keep to a cap.
//!
//! The dispatcher alone reserves. What it holds of a lane is the sum over the lane's cells that are still in flight, and
//! is written down with each reservation; so nothing needs to be given back, and a worker that dies holds nothing.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use jiff::Timestamp;
use parking_lot::{Mutex, MutexGuard};
use rowmill_model::cell::Meta;
use rowmill_model::prices::ModelPrice;
use rowmill_model::pricing::{model_price, search_price};
use rowmill_model::{
    Amount, CellError, Column, ColumnId, ErrorCode, Project, Provider, SpendingSettings, TeamId,
};
use rowmill_store::spending::{Money, Reached, Reserve, Reserved};
use rowmill_store::{CellResult, Lane, Ticket, WorkerId};

use crate::cell_runner::Payees;
use crate::in_flight::InFlightCells;
use crate::spending_cache::SpendingCache;

/// How soon a cap that was reached is looked at again: it may have been raised, or begun again.
const RECHECK_AFTER: Duration = Duration::from_secs(1);
/// How often a cell of a lane that waits is taken, to be told why.
const TOLD_EVERY: Duration = Duration::from_secs(10);

/// What this worker has set aside, and what teams have set.
#[derive(Debug, Default)]
pub(crate) struct Budgets {
    pub(crate) settings: SpendingCache,
    lanes: Mutex<HashMap<Lane, LaneBudget>>,
}

/// A column under caps.
#[derive(Debug)]
struct LaneBudget {
    team: TeamId,
    column: ColumnId,
    providers: Vec<String>,
    guess: Guess,
    /// Cells that may be begun, and what is set aside for each.
    granted: u32,
    each: Money,
    tickets: HashMap<Ticket, Money>,
    /// What the store was told that is held.
    told: Money,
    /// Cells that were taken only to be told why they wait.
    refused: HashMap<Ticket, SpendLimit>,
    reached: Option<SpendLimit>,
    looked_at: Timestamp,
    refused_at: Option<Timestamp>,
}

impl LaneBudget {
    fn held(&self) -> Money {
        self.tickets.values().fold(Money::default(), |sum, each| sum.plus(*each))
    }
}

impl Budgets {
    /// A claimed cell of a lane. If it has no money it will be refused.
    pub(crate) fn admit(&self, ticket: Ticket) {
        let mut lanes = self.lock();
        let Some(budget) = lanes.get_mut(&ticket.lane) else { return };
        if let Some(left) = budget.granted.checked_sub(1) {
            budget.granted = left;
            budget.tickets.insert(ticket, budget.each);
        } else if let Some(reached) = &budget.reached {
            budget.refused.insert(ticket, reached.clone());
        }
    }

    /// What becomes of a cell that is not to be run.
    pub(crate) fn refusal(&self, ticket: Ticket, now: Timestamp) -> Option<CellResult> {
        let mut lanes = self.lock();
        let limit = lanes.get_mut(&ticket.lane)?.refused.remove(&ticket)?;
        Some(limit.put_off(now.saturating_add(TOLD_EVERY).unwrap_or(now)))
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
        let mut lanes = self.lock();
        let Some((payees, settings)) = payees.filter(|(payees, _)| !payees.providers.is_empty()) else {
            // What the store was told is held must be taken back first.
            if lanes.get(&lane).is_some_and(|budget| budget.told == Money::default()) {
                lanes.remove(&lane);
            }
            return true;
        };
        let budget = lanes.entry(lane).or_insert_with(|| LaneBudget {
            team: project.team,
            column: column.id.clone(),
            providers: Vec::new(),
            guess: Guess::default(),
            granted: 0,
            each: Money::default(),
            tickets: HashMap::new(),
            told: Money::default(),
            refused: HashMap::new(),
            reached: None,
            looked_at: Timestamp::MIN,
            refused_at: None,
        });
        budget.guess = Guess::of(&payees, settings);
        budget.providers = payees.providers;
        budget.reached.is_none() || now.duration_since(budget.looked_at).unsigned_abs() >= RECHECK_AFTER
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Lane, LaneBudget>> {
        self.lanes.lock()
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
        let mut lanes = self.lock();
        let budget = lanes.get_mut(&lane)?;
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
            guess: budget.guess.whole,
            guess_parts: budget.guess.parts.clone(),
            held: budget.held(),
            in_flight: u32::try_from(budget.tickets.len()).unwrap_or(u32::MAX),
            wanted,
        })
    }

    /// Remembers what was granted; says how many cells to claim.
    pub(crate) fn note(&self, lane: Lane, held: Money, reserved: Reserved, now: Timestamp) -> u32 {
        let mut lanes = self.lock();
        let Some(budget) = lanes.get_mut(&lane) else { return 0 };
        let Reserved { granted, each, reached } = reserved;
        (budget.granted, budget.each, budget.looked_at) = (granted, each, now);
        budget.told = held.plus(each.times(granted));
        budget.reached = reached.filter(|_| granted == 0).map(|reached| SpendLimit::of(&reached));
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
        let lanes = self.lock();
        let is_asked = |lane: &Lane| asks.iter().any(|(asked, _)| asked == lane);
        let changed = lanes.iter().filter(|(lane, budget)| {
            let running = budget.tickets.iter().filter(|(ticket, _)| in_flight.holds(**ticket));
            let held = running.fold(Money::default(), |sum, (_, each)| sum.plus(*each));
            !is_asked(lane) && budget.told != held
        });
        changed.map(|(lane, _)| *lane).collect()
    }

    /// The store was told what is held of a lane.
    pub(crate) fn told(&self, lane: Lane, held: Money) {
        let mut lanes = self.lock();
        if held == Money::default() {
            lanes.remove(&lane);
        } else if let Some(budget) = lanes.get_mut(&lane) {
            budget.told = held;
        }
    }
}

/// What is to be set aside for cells of a batch, which holds them in its own name.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BatchReserve {
    pub(crate) worker: WorkerId,
    pub(crate) expires_at_ms: i64,
    pub(crate) now: Timestamp,
    pub(crate) lane: Lane,
    pub(crate) held: Money,
    pub(crate) in_flight: u32,
    pub(crate) wanted: u32,
}

impl BatchReserve {
    /// `None` if the column pays nobody.
    pub(crate) fn of(
        self,
        project: &Project,
        column: &Column,
        payees: Payees,
        settings: &SpendingSettings,
    ) -> Option<Reserve> {
        if payees.providers.is_empty() {
            return None;
        }
        let Guess { whole, parts } = Guess::of(&payees, settings);
        Some(Reserve {
            worker: self.worker,
            expires_at_ms: self.expires_at_ms,
            now_ms: self.now.as_millisecond(),
            team: project.team,
            lane: self.lane,
            column: column.id.clone(),
            providers: payees.providers,
            guess: whole,
            guess_parts: parts,
            held: self.held,
            in_flight: self.in_flight,
            wanted: self.wanted,
        })
    }
}

/// What a cell is taken to cost as long as none has told, and what of it whom.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Guess {
    whole: Money,
    parts: BTreeMap<String, Money>,
}

impl Guess {
    fn of(payees: &Payees, settings: &SpendingSettings) -> Self {
        let mut guess = Self::default();
        let Some(model) = &payees.model else {
            // One of the finders is asked, or several: the dearest is taken for all.
            for provider in &payees.providers {
                let price = settings.providers.get(provider);
                let usd = price.and_then(|price| price.usd_per_call.or(price.usd_per_credit));
                let part = money(usd.unwrap_or_default(), 1.0);
                guess.whole = Money { usd: guess.whole.usd.max(part.usd), credits: part.credits };
                guess.parts.insert(provider.clone(), part);
            }
            return guess;
        };
        let Payees { providers, searches, search_providers, input_tokens, output_tokens, .. } = payees;
        let price = model_price(settings, model);
        let price = if payees.is_batch { price.map(ModelPrice::in_batches) } else { price };
        let tokens = price.map_or(0.0, |price| price.dollars(*input_tokens, *output_tokens));
        for provider in search_providers {
            let usd = search_price(settings, provider).unwrap_or_default();
            guess.parts.insert(provider.clone(), money(usd * searches, credits_of(provider) * searches));
        }
        // The others are asked only where the first one finds nothing.
        let first = search_providers.first().and_then(|provider| guess.parts.get(provider));
        guess.whole = money(tokens, 0.0).plus(first.copied().unwrap_or_default());
        if let Some(own) = providers.first() {
            let hosted = guess.parts.remove(own).unwrap_or_default();
            guess.parts.insert(own.clone(), money(tokens, 0.0).plus(hosted));
        }
        guess
    }
}

/// What one search takes.
fn credits_of(provider: &str) -> f64 {
    let has_credits = Provider::named(provider).is_some_and(Provider::has_search_credits);
    f64::from(u8::from(has_credits))
}

fn money(usd: f64, credits: f64) -> Money {
    let parts = |number: f64| Amount::told(number).map_or(0, Amount::parts);
    Money { usd: parts(usd), credits: parts(credits) }
}

/// A cap that was reached, as it is told.
#[derive(Debug, Clone)]
pub(crate) struct SpendLimit {
    error: CellError,
    resets_at_ms: Option<i64>,
}

impl SpendLimit {
    pub(crate) fn of(reached: &Reached) -> Self {
        let Reached { cap, resets_at_ms } = reached;
        let until = match resets_at_ms.and_then(|at_ms| Timestamp::from_millisecond(at_ms).ok()) {
            Some(at) => format!("goes on at {at:.0} or when the cap is raised"),
            None => "goes on when the cap is raised".to_owned(),
        };
        let message = format!("{} is reached; this {until}.", cap.words());
        Self { error: CellError { code: ErrorCode::SpendLimit, message }, resets_at_ms: *resets_at_ms }
    }

    /// Puts a cell off. It looks again soon, because the cap may be raised; but the run waits until the cap begins again.
    pub(crate) fn put_off(self, at: Timestamp) -> CellResult {
        let Self { error, resets_at_ms: ends_at_ms } = self;
        CellResult::Later { at_ms: at.as_millisecond(), error: Some(error), ends_at_ms, meta: Meta::new() }
    }
}

#[cfg(test)]
mod tests {
    use rowmill_model::prices::ProviderPrice;

    use super::*;

    #[test]
    fn a_research_is_taken_to_cost_its_tokens_and_its_searches() {
        let mut settings = SpendingSettings::default();
        settings.models.insert(
            "m".to_owned(),
            ModelPrice { input: 1.0, output: 2.0, cache_read: None, cache_write: None },
        );
        for (provider, usd) in [("tavily", 0.5), ("brave", 0.25), ("openai", 0.125)] {
            let price = ProviderPrice { usd_per_credit: Some(usd), usd_per_call: None };
            settings.providers.insert(provider.to_owned(), price);
        }
        let guess = |search_providers: &[&str]| {
            let search_providers: Vec<String> = search_providers.iter().map(ToString::to_string).collect();
            let payees = Payees {
                providers: vec!["openai".to_owned()],
                model: Some("m".to_owned()),
                input_tokens: 1e6,
                output_tokens: 1e6,
                searches: 2.0,
                search_providers,
                is_batch: false,
            };
            let Guess { whole, parts } = Guess::of(&payees, &settings);
            let shown = |money: Money| (money.usd / 1_000_000, money.credits / 1_000_000_000);
            (shown(whole), parts.into_iter().map(|(name, money)| (name, shown(money))).collect::<Vec<_>>())
        };
        let part = |name: &str, usd: i64, credits: i64| (name.to_owned(), (usd, credits));
        assert_eq!(guess(&[]), ((3_000, 0), vec![part("openai", 3_000, 0)]));
        let both = vec![part("brave", 500, 2), part("openai", 3_000, 0), part("tavily", 1_000, 2)];
        assert_eq!(guess(&["tavily", "brave"]), ((4_000, 2), both), "the first one is asked");
        let own = vec![part("openai", 3_000, 0), part("searxng", 0, 0)];
        assert_eq!(guess(&["searxng"]), ((3_000, 0), own));
        assert_eq!(guess(&["openai"]), ((3_250, 0), vec![part("openai", 3_250, 0)]), "its own search");
    }
}

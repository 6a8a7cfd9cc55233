//! What is spent: the ledger, and the money that is set aside for cells under way.
//!
//! The ledger is written in the transaction that settles a cell (`changes/ledger.rs`). Before a worker claims cells of a
//! column that costs something, it *reserves* what they will cost: under a lock on the team, so that all nodes together
//! keep to a cap. A reservation belongs to a worker and counts while that worker is known; so nothing is set aside for
//! one that is lost.

use std::collections::BTreeMap;

use async_trait::async_trait;
use rowmill_model::estimate::Estimate;
use rowmill_model::plan::{StartedBy, Tally};
use rowmill_model::spending::CapScope;
use rowmill_model::{Amount, Cap, ColumnId, ProjectId, SpendingSettings, Spent, TeamId};

use crate::error::{Result, StoreError};
use crate::work::{Lane, WorkerId};

/// For how many days the ledger tells what a cell of a column costs.
pub const LEARNED_DAYS: i64 = 30;
/// For how many days the ledger is kept.
pub const LEDGER_DAYS: i64 = 400;
/// Lines of the ledger that are removed in one go, so that nobody waits for it.
pub const LEDGER_LINES_AT_ONCE: u32 = 500;
/// For how long it is remembered that a cap was told of, in milliseconds: longer than any period lasts.
pub const NOTICES_KEPT_MS: i64 = 40 * 24 * 60 * 60 * 1_000;

/// What a team has set.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TeamSpending {
    /// Counts the changes; 0 if there never was one.
    pub version: u64,
    pub settings: SpendingSettings,
    /// Whether some run was ever given a cap of its own.
    pub has_run_caps: bool,
}

impl TeamSpending {
    /// Whether anything may be held back.
    pub fn has_caps(&self) -> bool {
        self.has_run_caps || !self.settings.caps.is_empty()
    }

    /// Reads what is stored.
    pub fn read(version: u64, document: &str, has_run_caps: bool) -> Result<Self> {
        let settings =
            serde_json::from_str(document).map_err(|error| StoreError::Damaged(error.to_string()))?;
        Ok(Self { version, settings, has_run_caps })
    }
}

/// An amount of both kinds, in thousand-millionths.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Money {
    pub usd: i64,
    pub credits: i64,
}

impl Money {
    /// The kind that a cap is in.
    pub fn of(self, cap: &Cap) -> i64 {
        if cap.is_in_dollars() { self.usd } else { self.credits }
    }

    #[must_use]
    pub fn times(self, count: u32) -> Self {
        let count = i64::from(count);
        Self { usd: self.usd.saturating_mul(count), credits: self.credits.saturating_mul(count) }
    }

    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self { usd: self.usd.saturating_add(other.usd), credits: self.credits.saturating_add(other.credits) }
    }

    pub fn spent(spent: &Spent) -> Self {
        let parts = |amount: Option<Amount>| amount.map_or(0, Amount::parts);
        Self { usd: parts(spent.dollars()), credits: parts(spent.credits) }
    }
}

/// The cap of one run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RunCap {
    pub run: u64,
    pub usd: Option<Amount>,
    pub credits: Option<Amount>,
}

impl RunCap {
    /// As caps of this run.
    pub fn caps(self, project: ProjectId) -> impl Iterator<Item = Cap> {
        let cap = move |usd: Option<Amount>, credits: Option<Amount>| Cap {
            scope: CapScope::Run,
            project_id: Some(project),
            provider: None,
            period: None,
            usd: usd.map(Amount::number),
            credits: credits.map(Amount::number),
        };
        let dollars = self.usd.map(|usd| cap(Some(usd), None));
        dollars.into_iter().chain(self.credits.map(|credits| cap(None, Some(credits))))
    }
}

/// Sets money aside for cells that are about to be claimed.
#[derive(Debug, Clone)]
pub struct Reserve {
    pub worker: WorkerId,
    pub expires_at_ms: i64,
    pub now_ms: i64,
    pub team: TeamId,
    pub lane: Lane,
    pub column: ColumnId,
    /// Whom the column asks, by id.
    pub providers: Vec<String>,
    /// What a cell is taken to cost as long as none has told.
    pub guess: Money,
    /// What of it each provider is taken to get. Who is not named may get all of it.
    pub guess_parts: BTreeMap<String, Money>,
    /// What this worker holds for cells of the lane that still run.
    pub held: Money,
    /// How many those are.
    pub in_flight: u32,
    /// For how many cells; none only to write down what is held.
    pub wanted: u32,
}

/// For how many cells there is money.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reserved {
    pub granted: u32,
    /// What was set aside for each.
    pub each: Money,
    /// The cap that allows no more, and will not before it is raised or begins again.
    pub reached: Option<Reached>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Reached {
    pub cap: Cap,
    pub resets_at_ms: Option<i64>,
}

/// How a cap stands.
#[derive(Debug, Clone, PartialEq)]
pub struct CapStanding {
    pub cap: Cap,
    /// In thousand-millionths, of the present period.
    pub spent: i64,
    /// By other lanes and workers.
    pub reserved: i64,
}

/// What the ledger says of a column.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Learned {
    /// Tries to fill a cell. Each may have made several calls.
    tries: i64,
    money: Money,
    by_provider: BTreeMap<String, Money>,
}

impl Learned {
    /// Adds what the ledger has of one provider.
    #[must_use]
    pub fn with(mut self, provider: String, tries: i64, money: Money) -> Self {
        self.tries = self.tries.saturating_add(tries);
        self.money = self.money.plus(money);
        let known = self.by_provider.entry(provider).or_default();
        *known = known.plus(money);
        self
    }

    fn is_known(&self) -> bool {
        self.tries > 0
    }

    /// What a cell costs, of which one provider gets a part if it is asked for.
    fn each(&self, provider: Option<&str>) -> Option<Money> {
        let money = match provider {
            None => self.money,
            Some(provider) => self.by_provider.get(provider).copied().unwrap_or_default(),
        };
        let mean = |sum: i64| sum.checked_div(self.tries);
        Some(Money { usd: mean(money.usd)?, credits: mean(money.credits)? })
    }
}

impl Reserve {
    /// The caps that hold for it.
    pub fn caps(&self, settings: &SpendingSettings, run_cap: Option<RunCap>, tally: &Tally) -> Vec<Cap> {
        let project = self.lane.project;
        let all = settings.caps.iter().filter(|cap| cap.is_about(project, &self.providers)).cloned();
        let run_cap = run_cap.filter(|cap| cap.run == tally.run_number());
        all.chain(run_cap.into_iter().flat_map(|cap| cap.caps(project))).collect()
    }

    /// For how many cells there is money.
    pub fn decide(&self, standings: &[CapStanding], learned: &Learned) -> Reserved {
        let is_known = learned.is_known();
        let each = learned.each(None).unwrap_or(self.guess);
        let (mut granted, mut reached) = (self.wanted, None);
        for CapStanding { cap, spent, reserved } in standings {
            let part = self.part(cap, learned, each).of(cap);
            let under_way = reserved.saturating_add(share(self.held.of(cap), part, each.of(cap)));
            let left = cap.most().saturating_sub(*spent).saturating_sub(under_way);
            let room = match part {
                _ if *spent >= cap.most() => 0,
                // Nothing is known at all: one cell goes first, to tell.
                0 if !is_known => i64::from(self.in_flight == 0),
                0 => i64::from(self.wanted),
                // A guess that is too high must not keep the first cell from telling.
                each if !is_known && under_way == 0 => (left / each).max(1),
                each => left.max(0) / each,
            };
            granted = granted.min(u32::try_from(room).unwrap_or(u32::MAX));
            let waits = under_way > 0 || (!is_known && self.in_flight > 0);
            if room == 0 && (!waits || *spent >= cap.most()) && reached.is_none() {
                let resets_at_ms = cap.resets_at_ms(self.now_ms);
                reached = Some(Reached { cap: cap.clone(), resets_at_ms });
            }
        }
        Reserved { granted, each, reached }
    }

    /// What of a cell's cost a cap counts: that of one provider may be a part of it.
    fn part(&self, cap: &Cap, learned: &Learned, each: Money) -> Money {
        match &cap.provider {
            None => each,
            Some(provider) if learned.is_known() => learned.each(Some(provider)).unwrap_or(each),
            Some(provider) => self.guess_parts.get(provider).copied().unwrap_or(each),
        }
    }

    /// What this worker holds in the lane, with what was just granted.
    pub fn held_with(&self, reserved: &Reserved) -> Money {
        self.held.plus(reserved.each.times(reserved.granted))
    }

    /// Names the providers so that one of them can be looked for.
    pub fn providers_text(&self) -> String {
        format!(",{},", self.providers.join(","))
    }

    /// Names the period in which a cap was reached: each is told of once.
    pub fn period(&self, reached: &Reached, run: u64) -> String {
        match reached.cap.first_day(self.now_ms) {
            Some(day) => format!("day {day}"),
            None => format!("{} run {run}", self.lane.project),
        }
    }
}

/// The same share of a sum as a part is of a whole.
fn share(sum: i64, part: i64, whole: i64) -> i64 {
    if part >= whole {
        return sum;
    }
    let share = i128::from(sum) * i128::from(part) / i128::from(whole.max(1));
    i64::try_from(share).unwrap_or(sum)
}

/// One line of the ledger: what was used on a day, for a column, of a provider, by somebody's runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerEntry {
    /// Days since 1970, UTC.
    pub day: i64,
    pub column: ColumnId,
    pub provider: String,
    /// Whose run it was: `key NAME`, `session NAME`, `autoplay` or `webhook`; empty if that is not known.
    pub person: String,
    pub spent: Spent,
    /// Tries to fill a cell. Each stands in one line, whomever it asked.
    pub tries: u64,
}

/// A line of the ledger as it is listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerLine {
    pub project: ProjectId,
    pub entry: LedgerEntry,
}

/// How whoever started a run is named in the ledger.
pub fn person(by: Option<&StartedBy>) -> String {
    match by {
        None => String::new(),
        Some(StartedBy::Key(name)) => format!("key {name}"),
        Some(StartedBy::Session(name)) => format!("session {name}"),
        Some(StartedBy::Autoplay) => "autoplay".to_owned(),
        Some(StartedBy::Webhook) => "webhook".to_owned(),
    }
}

/// What a store does for spending.
#[async_trait]
pub trait SpendingStore: Send + Sync {
    async fn spending(&self, team: TeamId) -> Result<TeamSpending>;

    /// Saves what a team has set, over the version it was made from; another one is
    /// [`StoreError::Stale`](crate::error::StoreError::Stale).
    async fn save_spending(&self, team: TeamId, save: TeamSpending) -> Result<()>;

    /// Sets the cap of a project's run, over the one before.
    async fn cap_run(&self, team: TeamId, project: ProjectId, cap: RunCap) -> Result<()>;

    /// Sets money aside, as far as the caps allow it. Where one is reached, webhooks are told, once a period.
    async fn reserve(&self, reserve: Reserve) -> Result<Reserved>;

    /// Writes down what was used outside of runs.
    async fn charge(&self, team: TeamId, project: ProjectId, entry: LedgerEntry) -> Result<()>;

    /// How the team's caps stand.
    async fn cap_standings(&self, team: TeamId, now_ms: i64) -> Result<Vec<CapStanding>>;

    /// Remembers what a run was estimated to take, over what was remembered before.
    async fn note_run_estimate(&self, project: ProjectId, run: u64, estimate: Estimate) -> Result<()>;

    /// What these runs were estimated to take, by number, as far as it is known.
    async fn run_estimates(&self, project: ProjectId, runs: Vec<u64>) -> Result<BTreeMap<u64, Estimate>>;

    /// The ledger of these days, the first and the last of them included, by day.
    async fn ledger(&self, team: TeamId, first_day: i64, last_day: i64) -> Result<Vec<LedgerLine>>;

    /// Removes some lines of all teams from before a day; says whether there may be more.
    async fn sweep_ledger(&self, before_day: i64) -> Result<bool>;
}

#[cfg(test)]
mod tests {
    use rowmill_model::spending::CapPeriod;
    use uuid::Uuid;

    use super::*;

    fn reserve(held: i64, wanted: u32) -> Reserve {
        Reserve {
            worker: WorkerId(Uuid::nil()),
            expires_at_ms: 0,
            now_ms: 0,
            team: TeamId(Uuid::nil()),
            lane: Lane { project: ProjectId::from_uuid(Uuid::nil()), slot: 1 },
            column: ColumnId::new("col"),
            providers: Vec::new(),
            guess: Money { usd: 1_000, credits: 0 },
            guess_parts: BTreeMap::new(),
            held: Money { usd: held, credits: 0 },
            in_flight: u32::from(held > 0),
            wanted,
        }
    }

    fn standing(spent: i64, reserved: i64) -> CapStanding {
        let cap = Cap {
            scope: CapScope::Team,
            project_id: None,
            provider: None,
            period: Some(CapPeriod::Day),
            usd: Some(0.000_001),
            credits: None,
        };
        CapStanding { cap, spent, reserved }
    }

    #[test]
    fn no_more_is_granted_than_the_cap_has_left() {
        let told =
            |tries, usd| Learned::default().with("openai".to_owned(), tries, Money { usd, credits: 0 });
        let known = told(10, 1_000);
        let granted = |held, wanted, (spent, reserved), learned: &Learned| {
            let reserved = reserve(held, wanted).decide(&[standing(spent, reserved)], learned);
            (reserved.granted, reserved.reached.is_some())
        };
        assert_eq!(granted(0, 50, (0, 0), &known), (10, false), "the cap is for ten");
        assert_eq!(granted(300, 50, (200, 400), &known), (1, false));
        assert_eq!(granted(100, 50, (900, 0), &known), (0, false), "what is under way may cost less");
        assert_eq!(granted(0, 50, (950, 0), &known), (0, true));
        assert_eq!(granted(500, 50, (1_000, 0), &known), (0, true));
        assert_eq!(granted(0, 50, (0, 0), &Learned::default()), (1, false), "a guess lets one cell tell");
        assert_eq!(granted(1_000, 50, (0, 0), &Learned::default()), (0, false));
        let blind = |in_flight| {
            let reserve = Reserve { guess: Money::default(), in_flight, ..reserve(0, 50) };
            let reserved = reserve.decide(&[standing(0, 0)], &Learned::default());
            (reserved.granted, reserved.reached.is_some())
        };
        assert_eq!((blind(0), blind(1)), ((1, false), (0, false)), "without any price the first cell tells");
        let free = told(5, 0);
        assert_eq!(granted(0, 50, (0, 0), &free), (50, false), "what costs nothing is not held back");
        assert_eq!(granted(0, 50, (1_000, 0), &free), (0, true));
    }

    #[test]
    fn a_cap_of_one_provider_counts_its_part_of_a_cell() {
        let usd = |usd| Money { usd, credits: 0 };
        // A cell takes 900 for the model and 100 for searches; the cap is a thousand.
        let known = Learned::default().with("openai".to_owned(), 10, usd(9_000));
        let known = known.with("tavily".to_owned(), 0, usd(1_000));
        let of = |provider: &str| {
            let mut standing = standing(0, 0);
            standing.cap.provider = Some(provider.to_owned());
            standing
        };
        let granted = |reserve: &Reserve, provider, learned| reserve.decide(&[of(provider)], learned).granted;
        let first = reserve(0, 50);
        assert_eq!(first.decide(&[standing(0, 0)], &known).granted, 1);
        assert_eq!((granted(&first, "openai", &known), granted(&first, "tavily", &known)), (1, 10));
        assert_eq!(granted(&reserve(5_000, 50), "tavily", &known), 5, "five are under way");
        assert_eq!(granted(&first, "brave", &known), 50, "who gets nothing holds nothing back");
        let guess_parts = BTreeMap::from([("tavily".to_owned(), usd(100))]);
        let guessed = Reserve { guess_parts, ..first };
        let nothing = Learned::default();
        assert_eq!(granted(&guessed, "tavily", &nothing), 10);
        assert_eq!(granted(&guessed, "openai", &nothing), 1, "who is not named may get all");
    }
}

//! Fake providers: they answer, fail and stall at random, by the seed.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use rowmill_clock::Clock;
use rowmill_engine::{CallLimit, CallOutcome, Capacity, Cell, CellRunner, Digest};
use rowmill_model::cell::Meta;
use rowmill_model::column::RateLimit;
use rowmill_model::record::Slot;
use rowmill_model::{CellError, Column, ErrorCode, Project, RowId, Spent};
use rowmill_providers::{Failure, FailureKind};

use crate::world::World;

/// What each credential may do.
pub(crate) const CREDENTIAL_RATES: [RateLimit; 3] = [
    RateLimit { requests: 3, per_seconds: 2 },
    RateLimit { requests: 40, per_seconds: 1 },
    RateLimit { requests: 20, per_seconds: 60 },
];

/// The credential a column uses.
pub(crate) fn credential_of(slot: Slot) -> usize {
    slot as usize % CREDENTIAL_RATES.len()
}

#[derive(Debug)]
pub(crate) struct FakeProviders(pub(crate) Arc<World>);

#[async_trait]
impl CellRunner for FakeProviders {
    async fn capacity(&self, _: &Project, column: &Column) -> Capacity {
        self.0.call_limits.capacity(&limits(column), self.0.clock.now())
    }

    async fn call(&self, cell: &Cell) -> CallOutcome {
        let world = &*self.0;
        let limits = limits(&cell.column);
        let wait_max = Duration::from_secs(2);
        let permit = match world.call_limits.acquire(&limits, cell, &*world.clock, wait_max).await {
            Ok(permit) => permit,
            Err(put_off) => return put_off,
        };
        let number = world.begin_call(cell).await;
        let under_way = UnderWay { world, cell: (cell.row, cell.ticket.lane.slot) };
        let credential = credential_of(cell.column.slot);
        let (took, fate) = world.fate(credential);
        world.note(&format!("call v{number} for {:?}: {fate:?} in {took:?}", under_way.cell));
        world.clock.sleep(took).await;
        if matches!(fate, Fate::Value) {
            world.state().ledger.bring(under_way.cell, number);
        }
        drop(under_way);
        let result = fate.result(number);
        let for_limits = match &result {
            CallOutcome::Failed(call_failure) => Err(Failure {
                kind: if matches!(fate, Fate::TooFast(_)) {
                    FailureKind::RateLimited
                } else {
                    FailureKind::ProviderError
                },
                message: String::new(),
                is_transient: call_failure.is_transient,
                retry_after: call_failure.retry_after,
                is_unreachable: call_failure.is_unreachable,
                spent: Spent::NOTHING,
            }),
            _ => Ok(()),
        };
        permit.report(&for_limits, world.clock.now());
        result
    }
}

/// A call that is dropped is over.
struct UnderWay<'a> {
    world: &'a World,
    cell: (RowId, Slot),
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.world.state().ledger.under_way.remove(&self.cell);
    }
}

fn limits(column: &Column) -> Vec<CallLimit> {
    let credential = credential_of(column.slot);
    let key = Digest::of(["credential", &credential.to_string()]);
    let rates = vec![CREDENTIAL_RATES[credential].clone()];
    let mut limits =
        vec![CallLimit { provider: "fake", key, rates, at_once_max: 5, has_circuit_breaker: true }];
    if let Some(rate) = &column.rate_limit {
        let key = Digest::of(["column", column.id.as_str()]);
        limits.push(CallLimit {
            provider: "column",
            key,
            rates: vec![rate.clone()],
            at_once_max: usize::MAX,
            has_circuit_breaker: false,
        });
    }
    limits
}

/// How a call ends.
#[derive(Debug, Clone, Copy)]
enum Fate {
    Value,
    NoData,
    Huge,
    MissingInput,
    /// Too many requests; some say for how long.
    TooFast(Option<u64>),
    ServerError,
    TimedOut,
    BadKey,
    NoCredits,
    Garbage,
}

impl World {
    /// How long a call takes, and how it ends.
    fn fate(&self, credential: usize) -> (Duration, Fate) {
        let mut state = self.state();
        let random = &mut state.random;
        let took = match random.u8(..20) {
            0 => Duration::from_secs(random.u64(10..80)),
            // Longer than any cell may take.
            1 if random.u8(..8) == 0 => Duration::from_hours(9),
            1..8 => Duration::from_millis(random.u64(..10)),
            _ => Duration::from_millis(random.u64(..3_000)),
        };
        // One credential is out of order for a minute now and then.
        let minute = self.now_ms() / 60_000;
        let is_out = credential == 1 && minute % 4 == 1;
        let fate = match random.u8(..40) {
            _ if is_out => Fate::ServerError,
            0..22 => Fate::Value,
            22..25 => Fate::NoData,
            25 => Fate::Huge,
            26 => Fate::MissingInput,
            27 | 28 => Fate::TooFast(Some(random.u64(..20))),
            29 => Fate::TooFast(None),
            30..33 => Fate::ServerError,
            33 | 34 => Fate::TimedOut,
            35 => Fate::BadKey,
            36 => Fate::NoCredits,
            _ => Fate::Garbage,
        };
        (took, fate)
    }
}

impl Fate {
    fn result(self, number: usize) -> CallOutcome {
        let failed = |kind: FailureKind| CallOutcome::from(Failure::new(kind, "It failed."));
        match self {
            Self::Value => CallOutcome::Value(format!("\"v{number}\"").into(), Meta::new()),
            Self::NoData => CallOutcome::NoData(Meta::new()),
            Self::Huge => CallOutcome::Value(format!("\"{}\"", "x".repeat(2_000)).into(), Meta::new()),
            Self::MissingInput => {
                let message = "It is not enough.".to_owned();
                CallOutcome::Skipped(CellError { code: ErrorCode::MissingInput, message })
            }
            Self::TooFast(seconds) => {
                let retry_after = seconds.map(Duration::from_secs);
                Failure { retry_after, ..Failure::new(FailureKind::RateLimited, "Too fast.") }.into()
            }
            Self::ServerError => Failure::transient("It is down.").into(),
            Self::TimedOut => failed(FailureKind::TimedOut),
            Self::BadKey => failed(FailureKind::InvalidCredentials),
            Self::NoCredits => failed(FailureKind::OutOfCredits),
            Self::Garbage => failed(FailureKind::InvalidOutput),
        }
    }
}

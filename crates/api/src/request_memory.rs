//! A budget for the memory of requests in flight: bodies that are being read and parsed, of all callers together.
//!
//! Without it a hundred bodies of 31 MB at once take 3 GB. A request is charged three times the bytes of its body,
//! which is the most that reading and parsing it takes, and is refused before it is read where that does not fit.
//!
//! Shares are fair: the first request of a team gets in wherever there is room, and further ones of that team only
//! while they leave the others as much as the team itself holds. All callers without a key count as one team.
//!
//! An eighth of the budget is for small bodies alone. A row written beside somebody's import, the same team's included,
//! gets in there.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use rowmill_fairness::Tenant;

use crate::error::Error;

/// What a body takes at most while it is read and parsed, for each of its bytes.
const CHARGE_FACTOR: usize = 3;

/// Less than this would refuse ordinary requests.
const BYTES_MIN: usize = 64 * 1024 * 1024;

/// Up to here a body is small: most of what programs and people send is.
const SMALL_BODY_BYTES: usize = 64 * 1024;

/// The part of the budget that is for small bodies alone.
const SMALL_BODIES_PART: usize = 8;

#[derive(Debug)]
pub(crate) struct RequestMemory {
    small: Mutex<Pool>,
    large: Mutex<Pool>,
}

/// A part of the budget, and who holds how much of it.
#[derive(Debug)]
struct Pool {
    /// The label of its metric.
    bodies: &'static str,
    bytes_max: usize,
    used: usize,
    /// What each tenant holds; a tenant that holds nothing has no entry.
    held: HashMap<Tenant, usize>,
}

/// A request's part of the budget, given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Reservation {
    memory: Arc<RequestMemory>,
    tenant: Tenant,
    is_small: bool,
    charged: usize,
}

impl RequestMemory {
    pub(crate) fn new(bytes_max: usize) -> Arc<Self> {
        let bytes_max = bytes_max.max(BYTES_MIN);
        let small = bytes_max / SMALL_BODIES_PART;
        let pool = |bodies, bytes_max| Mutex::new(Pool { bodies, bytes_max, used: 0, held: HashMap::new() });
        Arc::new(Self { small: pool("small", small), large: pool("large", bytes_max - small) })
    }

    /// The budget's part for the tenant that is served now, nothing so far.
    pub(crate) fn reserve(self: &Arc<Self>) -> Reservation {
        Reservation { memory: Arc::clone(self), tenant: Tenant::current(), is_small: true, charged: 0 }
    }

    fn pool(&self, is_small: bool) -> &Mutex<Pool> {
        if is_small { &self.small } else { &self.large }
    }
}

impl Pool {
    /// What a body of so many bytes is charged. One body never takes more than half, so that the largest gets in
    /// where the budget is small, and others beside it.
    fn charge(&self, body_bytes: usize) -> usize {
        body_bytes.saturating_mul(CHARGE_FACTOR).min(self.bytes_max / 2)
    }

    /// Gives the tenant more, for a request of its that holds `charged` so far, or refuses it.
    fn take(&mut self, tenant: Tenant, charged: usize, more: usize) -> Result<(), Error> {
        let held = self.held.get(&tenant).copied().unwrap_or(0);
        let is_only = held == charged;
        let others = self.used - held;
        let fits = self.used + more <= self.bytes_max;
        let is_fair = is_only || held + more <= (self.bytes_max - others) / 2;
        if !(fits && is_fair) {
            return Err(Error::Busy);
        }
        self.used += more;
        *self.held.entry(tenant).or_default() += more;
        self.publish();
        Ok(())
    }

    fn give_back(&mut self, tenant: Tenant, charged: usize) {
        self.used -= charged;
        if let Some(held) = self.held.get_mut(&tenant) {
            *held -= charged;
            if *held == 0 {
                self.held.remove(&tenant);
            }
        }
        self.publish();
    }

    fn publish(&self) {
        metrics::gauge!("rowmill_request_memory_bytes", "bodies" => self.bodies).set(gauge(self.used));
    }
}

impl Reservation {
    /// Holds enough for a body of so many bytes, or refuses it. Never less than before.
    pub(crate) fn grow_to(&mut self, body_bytes: usize) -> Result<(), Error> {
        if self.is_small && body_bytes > SMALL_BODY_BYTES {
            self.give_back();
            self.is_small = false;
        }
        let mut pool = self.memory.pool(self.is_small).lock();
        let more = pool.charge(body_bytes).saturating_sub(self.charged);
        if more > 0 {
            pool.take(self.tenant, self.charged, more)?;
            self.charged += more;
        }
        Ok(())
    }

    fn give_back(&mut self) {
        let charged = std::mem::take(&mut self.charged);
        if charged > 0 {
            self.memory.pool(self.is_small).lock().give_back(self.tenant, charged);
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.give_back();
    }
}

#[expect(clippy::cast_precision_loss, reason = "a measurement of bytes needs no more than 53 bits")]
fn gauge(bytes: usize) -> f64 {
    bytes as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    const MB: usize = 1024 * 1024;

    /// 120 MB for large bodies: one of 20 MB takes half of it.
    const BUDGET: usize = 120 * MB * 8 / 7;

    struct Bench(Arc<RequestMemory>);

    impl Bench {
        async fn admit(&self, team: u128, body_bytes: usize) -> Option<Reservation> {
            Tenant::team(team)
                .scope(async {
                    let mut reservation = self.0.reserve();
                    reservation.grow_to(body_bytes).ok().map(|()| reservation)
                })
                .await
        }
    }

    #[tokio::test]
    async fn a_team_leaves_the_others_as_much_as_it_holds() {
        let bench = Bench(RequestMemory::new(BUDGET + 8));
        let first = bench.admit(1, 10 * MB).await.unwrap();
        let second = bench.admit(1, 10 * MB).await.unwrap();
        assert!(bench.admit(1, MB).await.is_none(), "half is the most of one team");
        let other = bench.admit(2, 10 * MB).await.unwrap();
        assert!(bench.admit(1, MB).await.is_none());
        assert!(bench.admit(2, MB).await.is_none(), "half of what the first left");
        let third = bench.admit(3, 5 * MB).await.unwrap();
        drop((first, second));
        assert!(bench.admit(2, 4 * MB).await.is_some());
        drop((other, third));
        let pool = bench.0.large.lock();
        assert_eq!((pool.used, pool.held.len()), (0, 0));
    }

    #[tokio::test]
    async fn the_largest_body_gets_in_and_leaves_room() {
        let bench = Bench(RequestMemory::new(1));
        assert_eq!(bench.0.small.lock().bytes_max + bench.0.large.lock().bytes_max, BYTES_MIN);
        let large = bench.admit(1, 32 * MB).await.unwrap();
        assert!(bench.admit(2, MB).await.is_some());
        assert!(bench.admit(1, MB).await.is_none());
        drop(large);
        assert!(bench.admit(1, MB).await.is_some());
    }

    #[tokio::test]
    async fn a_small_body_gets_in_beside_large_ones_of_the_same_team() {
        let bench = Bench(RequestMemory::new(BUDGET));
        let _large = bench.admit(1, 20 * MB).await.unwrap();
        assert!(bench.admit(1, SMALL_BODY_BYTES + 1).await.is_none());
        let mut small = Vec::new();
        while let Some(reservation) = bench.admit(1, SMALL_BODY_BYTES).await {
            small.push(reservation);
        }
        assert!(small.len() > 40, "{}", small.len());
        assert!(bench.admit(2, SMALL_BODY_BYTES).await.is_some(), "half is the most of one team");
        small.pop();
        assert!(bench.admit(1, SMALL_BODY_BYTES).await.is_some());
    }

    #[tokio::test]
    async fn a_body_of_unknown_length_is_charged_as_it_grows() {
        let bench = Bench(RequestMemory::new(BUDGET + 8));
        let _others = bench.admit(1, 20 * MB).await.unwrap();
        let mut growing = bench.admit(2, MB).await.unwrap();
        growing.grow_to(20 * MB).unwrap();
        growing.grow_to(10 * MB).unwrap();
        assert_eq!(growing.charged, 60 * MB);
        assert!(bench.admit(3, MB).await.is_none());
        drop(growing);
        assert!(bench.admit(3, MB).await.is_some());
    }
}

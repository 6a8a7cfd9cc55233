//! Fair queueing: tenants wait in lines of their own, and whoever was served least comes next.
//!
//! Every tenant has an account of the time that its work took. The next piece of work is the oldest of the
//! tenant with the smallest account. So neither a few long writes nor many short ones of one team hold up
//! another for longer than the write that is under way.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::time::Duration;

use rowmill_fairness::Tenant;

#[derive(Debug)]
pub(crate) struct FairQueue<T> {
    accounts: HashMap<Tenant, Account<T>>,
    /// The tenants that wait, the next one first.
    order: BTreeSet<Turn>,
    /// The account of the tenant that was served last. Who comes back after a pause begins here: time in
    /// which a tenant wanted nothing is not saved up.
    floor: Duration,
    /// Counts turns, so that among equals the one that waited longest comes first.
    clock: u64,
}

/// How much a tenant was served, and since when it waits.
type Turn = (Duration, u64, Tenant);

#[derive(Debug)]
struct Account<T> {
    waiting: VecDeque<T>,
    served: Duration,
    since: u64,
}

impl<T> Default for FairQueue<T> {
    fn default() -> Self {
        Self { accounts: HashMap::new(), order: BTreeSet::new(), floor: Duration::ZERO, clock: 0 }
    }
}

impl<T> FairQueue<T> {
    pub(crate) fn push(&mut self, tenant: Tenant, work: T) {
        self.line(tenant).push_back(work);
    }

    /// Puts work back before all else of the tenant.
    pub(crate) fn push_front(&mut self, tenant: Tenant, work: T) {
        self.line(tenant).push_front(work);
    }

    /// The line of a tenant that is about to wait.
    fn line(&mut self, tenant: Tenant) -> &mut VecDeque<T> {
        let (floor, since) = (self.floor, self.next_turn());
        let account = self.accounts.entry(tenant).or_insert_with(|| Account {
            waiting: VecDeque::new(),
            served: floor,
            since,
        });
        if account.waiting.is_empty() {
            account.served = account.served.max(floor);
            account.since = since;
            self.order.insert((account.served, since, tenant));
        }
        &mut account.waiting
    }

    /// What comes next once so much more time is on a tenant's account, if it is another tenant's.
    pub(crate) fn next_besides(&self, tenant: Tenant, time: Duration) -> Option<&T> {
        let own = self.accounts.get(&tenant).map_or(self.floor, |account| account.served) + time;
        let (served, _, other) = self.order.iter().find(|(_, _, other)| *other != tenant)?;
        if *served < own { self.accounts.get(other)?.waiting.front() } else { None }
    }

    /// What comes next, and whose it is.
    pub(crate) fn peek(&self) -> Option<(Tenant, &T)> {
        let (_, _, tenant) = self.order.first()?;
        Some((*tenant, self.accounts.get(tenant)?.waiting.front()?))
    }

    pub(crate) fn pop(&mut self) -> Option<(Tenant, T)> {
        let (served, _, tenant) = self.order.first().copied()?;
        self.floor = served;
        let account = self.accounts.get_mut(&tenant)?;
        let work = account.waiting.pop_front()?;
        if account.waiting.is_empty() {
            self.order.pop_first();
        }
        if self.order.is_empty() {
            // Nobody waits, so nobody has anything to be put before: all begin anew.
            self.accounts.clear();
            self.floor = Duration::ZERO;
        }
        Some((tenant, work))
    }

    /// Puts time on a tenant's account. Its next turn comes after those of whoever was served less.
    pub(crate) fn charge(&mut self, tenant: Tenant, time: Duration) {
        let since = self.next_turn();
        let Some(account) = self.accounts.get_mut(&tenant) else { return };
        let was_waiting = self.order.remove(&(account.served, account.since, tenant));
        account.served += time;
        account.since = since;
        if was_waiting {
            self.order.insert((account.served, since, tenant));
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// How many works wait, of all tenants.
    pub(crate) fn len(&self) -> usize {
        self.accounts.values().map(|account| account.waiting.len()).sum()
    }

    fn next_turn(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Serves everything, each for as many milliseconds as it says, and tells in which order.
    fn serve_all(queue: &mut FairQueue<(&'static str, u64)>) -> Vec<&'static str> {
        std::iter::from_fn(|| {
            let (tenant, (name, millis)) = queue.pop()?;
            queue.charge(tenant, Duration::from_millis(millis));
            Some(name)
        })
        .collect()
    }

    fn check(waiting: &[(u128, &'static str, u64)], expected: &[&str]) {
        let mut queue = FairQueue::default();
        for (team, name, millis) in waiting {
            queue.push(Tenant::team(*team), (*name, *millis));
        }
        assert_eq!(serve_all(&mut queue), expected);
        assert!(queue.is_empty() && queue.accounts.is_empty());
    }

    #[test]
    fn tenants_take_turns_by_the_time_they_took() {
        check(&[(1, "a", 5), (1, "b", 5), (1, "c", 5)], &["a", "b", "c"]);
        // A short write waits for one long one, not for all that came before it.
        check(&[(1, "a", 50), (1, "b", 50), (1, "c", 50), (2, "x", 1)], &["a", "x", "b", "c"]);
        // Many short ones together weigh as much as a long one.
        check(
            &[(1, "a", 50), (1, "b", 50), (2, "u", 20), (2, "v", 20), (2, "w", 20), (2, "x", 20)],
            &["a", "u", "v", "w", "b", "x"],
        );
        check(&[(1, "a", 1), (1, "b", 1), (2, "x", 1), (2, "y", 1), (3, "z", 1)], &["a", "x", "z", "b", "y"]);
    }

    #[test]
    fn a_pause_saves_nothing_up() {
        let mut queue = FairQueue::default();
        for _ in 0..3 {
            queue.push(Tenant::team(1), ("a", 10));
            queue.push(Tenant::team(2), ("b", 10));
        }
        let mut served = Vec::new();
        for _ in 0..4 {
            let (tenant, (name, millis)) = queue.pop().unwrap();
            queue.charge(tenant, Duration::from_millis(millis));
            served.push(name);
        }
        // Whoever comes late has their turn at once, but is not owed what the others had before.
        for _ in 0..3 {
            queue.push(Tenant::team(3), ("c", 10));
        }
        served.extend(serve_all(&mut queue));
        assert_eq!(served, ["a", "b", "a", "b", "c", "a", "b", "c", "c"]);
    }

    #[test]
    fn what_is_charged_while_others_arrive_counts() {
        let mut queue = FairQueue::default();
        queue.push(Tenant::team(1), "a");
        let (tenant, _) = queue.pop().unwrap();
        queue.push(Tenant::team(1), "b");
        queue.push(Tenant::team(2), "x");
        queue.charge(tenant, Duration::from_millis(1));
        assert_eq!(queue.peek(), Some((Tenant::team(2), &"x")));
    }

    #[test]
    fn work_that_is_put_back_comes_after_those_who_were_served_less_and_before_its_own_line() {
        let (one, two) = (Tenant::team(1), Tenant::team(2));
        let mut queue = FairQueue::default();
        queue.push(one, "a");
        queue.push(one, "b");
        queue.pop().unwrap();
        queue.push(two, "x");
        assert_eq!(queue.next_besides(one, Duration::ZERO), None);
        assert_eq!(queue.next_besides(one, Duration::from_millis(1)), Some(&"x"));
        assert_eq!(queue.next_besides(two, Duration::from_millis(1)), Some(&"b"));
        queue.push_front(one, "a");
        queue.charge(one, Duration::from_millis(1));
        let order: Vec<&str> = std::iter::from_fn(|| queue.pop().map(|(_, name)| name)).collect();
        assert_eq!(order, ["x", "a", "b"]);
    }
}

//! Who may connect: a cap on connections in total and per client address, and which one gives way.
//!
//! A connection that waits for a request, be it idle or slow with its head, gives way to a newcomer, the one
//! that has waited longest first. Only where all are busy, or new themselves, is a newcomer limited: it sits in a small reserve in
//! which health is answered and everything else refused, and where again the newest wins. So whoever holds
//! connections holds up neither a balancer's checks nor, without sending requests, anybody else.

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};
use rowmill_clock::{Clock as _, SystemClock};
use tokio::sync::Notify;

/// How many connections are looked at to find one that gives way.
const LOOKED_AT_MAX: usize = 64;
/// How often it is logged that connections are at their limit.
const TOLD_EVERY: Duration = Duration::from_mins(1);

/// How many connections there may be at once.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Caps {
    pub(crate) total: usize,
    pub(crate) per_address: usize,
    /// Beyond the total, for health alone.
    pub(crate) reserve: usize,
    /// How long a new connection is left alone to bring its first request.
    pub(crate) grace: Duration,
}

#[derive(Debug)]
pub(super) struct Gate {
    caps: Caps,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Ids of connections, and their order of waiting.
    next: u64,
    members: HashMap<u64, Member>,
    ordinary: Line,
    reserve: Line,
    addresses: HashMap<IpAddr, Line>,
    told: Option<Instant>,
}

/// Connections that are counted together.
#[derive(Debug, Default)]
struct Line {
    count: usize,
    /// Those that wait for a request, the one that has waited longest first.
    waiting: BTreeMap<u64, u64>,
}

#[derive(Debug)]
struct Member {
    /// None if only the total holds for it: the connections of a proxy are those of many clients.
    address: Option<IpAddr>,
    is_limited: bool,
    /// Its place among those that wait, unless it is busy.
    turn: Option<u64>,
    /// When it came, as long as it has brought no request.
    new_since: Option<Instant>,
    leave: Arc<Notify>,
}

/// A connection's place, which is free again when it is dropped.
#[derive(Debug)]
pub(super) struct Seat {
    gate: Arc<Gate>,
    id: u64,
    is_limited: bool,
    leave: Arc<Notify>,
    /// A request is being answered.
    is_busy: AtomicBool,
    /// The answer is complete, but perhaps not on its way yet.
    is_answered: AtomicBool,
    /// Of a request's body something was left unread.
    has_unread: AtomicBool,
    /// No request is taken after the one that is being answered.
    is_ending: AtomicBool,
}

impl Gate {
    pub(super) fn new(caps: Caps) -> Arc<Self> {
        Arc::new(Self { caps, state: Mutex::default() })
    }

    /// A seat for a connection, which waits for its first request. None if not even the reserve has one.
    /// Without an address, only the total is counted.
    pub(super) fn enter(self: &Arc<Self>, address: Option<IpAddr>) -> Option<Arc<Seat>> {
        let address = address.map(client_of);
        let mut state = self.state();
        let from_address = address.and_then(|address| state.addresses.get(&address));
        let has_room = if from_address.is_some_and(|line| line.count >= self.caps.per_address) {
            let oldest = from_address.and_then(|line| state.oldest(line, self.caps.grace));
            state.evict(oldest)
        } else if state.ordinary.count >= self.caps.total {
            let oldest = state.oldest(&state.ordinary, self.caps.grace);
            state.evict(oldest)
        } else {
            true
        };
        if !has_room {
            state.tell(self.caps);
            let oldest = state.oldest(&state.reserve, Duration::ZERO);
            if state.reserve.count >= self.caps.reserve && !state.evict(oldest) {
                return None;
            }
        }
        let (id, leave) = (state.number(), Arc::default());
        let (turn, new_since) = (None, Some(SystemClock.monotonic()));
        let member = Member { address, is_limited: !has_room, turn, new_since, leave: Arc::clone(&leave) };
        for line in state.lines(&member) {
            line.count += 1;
        }
        state.members.insert(id, member);
        state.wait(id);
        drop(state);
        let seat = Seat {
            gate: Arc::clone(self),
            id,
            is_limited: !has_room,
            leave,
            is_busy: AtomicBool::new(false),
            is_answered: AtomicBool::new(false),
            has_unread: AtomicBool::new(false),
            is_ending: AtomicBool::new(!has_room),
        };
        Some(Arc::new(seat))
    }

    /// Makes room for somebody who is not here yet.
    pub(super) fn evict_oldest(&self) {
        let mut state = self.state();
        let oldest = state.oldest(&state.ordinary, Duration::ZERO);
        state.evict(oldest);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

impl Seat {
    /// Whether it is in the reserve, where only health is answered.
    pub(super) fn is_limited(&self) -> bool {
        self.is_limited
    }

    pub(super) fn is_busy(&self) -> bool {
        self.is_busy.load(Ordering::Acquire)
    }

    /// A request has come: the connection is left alone until it is answered, and the answer on its way.
    pub(super) fn begin(&self) {
        self.is_busy.store(true, Ordering::Release);
        self.gate.state().begin(self.id);
    }

    pub(super) fn answered(&self) {
        self.is_answered.store(true, Ordering::Release);
    }

    /// Everything that was written is on its way.
    pub(super) fn flushed(&self) {
        if self.is_answered.swap(false, Ordering::AcqRel) {
            self.wait();
        }
    }

    /// From now on it gives way.
    pub(super) fn wait(&self) {
        self.is_busy.store(false, Ordering::Release);
        self.gate.state().wait(self.id);
    }

    /// Returns once this connection has to give way to another.
    pub(super) async fn told_to_leave(&self) {
        self.leave.notified().await;
    }

    pub(super) fn leave_unread(&self) {
        self.has_unread.store(true, Ordering::Release);
    }

    /// The answer under way is the last one.
    pub(super) fn end(&self) {
        self.is_ending.store(true, Ordering::Release);
    }

    pub(super) fn is_ending(&self) -> bool {
        self.is_ending.load(Ordering::Acquire)
    }

    pub(super) fn has_unread(&self) -> bool {
        self.has_unread.load(Ordering::Acquire)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.gate.state().remove(self.id);
    }
}

impl State {
    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// The lines a connection stands in. Those in the reserve do not count for their address.
    fn lines(&mut self, member: &Member) -> Vec<&mut Line> {
        if member.is_limited {
            return vec![&mut self.reserve];
        }
        let of_address = member.address.map(|address| self.addresses.entry(address).or_default());
        std::iter::once(&mut self.ordinary).chain(of_address).collect()
    }

    /// The connection that has waited longest, of those that need not be left alone.
    fn oldest(&self, line: &Line, grace: Duration) -> Option<u64> {
        let is_new = |id: &u64| {
            let since = self.members.get(id).and_then(|member| member.new_since);
            since.is_some_and(|since| since.elapsed() < grace)
        };
        line.waiting.values().take(LOOKED_AT_MAX).find(|id| !is_new(id)).copied()
    }

    fn begin(&mut self, id: u64) {
        self.stop_waiting(id);
        if let Some(member) = self.members.get_mut(&id) {
            member.new_since = None;
        }
    }

    fn wait(&mut self, id: u64) {
        let turn = self.number();
        let Some(mut member) = self.members.remove(&id) else { return };
        for line in self.lines(&member) {
            if let Some(turn) = member.turn {
                line.waiting.remove(&turn);
            }
            line.waiting.insert(turn, id);
        }
        member.turn = Some(turn);
        self.members.insert(id, member);
    }

    fn stop_waiting(&mut self, id: u64) {
        let Some(mut member) = self.members.remove(&id) else { return };
        if let Some(turn) = member.turn.take() {
            for line in self.lines(&member) {
                line.waiting.remove(&turn);
            }
        }
        self.members.insert(id, member);
    }

    fn remove(&mut self, id: u64) -> Option<Member> {
        self.stop_waiting(id);
        let member = self.members.remove(&id)?;
        for line in self.lines(&member) {
            line.count -= 1;
        }
        if let Some(address) = member.address
            && self.addresses.get(&address).is_some_and(|line| line.count == 0)
        {
            self.addresses.remove(&address);
        }
        Some(member)
    }

    /// Tells a connection to go, and counts it no more.
    fn evict(&mut self, id: Option<u64>) -> bool {
        let Some(member) = id.and_then(|id| self.remove(id)) else { return false };
        member.leave.notify_one();
        true
    }

    fn tell(&mut self, Caps { total, per_address, .. }: Caps) {
        if self.told.is_none_or(|told| told.elapsed() >= TOLD_EVERY) {
            self.told = Some(SystemClock.monotonic());
            tracing::warn!(
                connections = self.ordinary.count,
                connections_max = total,
                connections_per_address_max = per_address,
                "connections are at their limit: all are busy, and new ones are refused"
            );
        }
    }
}

/// What stands for a client: its address, or for IPv6 its /64, since whoever has one has all of it.
fn client_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << 64))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gate(total: usize, per_address: usize, reserve: usize) -> Arc<Gate> {
        Gate::new(Caps { total, per_address, reserve, grace: Duration::ZERO })
    }

    #[expect(clippy::unnecessary_wraps, reason = "as the gate takes it")]
    fn address(number: u8) -> Option<IpAddr> {
        Some(IpAddr::from([192, 0, 2, number]))
    }

    /// Whether a connection was told to leave.
    fn must_leave(seat: &Seat) -> bool {
        use std::task::{Context, Poll, Waker};
        let mut told = std::pin::pin!(seat.told_to_leave());
        matches!(told.as_mut().poll(&mut Context::from_waker(Waker::noop())), Poll::Ready(()))
    }

    #[test]
    fn who_has_waited_longest_gives_way() {
        let gate = gate(2, 2, 1);
        let (first, second) = (gate.enter(address(1)).unwrap(), gate.enter(address(2)).unwrap());
        first.begin();
        first.answered();
        first.flushed();
        let third = gate.enter(address(3)).unwrap();
        assert!(must_leave(&second) && !must_leave(&first) && !third.is_limited());
        drop(second);
        drop(third);
        assert!(!gate.enter(address(3)).unwrap().is_limited(), "its place is free again, once");
        assert_eq!(gate.state().ordinary.count, 1);
    }

    #[test]
    fn who_is_busy_stays_and_the_newcomer_is_limited() {
        let gate = gate(1, 1, 1);
        let busy = gate.enter(address(1)).unwrap();
        busy.begin();
        busy.flushed();
        let limited = gate.enter(address(2)).unwrap();
        assert!(limited.is_limited() && !must_leave(&busy));
        let newest = gate.enter(address(2)).unwrap();
        assert!(newest.is_limited() && must_leave(&limited), "in the reserve, too, the newest wins");
        newest.begin();
        assert!(gate.enter(address(3)).is_none(), "and then there is no more");
        drop(busy);
        assert!(!gate.enter(address(3)).unwrap().is_limited());
    }

    #[test]
    fn who_is_new_is_left_alone() {
        let grace = Duration::from_hours(1);
        let gate = Gate::new(Caps { total: 2, per_address: 2, reserve: 1, grace });
        let (new, idle) = (gate.enter(address(1)).unwrap(), gate.enter(address(1)).unwrap());
        idle.begin();
        idle.wait();
        assert!(!gate.enter(address(2)).unwrap().is_limited());
        assert!(must_leave(&idle) && !must_leave(&new));
        let _other = gate.enter(address(2)).unwrap();
        assert!(gate.enter(address(2)).unwrap().is_limited(), "all are new");
    }

    #[test]
    fn one_address_has_its_own_cap() {
        let gate = gate(10, 2, 1);
        let seats = [gate.enter(address(1)).unwrap(), gate.enter(address(1)).unwrap()];
        seats[1].begin();
        let third = gate.enter(address(1)).unwrap();
        assert!(must_leave(&seats[0]) && !third.is_limited());
        third.begin();
        assert!(gate.enter(address(1)).unwrap().is_limited());
        assert!(!gate.enter(address(2)).unwrap().is_limited());
        let of_proxy: Vec<_> = (0..5).map(|_| gate.enter(None).unwrap()).collect();
        assert!(of_proxy.iter().all(|seat| !seat.is_limited()), "a proxy's connections are those of many");
        drop(of_proxy);
        drop(seats);
        drop(third);
        assert!(gate.state().addresses.is_empty() && gate.state().members.is_empty());
    }
}

//! The dispatcher: claims cells and starts a task for each.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::future::join_all;
use jiff::Timestamp;
use rowmill_model::{Column, Project, ProjectId, TeamId};
use rowmill_store::{Claimed, Lane, StoreError};

use crate::budgets::Reserver;
use crate::cell_runner::Cell;
use crate::fair_share::{LaneDemand, fair_share};
use crate::results::BATCH_WINDOW;
use crate::run::run;
use crate::shared::Shared;
use crate::time_left::time_left;

/// Lanes looked at in one round. The next round begins behind them.
const LANES_MAX: usize = 256;
/// Claims at once, each of other projects.
const CLAIMS_MAX: usize = 4;

/// When to look for work again.
enum Next {
    AtOnce,
    /// Unless something is heard before.
    After(Duration),
}

/// Fills free places with work, for ever.
pub(crate) async fn dispatch(shared: Arc<Shared>) {
    let mut turn = 0;
    loop {
        match round(&shared, turn).await {
            Ok(Next::AtOnce) => tokio::task::yield_now().await,
            Ok(Next::After(wait)) => {
                if shared.claim_ahead.is_quick() {
                    shared.clock.sleep(BATCH_WINDOW.min(wait)).await;
                }
                tokio::select! {
                    biased;
                    () = shared.wake.notified() => {}
                    () = shared.clock.sleep(wait) => {}
                }
            }
            Err(error) => shared.store_failed("claim", &error).await,
        }
        turn += 1;
    }
}

async fn round(shared: &Arc<Shared>, turn: usize) -> Result<Next, StoreError> {
    let config = &shared.config;
    let (running, in_flight) = shared.in_flight.load();
    #[expect(clippy::cast_precision_loss, reason = "a gauge need not be exact beyond 2^52")]
    metrics::gauge!("rowmill_cells_in_flight").set(running as f64);
    let now = shared.clock.now();
    let (team_max, reserve) = (shared.in_flight_max(), shared.permits.reserve());
    let (most, ahead) = (team_max + reserve, team_max - config.concurrency);
    // Results that wait to be written count, too: a store that is slow is not given ever more to do.
    let free = most.saturating_sub(running).min((2 * most).saturating_sub(in_flight));
    // While every place is taken there is no hurry: what is claimed ahead comes in batches.
    let may_wait = running >= config.concurrency && 2 * free.saturating_sub(reserve) < ahead;
    shared.wanted.store(config.concurrency + reserve + ahead / 2, Ordering::Relaxed);
    if free == 0 || may_wait {
        return Ok(Next::After(config.look_every));
    }
    let lanes = shared.store.lanes(now.as_millisecond()).await?;
    let due = lanes.next_due_ms.and_then(|due| Timestamp::from_millisecond(due).ok());
    let (demands, available_at) = demands(shared, &lanes.ready, turn).await?;
    let asks = fair_share(free, team_max, demands, &shared.in_flight);
    let asks = limit_to_budgets(shared, asks).await?;
    let claimed = if asks.is_empty() { 0 } else { claim(shared, asks).await? };
    if claimed > 0 {
        return Ok(Next::AtOnce);
    }
    let now = shared.clock.now();
    let sooner = [due, available_at].into_iter().flatten().map(|then| time_left(now, then)).min();
    Ok(Next::After(sooner.unwrap_or(config.look_every).min(config.look_every)))
}

/// What may be begun of each lane, and when there may be more.
async fn demands(
    shared: &Shared,
    ready: &[Lane],
    turn: usize,
) -> Result<(Vec<LaneDemand>, Option<Timestamp>), StoreError> {
    let mut projects: BTreeMap<ProjectId, Option<Arc<Project>>> = BTreeMap::new();
    let (mut demands, mut available_at) = (Vec::new(), None::<Timestamp>);
    let lanes = in_turn(ready, &shared.teams(), turn);
    for lane in &lanes {
        let project = match projects.get(&lane.project) {
            Some(project) => project.clone(),
            None => shared.store.project(lane.project).await?.map(|stored| stored.project),
        };
        projects.insert(lane.project, project.clone());
        let Some(project) = project else { continue };
        shared.know_team(&project);
        let Some(column) = project.table.columns.iter().find(|column| column.slot == lane.slot) else {
            continue;
        };
        if column.is_in_batches() {
            let (now, collect) = (shared.clock.now(), shared.config.batch.collect);
            shared.batch_lanes.ready(*lane, project.team, now, collect);
            continue;
        }
        if !has_budget(shared, *lane, &project, column).await {
            continue;
        }
        let capacity = shared.runner.capacity(&project, column).await;
        if let Some(retry_at) = capacity.retry_at {
            available_at = Some(available_at.map_or(retry_at, |available_at| available_at.min(retry_at)));
        }
        demands.push(LaneDemand { lane: *lane, team: project.team, capacity });
    }
    Ok((demands, available_at))
}

/// Holds what is to be claimed to the spending caps, and writes down what became free.
async fn limit_to_budgets(shared: &Shared, asks: Vec<(Lane, u32)>) -> Result<Vec<(Lane, u32)>, StoreError> {
    let (budgets, in_flight) = (&shared.budgets, &shared.in_flight);
    let by =
        || Reserver { worker: shared.worker, expires_at_ms: shared.expires_at_ms(), now: shared.clock.now() };
    let mut limited = Vec::with_capacity(asks.len());
    for (lane, wanted) in &asks {
        let Some(reserve) = budgets.reservation(in_flight, by(), *lane, *wanted) else {
            limited.push((*lane, *wanted));
            continue;
        };
        let held = reserve.held;
        let reserved = shared.store.reserve(reserve).await?;
        let may_begin = budgets.note(*lane, held, reserved, shared.clock.now());
        if may_begin > 0 {
            limited.push((*lane, may_begin));
        }
    }
    for lane in budgets.idle_lanes(in_flight, &asks) {
        if let Some(reserve) = budgets.reservation(in_flight, by(), lane, 0) {
            let held = reserve.held;
            shared.store.reserve(reserve).await?;
            budgets.told(lane, held);
        }
    }
    Ok(limited)
}

/// Whether a lane is to be looked at now, as far as spending caps are concerned.
async fn has_budget(shared: &Shared, lane: Lane, project: &Project, column: &Column) -> bool {
    let now = shared.clock.now();
    let spending = shared.budgets.settings.of(&*shared.store, project.team, now).await;
    let payees = if spending.has_caps() { Some(shared.runner.payees(project, column).await) } else { None };
    let payees = payees.map(|payees| (payees, &spending.settings));
    shared.budgets.may_ask(lane, project, column, payees, now)
}

/// The lanes to look at in this round: all, or as many as can be, teams in turn. One team's thousand columns do not keep
/// another's waiting. Whose they are is not known of all; those count as one team's until they were looked at.
fn in_turn(ready: &[Lane], teams: &HashMap<ProjectId, TeamId>, turn: usize) -> Vec<Lane> {
    if ready.len() <= LANES_MAX {
        let start = turn.checked_rem(ready.len()).unwrap_or_default();
        return ready.iter().cycle().skip(start).take(ready.len()).copied().collect();
    }
    let mut by_team: BTreeMap<Option<TeamId>, Vec<Lane>> = BTreeMap::new();
    for lane in ready {
        by_team.entry(teams.get(&lane.project).copied()).or_default().push(*lane);
    }
    let start = turn.wrapping_mul((LANES_MAX / by_team.len()).max(1));
    let mut lines: Vec<_> = by_team
        .values()
        .map(|lanes| lanes.iter().cycle().skip(start % lanes.len().max(1)).take(lanes.len()))
        .collect();
    // More teams than lanes: each round begins with another one.
    let first = turn.checked_rem(lines.len()).unwrap_or_default();
    lines.rotate_left(first);
    let mut chosen = Vec::with_capacity(LANES_MAX);
    while chosen.len() < LANES_MAX {
        chosen.extend(lines.iter_mut().filter_map(Iterator::next).take(LANES_MAX - chosen.len()));
    }
    chosen
}

/// Takes cells and starts their tasks; says how many. Whatever was got is started, even if some of it failed.
async fn claim(shared: &Arc<Shared>, asks: Vec<(Lane, u32)>) -> Result<usize, StoreError> {
    let groups = group_by_project(asks);
    let bytes_max = shared.config.claim_bytes_max / groups.len().max(1);
    // Before the claims, so that no revocation of their tickets is missed.
    let number = shared.in_flight.begin_claim();
    let claims = groups.into_iter().map(|asks| async move {
        let claimed = shared.store.claim(shared.claim_of(asks, bytes_max)).await?;
        let count = claimed.len();
        start(shared, claimed);
        Ok(count)
    });
    let counts = join_all(claims).await;
    shared.in_flight.end_claim(number);
    counts.into_iter().sum()
}

/// Asks in a few groups, each of projects of its own: what one claim waits for does not hold up the others.
fn group_by_project(asks: Vec<(Lane, u32)>) -> Vec<Vec<(Lane, u32)>> {
    let mut projects: BTreeMap<ProjectId, Vec<(Lane, u32)>> = BTreeMap::new();
    for ask in asks {
        projects.entry(ask.0.project).or_default().push(ask);
    }
    let mut groups = vec![Vec::new(); projects.len().min(CLAIMS_MAX)];
    for (number, asks) in projects.into_values().enumerate() {
        if let Some(group) = groups.get_mut(number % CLAIMS_MAX) {
            group.extend(asks);
        }
    }
    groups
}

/// Starts the tasks of claimed cells.
pub(crate) fn start(shared: &Arc<Shared>, claimed: Vec<Claimed>) {
    let mut columns: BTreeMap<Lane, Arc<Column>> = BTreeMap::new();
    for Claimed { ticket, row, values, attempts, waiting_since_ms, run: number, trace, project } in claimed {
        let lane = ticket.lane;
        let column = match columns.get(&lane) {
            Some(column) => Arc::clone(column),
            None => match project.table.columns.iter().find(|column| column.slot == lane.slot) {
                Some(column) => Arc::clone(columns.entry(lane).or_insert_with(|| Arc::new(column.clone()))),
                None => continue,
            },
        };
        shared.budgets.admit(ticket);
        shared.in_flight.admit(ticket, project.team, |revoked| {
            let waiting_since = waiting_since_ms.and_then(|since| Timestamp::from_millisecond(since).ok());
            let run_number = Some(number);
            let cell = Cell {
                ticket,
                row,
                values,
                attempts,
                waiting_since,
                run: run_number,
                trace,
                project,
                column,
                revoked,
            };
            tokio::spawn(run(Arc::clone(shared), cell)).abort_handle()
        });
    }
}

#[cfg(test)]
mod tests {
    use rowmill_model::record::Slot;
    use uuid::Uuid;

    use super::*;

    fn lane(project: u128, slot: Slot) -> Lane {
        Lane { project: ProjectId::from_uuid(Uuid::from_u128(project)), slot }
    }

    #[test]
    fn a_lane_is_not_lost_among_anothers_thousands() {
        let many: Vec<Lane> = (1..=1_000).map(|project| lane(project, 1)).collect();
        let team = |number| TeamId(Uuid::from_u128(number));
        let mut teams: HashMap<_, _> = many.iter().map(|lane| (lane.project, team(1))).collect();
        let (quiet, unknown) = (lane(5_000, 1), lane(6_000, 1));
        teams.insert(quiet.project, team(2));
        let ready = [many, vec![quiet, unknown]].concat();
        let mut seen = std::collections::BTreeSet::new();
        for turn in 0..20 {
            let chosen = in_turn(&ready, &teams, turn);
            assert_eq!(chosen.len(), LANES_MAX);
            assert!(chosen.contains(&quiet) && chosen.contains(&unknown), "{turn}");
            seen.extend(chosen);
        }
        assert_eq!(seen.len(), ready.len(), "all have their turn");
        assert_eq!(in_turn(&[quiet, unknown], &teams, 1), [unknown, quiet]);
        assert!(in_turn(&[], &teams, 3).is_empty());
    }
}

//! Prices and caps of teams, and the money that is set aside for cells under way.

use std::collections::BTreeMap;

use async_trait::async_trait;
use rowmill_model::estimate::Estimate;
use rowmill_model::plan::Tally;
use rowmill_model::spending::day_of;
use rowmill_model::{Amount, Cap, ProjectId, TeamId};
use rowmill_store::spending::{
    CapStanding, LEARNED_DAYS, LedgerEntry, LedgerLine, Money, NOTICES_KEPT_MS, Reached, Reserve, Reserved,
    RunCap, SpendingStore, TeamSpending,
};
use rowmill_store::spending_scope::{ReservedUnder, SpentUnder};
use rowmill_store::webhooks::Subscription;
use rowmill_store::{Result, StoreError};
use rusqlite::{Connection, OptionalExtension};

use crate::convert::{backend, damaged};
use crate::readers::ReadKind;
use crate::store::SqliteStore;
use crate::work::see_worker;
use crate::{ledger, project_state, run_estimates, webhooks};

#[async_trait]
impl SpendingStore for SqliteStore {
    async fn spending(&self, team: TeamId) -> Result<TeamSpending> {
        self.readers.read(|connection| settings(connection, team))
    }

    async fn save_spending(&self, team: TeamId, saved: TeamSpending) -> Result<()> {
        self.writer.write(move |connection| save(connection, team, &saved)).await
    }

    async fn cap_run(&self, team: TeamId, project: ProjectId, cap: RunCap) -> Result<()> {
        self.writer.write(move |connection| cap_run(connection, team, project, cap)).await
    }

    async fn reserve(&self, asked: Reserve) -> Result<Reserved> {
        self.writer.write(move |connection| reserve(connection, &asked)).await
    }

    async fn charge(&self, team: TeamId, project: ProjectId, entry: LedgerEntry) -> Result<()> {
        self.writer
            .write(move |connection| ledger::add(connection, team, project, std::slice::from_ref(&entry)))
            .await
    }

    async fn cap_standings(&self, team: TeamId, now_ms: i64) -> Result<Vec<CapStanding>> {
        self.readers
            .read_long(ReadKind::List, move |connection| cap_standings(connection, team, now_ms))
            .await
    }

    async fn note_run_estimate(&self, project: ProjectId, run: u64, estimate: Estimate) -> Result<()> {
        self.writer.write(move |connection| run_estimates::note(connection, project, run, &estimate)).await
    }

    async fn run_estimates(&self, project: ProjectId, runs: Vec<u64>) -> Result<BTreeMap<u64, Estimate>> {
        self.readers.read(|connection| run_estimates::read(connection, project, &runs))
    }

    async fn ledger(&self, team: TeamId, first_day: i64, last_day: i64) -> Result<Vec<LedgerLine>> {
        self.readers
            .read_long(ReadKind::List, move |connection| ledger::lines(connection, team, first_day, last_day))
            .await
    }

    async fn sweep_ledger(&self, before_day: i64) -> Result<bool> {
        // The writer is not troubled when there is nothing to do.
        if !self.readers.read(|connection| ledger::has_old(connection, before_day))? {
            return Ok(false);
        }
        self.writer.write(move |connection| ledger::sweep(connection, before_day)).await?;
        Ok(true)
    }
}

fn settings(connection: &Connection, team: TeamId) -> Result<TeamSpending> {
    let found: Option<(u64, String, bool)> = connection
        .prepare_cached("SELECT version, document, run_caps FROM spending_settings WHERE team = ?1")
        .and_then(|mut query| {
            query.query_row([team.0.as_bytes()], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).optional()
        })
        .map_err(backend)?;
    found.map_or_else(
        || Ok(TeamSpending::default()),
        |(version, text, has_run_caps)| TeamSpending::read(version, &text, has_run_caps),
    )
}

fn save(connection: &Connection, team: TeamId, saved: &TeamSpending) -> Result<()> {
    let document = serde_json::to_string(&saved.settings).map_err(damaged)?;
    let written = connection
        .execute(
            "INSERT INTO spending_settings (team, version, document) SELECT ?1, ?2 + 1, ?3 \
             WHERE ?2 = 0 OR EXISTS (SELECT 1 FROM spending_settings WHERE team = ?1 AND version = ?2) \
             ON CONFLICT DO UPDATE SET version = excluded.version, document = excluded.document WHERE version = ?2",
            (team.0.as_bytes(), saved.version, document),
        )
        .map_err(backend)?;
    if written == 0 { Err(StoreError::Stale) } else { Ok(()) }
}

fn cap_run(connection: &Connection, team: TeamId, project: ProjectId, cap: RunCap) -> Result<()> {
    connection
        .execute(
            "INSERT INTO spending_settings (team, version, document, run_caps) VALUES (?1, 1, '{}', 1) \
             ON CONFLICT DO UPDATE SET run_caps = 1 WHERE run_caps = 0",
            [team.0.as_bytes()],
        )
        .map_err(backend)?;
    let RunCap { run, usd, credits } = cap;
    connection
        .execute(
            "INSERT INTO run_caps (project, run, usd, credits) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO UPDATE SET \
             run = excluded.run, usd = excluded.usd, credits = excluded.credits",
            (project.uuid().as_bytes(), run, usd.map(Amount::parts), credits.map(Amount::parts)),
        )
        .map(|_| ())
        .map_err(backend)
}

fn run_cap(connection: &Connection, project: ProjectId) -> Result<Option<RunCap>> {
    connection
        .prepare_cached("SELECT run, usd, credits FROM run_caps WHERE project = ?1")
        .and_then(|mut query| {
            let amount = |parts: Option<i64>| parts.map(Amount::of_parts);
            query
                .query_row([project.uuid().as_bytes()], |row| {
                    Ok(RunCap { run: row.get(0)?, usd: amount(row.get(1)?), credits: amount(row.get(2)?) })
                })
                .optional()
        })
        .map_err(backend)
}

fn tally(connection: &Connection, num: i64) -> Result<Tally> {
    let found: Option<String> = connection
        .prepare_cached("SELECT tally FROM tallies WHERE project = ?1")
        .and_then(|mut query| query.query_row([num], |row| row.get(0)).optional())
        .map_err(backend)?;
    found.map_or_else(|| Ok(Tally::default()), |text| serde_json::from_str(&text).map_err(damaged))
}

fn reserve(connection: &Connection, asked: &Reserve) -> Result<Reserved> {
    let Reserve { team, lane, now_ms, .. } = asked;
    let Some(state) = project_state::state(connection, lane.project)? else { return Ok(Reserved::default()) };
    let TeamSpending { settings, .. } = settings(connection, *team)?;
    see_worker(connection, asked.worker, asked.expires_at_ms)?;
    forget_lost(connection, *team)?;
    let tally = tally(connection, state.head.num)?;
    let caps = asked.caps(&settings, run_cap(connection, lane.project)?, &tally);
    let mut standings = Vec::with_capacity(caps.len());
    for cap in caps {
        let spent = spent(connection, *team, &cap, *now_ms, Some(&tally))?;
        let reserved = reserved(connection, *team, &cap, Some(asked))?;
        standings.push(CapStanding { cap, spent, reserved });
    }
    let learned = ledger::learned(connection, lane.project, &asked.column, day_of(*now_ms) - LEARNED_DAYS)?;
    let granted = asked.decide(&standings, &learned);
    hold(connection, asked, asked.held_with(&granted))?;
    if let Some(reached) = &granted.reached {
        tell(connection, asked, reached, tally.run_number(), state.change_seq + 1)?;
    }
    Ok(granted)
}

/// Forgets what was set aside for workers that are gone.
fn forget_lost(connection: &Connection, team: TeamId) -> Result<()> {
    connection
        .prepare_cached("DELETE FROM reservations WHERE team = ?1 AND worker NOT IN (SELECT id FROM workers)")
        .and_then(|mut delete| delete.execute([team.0.as_bytes()]))
        .map(|_| ())
        .map_err(backend)
}

/// What a cap has spent, in the unit it is in.
fn spent(
    connection: &Connection,
    team: TeamId,
    cap: &Cap,
    now_ms: i64,
    tally: Option<&Tally>,
) -> Result<i64> {
    let money = match SpentUnder::of(cap, now_ms, tally) {
        SpentUnder::Ledger { first_day, project, provider } => {
            ledger::spent(connection, team, first_day, project, provider)?
        }
        SpentUnder::Run(money) => money,
    };
    Ok(money.of(cap))
}

/// What is set aside under a cap, but for one worker's in one lane.
fn reserved(connection: &Connection, team: TeamId, cap: &Cap, but: Option<&Reserve>) -> Result<i64> {
    let ReservedUnder { project, providers_like } = ReservedUnder::of(cap, but);
    let project = project.map(|project| project.uuid().into_bytes());
    let (worker, of, slot) = match but {
        Some(Reserve { worker, lane, .. }) => {
            (Some(worker.0.into_bytes()), Some(lane.project.uuid().into_bytes()), Some(lane.slot))
        }
        None => (None, None, None),
    };
    let money = connection
        .prepare_cached(
            "SELECT coalesce(sum(usd), 0), coalesce(sum(credits), 0) FROM reservations WHERE team = ?1 \
             AND (?2 IS NULL OR project = ?2) AND (?3 IS NULL OR providers LIKE ?3) \
             AND NOT (worker IS ?4 AND project IS ?5 AND slot IS ?6) AND worker IN (SELECT id FROM workers)",
        )
        .and_then(|mut query| {
            query.query_row((team.0.as_bytes(), project, providers_like, worker, of, slot), |row| {
                Ok(Money { usd: row.get(0)?, credits: row.get(1)? })
            })
        })
        .map_err(backend)?;
    Ok(money.of(cap))
}

/// Writes down what a worker holds in a lane.
fn hold(connection: &Connection, asked: &Reserve, held: Money) -> Result<()> {
    let Reserve { worker, lane, team, .. } = asked;
    let key = (worker.0.as_bytes(), lane.project.uuid().into_bytes(), lane.slot);
    if held == Money::default() {
        return connection
            .prepare_cached("DELETE FROM reservations WHERE worker = ?1 AND project = ?2 AND slot = ?3")
            .and_then(|mut delete| delete.execute(key))
            .map(|_| ())
            .map_err(backend);
    }
    connection
        .prepare_cached(
            "INSERT INTO reservations (worker, project, slot, team, providers, usd, credits) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO UPDATE SET providers = excluded.providers, \
             usd = excluded.usd, credits = excluded.credits",
        )
        .and_then(|mut upsert| {
            let (worker, project, slot) = key;
            let providers = asked.providers_text();
            upsert.execute((worker, project, slot, team.0.as_bytes(), providers, held.usd, held.credits))
        })
        .map(|_| ())
        .map_err(backend)
}

/// Tells webhooks of a cap that was reached, once a period.
fn tell(connection: &Connection, asked: &Reserve, reached: &Reached, run: u64, seq: u64) -> Result<()> {
    let team = asked.team.0.as_bytes();
    let cap = serde_json::to_string(&reached.cap).map_err(damaged)?;
    let is_new = connection
        .prepare_cached(
            "INSERT INTO spending_notices (team, cap, period, at) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING",
        )
        .and_then(|mut insert| insert.execute((team, cap, asked.period(reached, run), asked.now_ms)))
        .map_err(backend)?;
    if is_new == 0 {
        return Ok(());
    }
    connection
        .prepare_cached("DELETE FROM spending_notices WHERE team = ?1 AND at < ?2")
        .and_then(|mut delete| delete.execute((team, asked.now_ms - NOTICES_KEPT_MS)))
        .map_err(backend)?;
    let subscribed = webhooks::subscribed(connection, asked.team)?;
    let subscriptions: Vec<Subscription> =
        subscribed.map(|subscribed| subscribed.subscriptions).unwrap_or_default();
    webhooks::add(connection, asked.team, &asked.deliveries(subscriptions, reached, seq))
}

fn cap_standings(connection: &Connection, team: TeamId, now_ms: i64) -> Result<Vec<CapStanding>> {
    let TeamSpending { settings, .. } = settings(connection, team)?;
    let standing = |cap: Cap| -> Result<CapStanding> {
        let spent = spent(connection, team, &cap, now_ms, None)?;
        let reserved = reserved(connection, team, &cap, None)?;
        Ok(CapStanding { cap, spent, reserved })
    };
    settings.caps.into_iter().map(standing).collect()
}

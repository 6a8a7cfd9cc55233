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
use tokio_postgres::Row;
use uuid::Uuid;

use crate::convert::{damaged, signed, to_text, unsigned};
use crate::database::CommitDoubt::{Repeat, Tell};
use crate::leases::record_heartbeat;
use crate::store::PostgresStore;
use crate::transaction::Tx;
use crate::{ledger, run_estimates, webhooks};

#[async_trait]
impl SpendingStore for PostgresStore {
    async fn spending(&self, team: TeamId) -> Result<TeamSpending> {
        self.node().read(team, |tx, team| Box::pin(settings(tx, *team))).await
    }

    async fn save_spending(&self, team: TeamId, saved: TeamSpending) -> Result<()> {
        self.node().write(Tell, (team, saved), |tx, (team, saved)| Box::pin(save(tx, *team, saved))).await
    }

    async fn cap_run(&self, team: TeamId, project: ProjectId, cap: RunCap) -> Result<()> {
        self.node()
            .write(Repeat, (team, project, cap), |tx, (team, project, cap)| {
                Box::pin(cap_run(tx, *team, *project, *cap))
            })
            .await
    }

    async fn reserve(&self, asked: Reserve) -> Result<Reserved> {
        // What is held is written as it is, and not added: doing it twice is doing it once.
        self.node().write(Repeat, asked, |tx, asked| Box::pin(reserve(tx, asked))).await
    }

    async fn charge(&self, team: TeamId, project: ProjectId, entry: LedgerEntry) -> Result<()> {
        // It is added: doing it twice would count it twice.
        self.node()
            .write(Tell, (team, project, entry), |tx, (team, project, entry)| {
                Box::pin(async move {
                    ledger::add(tx, *team, *project, std::slice::from_ref(entry));
                    Ok(())
                })
            })
            .await
    }

    async fn cap_standings(&self, team: TeamId, now_ms: i64) -> Result<Vec<CapStanding>> {
        self.node()
            .read((team, now_ms), |tx, (team, now_ms)| Box::pin(cap_standings(tx, *team, *now_ms)))
            .await
    }

    async fn note_run_estimate(&self, project: ProjectId, run: u64, estimate: Estimate) -> Result<()> {
        self.node()
            .write(Repeat, (project, run, estimate), |tx, (project, run, estimate)| {
                Box::pin(run_estimates::note(tx, *project, *run, estimate))
            })
            .await
    }

    async fn run_estimates(&self, project: ProjectId, runs: Vec<u64>) -> Result<BTreeMap<u64, Estimate>> {
        self.node()
            .read((project, runs), |tx, (project, runs)| Box::pin(run_estimates::read(tx, *project, runs)))
            .await
    }

    async fn ledger(&self, team: TeamId, first_day: i64, last_day: i64) -> Result<Vec<LedgerLine>> {
        self.node()
            .read((team, first_day, last_day), |tx, (team, first_day, last_day)| {
                Box::pin(ledger::lines(tx, *team, *first_day, *last_day))
            })
            .await
    }

    async fn sweep_ledger(&self, before_day: i64) -> Result<bool> {
        // No transaction is begun while there is nothing to do.
        let sql = "SELECT 1 FROM rowmill.ledger WHERE day < $1 LIMIT 1";
        if self.node.database.ask(sql, &[&before_day]).await?.is_empty() {
            return Ok(false);
        }
        self.node().write(Repeat, before_day, |tx, day| Box::pin(ledger::sweep(tx, *day))).await?;
        Ok(true)
    }
}

async fn settings(tx: &mut Tx, team: TeamId) -> Result<TeamSpending> {
    let sql = "SELECT version, document, run_caps FROM rowmill.spending_settings WHERE team = $1";
    read_settings(&tx.query(sql, &[&team.0]).await?)
}

fn read_settings(found: &[Row]) -> Result<TeamSpending> {
    found.first().map_or_else(
        || Ok(TeamSpending::default()),
        |row| TeamSpending::read(unsigned(row.get(0)), row.get(1), row.get::<_, i64>(2) != 0),
    )
}

async fn save(tx: &mut Tx, team: TeamId, saved: &TeamSpending) -> Result<()> {
    let document = to_text(&saved.settings)?;
    let version = signed(saved.version);
    let sql = if version == 0 {
        "INSERT INTO rowmill.spending_settings (team, version, document) VALUES ($1, $2::int8 + 1, $3) \
         ON CONFLICT (team) DO NOTHING RETURNING 1"
    } else {
        "UPDATE rowmill.spending_settings SET version = $2::int8 + 1, document = $3 \
         WHERE team = $1 AND version = $2 RETURNING 1"
    };
    let written = tx.query(sql, &[&team.0, &version, &document]).await?;
    if written.is_empty() { Err(StoreError::Stale) } else { Ok(()) }
}

async fn cap_run(tx: &mut Tx, team: TeamId, project: ProjectId, cap: RunCap) -> Result<()> {
    let sql = "INSERT INTO rowmill.spending_settings AS s (team, version, document, run_caps) VALUES ($1, 1, '{}', 1) \
               ON CONFLICT (team) DO UPDATE SET run_caps = 1 WHERE s.run_caps = 0";
    tx.query(sql, &[&team.0]).await?;
    let sql = "INSERT INTO rowmill.run_caps (project, run, usd, credits) VALUES ($1, $2, $3, $4) \
               ON CONFLICT (project) DO UPDATE SET run = excluded.run, usd = excluded.usd, credits = excluded.credits";
    let RunCap { run, usd, credits } = cap;
    let (usd, credits) = (usd.map(Amount::parts), credits.map(Amount::parts));
    tx.query(sql, &[&project.uuid(), &signed(run), &usd, &credits]).await.map(|_| ())
}

async fn run_cap(tx: &mut Tx, project: ProjectId) -> Result<Option<RunCap>> {
    let sql = "SELECT run, usd, credits FROM rowmill.run_caps WHERE project = $1";
    let found = tx.query(sql, &[&project.uuid()]).await?;
    let amount = |row: &Row, place: usize| row.get::<_, Option<i64>>(place).map(Amount::of_parts);
    let cap = |row: &Row| RunCap { run: unsigned(row.get(0)), usd: amount(row, 1), credits: amount(row, 2) };
    Ok(found.first().map(cap))
}

async fn reserve(tx: &mut Tx, asked: &Reserve) -> Result<Reserved> {
    let Reserve { team, lane, now_ms, .. } = asked;
    // Nodes that reserve for one team do so one after the other.
    let sql = "SELECT version, document, run_caps FROM rowmill.spending_settings WHERE team = $1 FOR UPDATE";
    let TeamSpending { settings, .. } = read_settings(&tx.query(sql, &[&team.0]).await?)?;
    // Before what was spent is read, in the ledger or in the run's counts: of a cell that tells its price meanwhile, the
    // price must be counted, too.
    let learned = ledger::learned(tx, lane.project, &asked.column, day_of(*now_ms) - LEARNED_DAYS).await?;
    let sql = "SELECT change_seq, tally FROM rowmill.counters WHERE id = $1";
    let found = tx.query(sql, &[&lane.project.uuid()]).await?;
    let Some(row) = found.first() else { return Ok(Reserved::default()) };
    let seq = unsigned(row.get(0)) + 1;
    let tally: Tally = match row.get::<_, Option<&str>>(1) {
        Some(text) => serde_json::from_str(text).map_err(damaged)?,
        None => Tally::default(),
    };
    let sql = "DELETE FROM rowmill.reservations r WHERE team = $1 AND worker <> $2 \
               AND NOT EXISTS (SELECT 1 FROM rowmill.workers w WHERE w.id = r.worker)";
    tx.query(sql, &[&team.0, &asked.worker.0]).await?;
    let caps = asked.caps(&settings, run_cap(tx, lane.project).await?, &tally);
    let mut standings = Vec::with_capacity(caps.len());
    for cap in caps {
        let spent = spent(tx, *team, &cap, *now_ms, Some(&tally)).await?;
        let reserved = reserved(tx, *team, &cap, Some(asked)).await?;
        standings.push(CapStanding { cap, spent, reserved });
    }
    let granted = asked.decide(&standings, &learned);
    hold(tx, asked, asked.held_with(&granted));
    if let Some(reached) = &granted.reached {
        tell(tx, asked, reached, tally.run_number(), seq).await?;
    }
    record_heartbeat(tx, asked.worker, asked.expires_at_ms);
    Ok(granted)
}

/// What a cap has spent, in the unit it is in.
async fn spent(tx: &mut Tx, team: TeamId, cap: &Cap, now_ms: i64, tally: Option<&Tally>) -> Result<i64> {
    let money = match SpentUnder::of(cap, now_ms, tally) {
        SpentUnder::Ledger { first_day, project, provider } => {
            ledger::spent(tx, team, first_day, project, provider).await?
        }
        SpentUnder::Run(money) => money,
    };
    Ok(money.of(cap))
}

/// What is set aside under a cap, but for one worker's in one lane.
async fn reserved(tx: &mut Tx, team: TeamId, cap: &Cap, but: Option<&Reserve>) -> Result<i64> {
    let ReservedUnder { project, providers_like } = ReservedUnder::of(cap, but);
    let project = project.map(ProjectId::uuid);
    let worker: Option<Uuid> = but.map(|asked| asked.worker.0);
    let of: Option<Uuid> = but.map(|asked| asked.lane.project.uuid());
    let slot: Option<i64> = but.map(|asked| i64::from(asked.lane.slot));
    let sql = "SELECT coalesce(sum(usd), 0)::int8, coalesce(sum(credits), 0)::int8 FROM rowmill.reservations r \
               WHERE team = $1 AND ($2::uuid IS NULL OR project = $2) AND ($3::text IS NULL OR providers LIKE $3) \
               AND ($4::uuid IS NULL OR worker <> $4 OR project <> $5::uuid OR slot <> $6::int8) \
               AND EXISTS (SELECT 1 FROM rowmill.workers w WHERE w.id = r.worker)";
    let found = tx.query(sql, &[&team.0, &project, &providers_like, &worker, &of, &slot]).await?;
    let Some(row) = found.first() else { return Ok(0) };
    Ok(Money { usd: row.get(0), credits: row.get(1) }.of(cap))
}

/// Writes down what a worker holds in a lane.
fn hold(tx: &mut Tx, asked: &Reserve, held: Money) {
    let Reserve { worker, lane, team, .. } = asked;
    let (worker, project, slot) = (worker.0, lane.project.uuid(), i64::from(lane.slot));
    if held == Money::default() {
        return tx.at_last(
            "DELETE FROM rowmill.reservations WHERE worker = $1 AND project = $2 AND slot = $3",
            vec![Box::new(worker), Box::new(project), Box::new(slot)],
        );
    }
    tx.at_last(
        "INSERT INTO rowmill.reservations (worker, project, slot, team, providers, usd, credits) \
         VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (worker, project, slot) DO UPDATE SET \
         providers = excluded.providers, usd = excluded.usd, credits = excluded.credits",
        vec![
            Box::new(worker),
            Box::new(project),
            Box::new(slot),
            Box::new(team.0),
            Box::new(asked.providers_text()),
            Box::new(held.usd),
            Box::new(held.credits),
        ],
    );
}

/// Tells webhooks of a cap that was reached, once a period.
async fn tell(tx: &mut Tx, asked: &Reserve, reached: &Reached, run: u64, seq: u64) -> Result<()> {
    let team = asked.team.0;
    let (cap, period) = (to_text(&reached.cap)?, asked.period(reached, run));
    let sql = "INSERT INTO rowmill.spending_notices (team, cap, period, at) VALUES ($1, $2, $3, $4) \
               ON CONFLICT DO NOTHING RETURNING 1";
    if tx.query(sql, &[&team, &cap, &period, &asked.now_ms]).await?.is_empty() {
        return Ok(());
    }
    tx.at_last(
        "DELETE FROM rowmill.spending_notices WHERE team = $1 AND at < $2",
        vec![Box::new(team), Box::new(asked.now_ms - NOTICES_KEPT_MS)],
    );
    let sql = "SELECT subscriptions FROM rowmill.webhooks WHERE team = $1";
    let found = tx.query(sql, &[&team]).await?;
    let text: Option<&str> = found.first().and_then(|row| row.get(0));
    let subscriptions = text.map(Subscription::read).transpose()?.unwrap_or_default();
    webhooks::add(tx, asked.team, asked.deliveries(subscriptions, reached, seq));
    Ok(())
}

async fn cap_standings(tx: &mut Tx, team: TeamId, now_ms: i64) -> Result<Vec<CapStanding>> {
    let TeamSpending { settings, .. } = settings(tx, team).await?;
    let mut standings = Vec::with_capacity(settings.caps.len());
    for cap in settings.caps {
        let spent = spent(tx, team, &cap, now_ms, None).await?;
        let reserved = reserved(tx, team, &cap, None).await?;
        standings.push(CapStanding { cap, spent, reserved });
    }
    Ok(standings)
}

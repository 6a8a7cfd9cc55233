//! The ledger: what was used, by day, column, provider and person.

use rowmill_model::spending::day_of;
use rowmill_model::{Amount, ColumnId, ProjectId, Spent, TeamId, Usage};
use rowmill_store::Result;
use rowmill_store::spending::{LEDGER_DAYS, Learned, LedgerEntry, LedgerLine, Money};
use rusqlite::{Connection, Row};

use crate::convert::{backend, uuid_of};

/// Adds what was used.
pub(crate) fn add(
    connection: &Connection,
    team: TeamId,
    project: ProjectId,
    entries: &[LedgerEntry],
) -> Result<()> {
    if entries.is_empty() {
        return Ok(());
    }
    let mut upsert = connection
        .prepare_cached(
            "INSERT INTO ledger (team, day, project, col, provider, person, calls, input_tokens, output_tokens, \
             usd, credits) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11) \
             ON CONFLICT DO UPDATE SET calls = calls + excluded.calls, \
             input_tokens = input_tokens + excluded.input_tokens, \
             output_tokens = output_tokens + excluded.output_tokens, \
             usd = CASE WHEN excluded.usd IS NULL THEN usd ELSE coalesce(usd, 0) + excluded.usd END, \
             credits = CASE WHEN excluded.credits IS NULL THEN credits \
             ELSE coalesce(credits, 0) + excluded.credits END",
        )
        .map_err(backend)?;
    for LedgerEntry { day, column, provider, person, spent } in entries {
        let Usage { attempts, input_tokens, output_tokens } = spent.usage;
        upsert
            .execute((
                team.0.as_bytes(),
                day,
                project.uuid().as_bytes(),
                column.as_str(),
                provider,
                person,
                attempts,
                input_tokens,
                output_tokens,
                spent.dollars().map(Amount::parts),
                spent.credits.map(Amount::parts),
            ))
            .map_err(backend)?;
    }
    Ok(())
}

/// What the cells of a column took since a day.
pub(crate) fn learned(
    connection: &Connection,
    project: ProjectId,
    column: &ColumnId,
    since_day: i64,
) -> Result<Learned> {
    connection
        .prepare_cached(
            "SELECT coalesce(sum(calls), 0), coalesce(sum(usd), 0), coalesce(sum(credits), 0) FROM ledger \
             WHERE project = ?1 AND col = ?2 AND day >= ?3",
        )
        .and_then(|mut query| {
            query.query_row((project.uuid().as_bytes(), column.as_str(), since_day), |row| {
                Ok(Learned { calls: row.get(0)?, money: Money { usd: row.get(1)?, credits: row.get(2)? } })
            })
        })
        .map_err(backend)
}

/// What was spent since a day: by a team, and in one project or of one provider if that is asked for.
pub(crate) fn spent(
    connection: &Connection,
    team: TeamId,
    since_day: i64,
    project: Option<ProjectId>,
    provider: Option<&str>,
) -> Result<Money> {
    let project = project.map(|project| project.uuid().into_bytes());
    connection
        .prepare_cached(
            "SELECT coalesce(sum(usd), 0), coalesce(sum(credits), 0) FROM ledger WHERE team = ?1 AND day >= ?2 \
             AND (?3 IS NULL OR project = ?3) AND (?4 IS NULL OR provider = ?4)",
        )
        .and_then(|mut query| {
            query.query_row((team.0.as_bytes(), since_day, project, provider), |row| {
                Ok(Money { usd: row.get(0)?, credits: row.get(1)? })
            })
        })
        .map_err(backend)
}

pub(crate) fn lines(
    connection: &Connection,
    team: TeamId,
    first_day: i64,
    last_day: i64,
) -> Result<Vec<LedgerLine>> {
    connection
        .prepare_cached(
            "SELECT day, project, col, provider, person, calls, input_tokens, output_tokens, usd, credits \
             FROM ledger WHERE team = ?1 AND day BETWEEN ?2 AND ?3 ORDER BY day, project, col, provider, person",
        )
        .and_then(|mut query| query.query_map((team.0.as_bytes(), first_day, last_day), line)?.collect())
        .map_err(backend)
}

fn line(row: &Row<'_>) -> rusqlite::Result<LedgerLine> {
    let usage = Usage { attempts: row.get(5)?, input_tokens: row.get(6)?, output_tokens: row.get(7)? };
    let amount = |parts: Option<i64>| parts.map(Amount::of_parts);
    let spent = Spent { cost: amount(row.get(8)?), credits: amount(row.get(9)?), usage, ..Spent::NOTHING };
    Ok(LedgerLine {
        project: ProjectId::from_uuid(uuid_of(row, 1)?),
        entry: LedgerEntry {
            day: row.get(0)?,
            column: ColumnId::new(row.get::<_, String>(2)?),
            provider: row.get(3)?,
            person: row.get(4)?,
            spent,
        },
    })
}

/// Forgets what is too old to be told.
pub(crate) fn trim(connection: &Connection, team: TeamId, now_ms: i64) -> Result<()> {
    connection
        .prepare_cached("DELETE FROM ledger WHERE team = ?1 AND day < ?2")
        .and_then(|mut delete| delete.execute((team.0.as_bytes(), day_of(now_ms) - LEDGER_DAYS)))
        .map(|_| ())
        .map_err(backend)
}

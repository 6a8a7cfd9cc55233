//! The ledger: what was used, by day, column, provider and person.

use rowmill_model::{Amount, ColumnId, ProjectId, Spent, TeamId, Usage};
use rowmill_store::Result;
use rowmill_store::spending::{LEDGER_LINES_AT_ONCE, Learned, LedgerEntry, LedgerLine, Money};
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
             usd, credits, tries, cached_tokens, cache_written_tokens) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14) \
             ON CONFLICT DO UPDATE SET tries = coalesce(tries, calls) + excluded.tries, \
             calls = calls + excluded.calls, \
             input_tokens = input_tokens + excluded.input_tokens, \
             output_tokens = output_tokens + excluded.output_tokens, \
             cached_tokens = cached_tokens + excluded.cached_tokens, \
             cache_written_tokens = cache_written_tokens + excluded.cache_written_tokens, \
             usd = CASE WHEN excluded.usd IS NULL THEN usd ELSE coalesce(usd, 0) + excluded.usd END, \
             credits = CASE WHEN excluded.credits IS NULL THEN credits \
             ELSE coalesce(credits, 0) + excluded.credits END",
        )
        .map_err(backend)?;
    for LedgerEntry { day, column, provider, person, spent, tries } in entries {
        let Usage { attempts, input_tokens, output_tokens, cached_tokens, cache_written_tokens } =
            spent.usage;
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
                tries,
                cached_tokens,
                cache_written_tokens,
            ))
            .map_err(backend)?;
    }
    Ok(())
}

/// What the cells of a column took since a day. Lines of older versions have no tries, but a call for each.
pub(crate) fn learned(
    connection: &Connection,
    project: ProjectId,
    column: &ColumnId,
    since_day: i64,
) -> Result<Learned> {
    connection
        .prepare_cached(
            "SELECT provider, coalesce(sum(coalesce(tries, calls)), 0), coalesce(sum(usd), 0), \
             coalesce(sum(credits), 0) FROM ledger WHERE project = ?1 AND col = ?2 AND day >= ?3 GROUP BY provider",
        )
        .and_then(|mut query| {
            let mut found = query.query((project.uuid().as_bytes(), column.as_str(), since_day))?;
            let mut learned = Learned::default();
            while let Some(row) = found.next()? {
                let money = Money { usd: row.get(2)?, credits: row.get(3)? };
                learned = learned.with(row.get(0)?, row.get(1)?, money);
            }
            Ok(learned)
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
            "SELECT day, project, col, provider, person, calls, input_tokens, output_tokens, usd, credits, \
             coalesce(tries, calls), cached_tokens, cache_written_tokens FROM ledger \
             WHERE team = ?1 AND day BETWEEN ?2 AND ?3 ORDER BY day, project, col, provider, person",
        )
        .and_then(|mut query| query.query_map((team.0.as_bytes(), first_day, last_day), line)?.collect())
        .map_err(backend)
}

fn line(row: &Row<'_>) -> rusqlite::Result<LedgerLine> {
    let usage = Usage {
        attempts: row.get(5)?,
        input_tokens: row.get(6)?,
        output_tokens: row.get(7)?,
        cached_tokens: row.get(11)?,
        cache_written_tokens: row.get(12)?,
    };
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
            tries: row.get(10)?,
        },
    })
}

/// Whether there are lines from before a day.
pub(crate) fn has_old(connection: &Connection, before_day: i64) -> Result<bool> {
    connection
        .prepare_cached("SELECT 1 FROM ledger WHERE day < ?1 LIMIT 1")
        .and_then(|mut query| query.exists([before_day]))
        .map_err(backend)
}

/// Removes some lines from before a day.
pub(crate) fn sweep(connection: &Connection, before_day: i64) -> Result<()> {
    connection
        .prepare_cached(
            "DELETE FROM ledger WHERE (team, day, project, col, provider, person) IN \
             (SELECT team, day, project, col, provider, person FROM ledger WHERE day < ?1 ORDER BY day LIMIT ?2)",
        )
        .and_then(|mut delete| delete.execute((before_day, LEDGER_LINES_AT_ONCE)))
        .map(|_| ())
        .map_err(backend)
}

//! The ledger: what was used, by day, column, provider and person.

use rowmill_model::{Amount, ColumnId, ProjectId, Spent, TeamId, Usage};
use rowmill_store::Result;
use rowmill_store::spending::{LEDGER_LINES_AT_ONCE, Learned, LedgerEntry, LedgerLine, Money};
use tokio_postgres::Row;

use crate::convert::{signed, unsigned};
use crate::transaction::{Param, Tx};

/// Adds what was used, together with the commit. The lines are the project's own, which is locked.
pub(crate) fn add(tx: &mut Tx, team: TeamId, project: ProjectId, entries: &[LedgerEntry]) {
    if entries.is_empty() {
        return;
    }
    let usage = |count: fn(&Usage) -> u64| -> Param {
        let counts: Vec<i64> = entries.iter().map(|entry| signed(count(&entry.spent.usage))).collect();
        Box::new(counts)
    };
    let amounts = |amount: fn(&Spent) -> Option<Amount>| -> Param {
        let parts: Vec<Option<i64>> =
            entries.iter().map(|entry| amount(&entry.spent).map(Amount::parts)).collect();
        Box::new(parts)
    };
    let texts = |text: fn(&LedgerEntry) -> &str| -> Param {
        let texts: Vec<String> = entries.iter().map(|entry| text(entry).to_owned()).collect();
        Box::new(texts)
    };
    let days: Vec<i64> = entries.iter().map(|entry| entry.day).collect();
    let tries: Vec<i64> = entries.iter().map(|entry| signed(entry.tries)).collect();
    tx.at_last(
        "INSERT INTO rowmill.ledger AS l (team, project, day, col, provider, person, calls, input_tokens, \
         output_tokens, usd, credits, tries, cached_tokens, cache_written_tokens) SELECT $1, $2, * \
         FROM unnest($3::int8[], $4::text[], $5::text[], $6::text[], $7::int8[], $8::int8[], $9::int8[], \
         $10::int8[], $11::int8[], $12::int8[], $13::int8[], $14::int8[]) \
         ON CONFLICT (team, day, project, col, provider, person) DO UPDATE SET \
         tries = coalesce(l.tries, l.calls) + excluded.tries, calls = l.calls + excluded.calls, \
         input_tokens = l.input_tokens + excluded.input_tokens, \
         output_tokens = l.output_tokens + excluded.output_tokens, \
         cached_tokens = l.cached_tokens + excluded.cached_tokens, \
         cache_written_tokens = l.cache_written_tokens + excluded.cache_written_tokens, \
         usd = CASE WHEN excluded.usd IS NULL THEN l.usd ELSE coalesce(l.usd, 0) + excluded.usd END, \
         credits = CASE WHEN excluded.credits IS NULL THEN l.credits \
         ELSE coalesce(l.credits, 0) + excluded.credits END",
        vec![
            Box::new(team.0),
            Box::new(project.uuid()),
            Box::new(days),
            texts(|entry| entry.column.as_str()),
            texts(|entry| entry.provider.as_str()),
            texts(|entry| entry.person.as_str()),
            usage(|usage| usage.attempts),
            usage(|usage| usage.input_tokens),
            usage(|usage| usage.output_tokens),
            amounts(Spent::dollars),
            amounts(|spent| spent.credits),
            Box::new(tries),
            usage(|usage| usage.cached_tokens),
            usage(|usage| usage.cache_written_tokens),
        ],
    );
}

/// What the cells of a column took since a day. Lines of older versions have no tries, but a call for each.
pub(crate) async fn learned(
    tx: &mut Tx,
    project: ProjectId,
    column: &ColumnId,
    since_day: i64,
) -> Result<Learned> {
    let sql = "SELECT provider, coalesce(sum(coalesce(tries, calls)), 0)::int8, coalesce(sum(usd), 0)::int8, \
               coalesce(sum(credits), 0)::int8 FROM rowmill.ledger WHERE project = $1 AND col = $2 AND day >= $3 \
               GROUP BY provider";
    let found = tx.query(sql, &[&project.uuid(), &column.as_str(), &since_day]).await?;
    Ok(found.iter().fold(Learned::default(), |learned, row| {
        learned.with(row.get(0), row.get(1), Money { usd: row.get(2), credits: row.get(3) })
    }))
}

/// What was spent since a day: by a team, and in one project or of one provider if that is asked for.
pub(crate) async fn spent(
    tx: &mut Tx,
    team: TeamId,
    since_day: i64,
    project: Option<ProjectId>,
    provider: Option<&str>,
) -> Result<Money> {
    let project = project.map(ProjectId::uuid);
    let sql = "SELECT coalesce(sum(usd), 0)::int8, coalesce(sum(credits), 0)::int8 FROM rowmill.ledger \
               WHERE team = $1 AND day >= $2 AND ($3::uuid IS NULL OR project = $3) \
               AND ($4::text IS NULL OR provider = $4)";
    let found = tx.query(sql, &[&team.0, &since_day, &project, &provider]).await?;
    Ok(found.first().map(|row| Money { usd: row.get(0), credits: row.get(1) }).unwrap_or_default())
}

pub(crate) async fn lines(
    tx: &mut Tx,
    team: TeamId,
    first_day: i64,
    last_day: i64,
) -> Result<Vec<LedgerLine>> {
    let sql = "SELECT day, project, col, provider, person, calls, input_tokens, output_tokens, usd, credits, \
               coalesce(tries, calls), cached_tokens, cache_written_tokens FROM rowmill.ledger \
               WHERE team = $1 AND day BETWEEN $2 AND $3 \
               ORDER BY day, project, col, provider, person";
    Ok(tx.query(sql, &[&team.0, &first_day, &last_day]).await?.iter().map(line).collect())
}

fn line(row: &Row) -> LedgerLine {
    let count = |place: usize| unsigned(row.get(place));
    let amount = |place: usize| row.get::<_, Option<i64>>(place).map(Amount::of_parts);
    let usage = Usage {
        attempts: count(5),
        input_tokens: count(6),
        output_tokens: count(7),
        cached_tokens: count(11),
        cache_written_tokens: count(12),
    };
    LedgerLine {
        project: ProjectId::from_uuid(row.get(1)),
        entry: LedgerEntry {
            day: row.get(0),
            column: ColumnId::new(row.get::<_, String>(2)),
            provider: row.get(3),
            person: row.get(4),
            spent: Spent { cost: amount(8), credits: amount(9), usage, ..Spent::NOTHING },
            tries: count(10),
        },
    }
}

/// Removes some lines from before a day.
pub(crate) async fn sweep(tx: &mut Tx, before_day: i64) -> Result<()> {
    let sql = "DELETE FROM rowmill.ledger WHERE (team, day, project, col, provider, person) IN \
               (SELECT team, day, project, col, provider, person FROM rowmill.ledger WHERE day < $1 \
               ORDER BY day LIMIT $2 FOR UPDATE SKIP LOCKED)";
    tx.query(sql, &[&before_day, &i64::from(LEDGER_LINES_AT_ONCE)]).await.map(|_| ())
}

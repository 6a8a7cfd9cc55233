//! Reading what is carried, section by section.

use rowmill_model::documents::{read_ended_run, read_tally};
use rowmill_model::plan::Block;
use rowmill_model::{ProjectId, TeamId};
use rowmill_store::carry::{
    CarriedBlock, CarriedProject, CarriedRow, CarriedSpending, CarriedWebhooks, Derived, Guest, Items, Key,
    PageLimit, Receipt, Retry, Section,
};
use rowmill_store::changes::RawRow;
use rowmill_store::{ApiKey, Result, Sealed, StoreError, Team};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Row};
use uuid::Uuid;

use crate::convert::{damaged, narrow, signed, unsigned};
use crate::server_error::backend;
use crate::stored_rows::{raw_row, row_columns};
use crate::teams::key_columns;
use crate::{sealed, teams};

pub(crate) async fn projects(client: &Client) -> Result<Vec<ProjectId>> {
    let found = ask(client, "SELECT id FROM rowmill.projects ORDER BY project", &[]).await?;
    Ok(found.iter().map(|row| ProjectId::from_uuid(row.get(0))).collect())
}

pub(super) async fn project(client: &Client, id: ProjectId) -> Result<Option<CarriedProject>> {
    let sql = "SELECT p.document, p.views, c.version, c.row_count, c.next_position, c.change_seq, c.lookup_slots, \
               c.tally, c.tallied_at FROM rowmill.projects p JOIN rowmill.counters c USING (project) \
               WHERE p.id = $1";
    let found = ask(client, sql, &[&id.uuid()]).await?;
    let Some(row) = found.first() else { return Ok(None) };
    let tally: Option<&str> = row.get(7);
    let tally = tally.map(read_tally).transpose().map_err(damaged)?;
    let mut lookup_slots = row.get::<_, Vec<i64>>(6).into_iter().map(narrow).collect::<Result<Vec<_>>>()?;
    lookup_slots.sort_unstable();
    let sql = "SELECT r.run FROM rowmill.runs r JOIN rowmill.counters c USING (project) WHERE c.id = $1 \
               ORDER BY r.number DESC";
    let runs = ask(client, sql, &[&id.uuid()]).await?;
    let ended_runs = runs.iter().map(|row| read_ended_run(row.get(0)).map_err(damaged));
    Ok(Some(CarriedProject {
        id,
        document: row.get(0),
        views: row.get(1),
        version: unsigned(row.get(2)),
        row_count: unsigned(row.get(3)),
        next_position: unsigned(row.get(4)),
        change_seq: unsigned(row.get(5)),
        lookup_slots,
        tally: tally.map(|tally| (tally, row.get::<_, Option<i64>>(8).unwrap_or_default())),
        ended_runs: ended_runs.collect::<Result<_>>()?,
    }))
}

pub(super) async fn derived(client: &Client, id: ProjectId) -> Result<Derived> {
    let num = number_of(client, id).await?;
    let sql = "SELECT (SELECT coalesce(sum(count) FILTER (WHERE level = 0), 0)::int8 FROM rowmill.live \
               WHERE project = $1), \
               (SELECT coalesce(sum(count) FILTER (WHERE level = 1), 0)::int8 FROM rowmill.live WHERE project = $1), \
               (SELECT coalesce(sum(count) FILTER (WHERE level = 2), 0)::int8 FROM rowmill.live WHERE project = $1), \
               (SELECT count(*) FROM rowmill.lookups WHERE project = $1), \
               (SELECT count(*) FROM rowmill.ready WHERE project = $1)";
    let row = client.query_one(sql, &[&num]).await.map_err(backend)?;
    let count = |column: usize| unsigned(row.get(column));
    Ok(Derived { live: [count(0), count(1), count(2)], lookups: count(3), ready: count(4) })
}

/// The number of a project that must be there.
pub(super) async fn number_of(client: &Client, id: ProjectId) -> Result<i64> {
    let found = ask(client, "SELECT project FROM rowmill.counters WHERE id = $1", &[&id.uuid()]).await?;
    found.first().map(|row| row.get(0)).ok_or(StoreError::UnknownProject)
}

/// Reads a page of a section. Text is ordered by its bytes, as in every store, and not by the rules of a language.
pub(crate) async fn page(
    client: &Client,
    section: Section,
    after: Option<Key>,
    page_limit: PageLimit,
) -> Result<Items> {
    let page = Page {
        client,
        items_max: i64::from(page_limit.items),
        bytes_max: i64::try_from(page_limit.bytes).unwrap_or(i64::MAX),
    };
    match section {
        Section::Teams => page.teams(after).await.map(Items::Teams),
        Section::Keys => page.keys(after).await.map(Items::Keys),
        Section::Sealed => page.sealed(after).await.map(Items::Sealed),
        Section::Webhooks => page.webhooks(after).await.map(Items::Webhooks),
        Section::Spending => page.spending(after).await.map(Items::Spending),
        Section::Receipts => page.receipts(after).await.map(Items::Receipts),
        Section::Rows(id) => page.rows(number_of(client, id).await?, after).await.map(Items::Rows),
        Section::Blocks(id) => page.blocks(number_of(client, id).await?, after).await.map(Items::Blocks),
        Section::Guests(id) => page.guests(number_of(client, id).await?, after).await.map(Items::Guests),
        Section::Retries(id) => page.retries(number_of(client, id).await?, after).await.map(Items::Retries),
    }
}

/// A page that is being read: where from, and how much fits.
struct Page<'c> {
    client: &'c Client,
    items_max: i64,
    bytes_max: i64,
}

impl Page<'_> {
    async fn teams(&self, after: Option<Key>) -> Result<Vec<Team>> {
        let sql = "SELECT id, slug, name, created_at FROM rowmill.teams WHERE id > $1 ORDER BY id LIMIT $2";
        let found = ask(self.client, sql, &[&id_after(after.as_ref())?, &self.items_max]).await?;
        read_all(&found, teams::read_team)
    }

    async fn keys(&self, after: Option<Key>) -> Result<Vec<ApiKey>> {
        let sql = concat!("SELECT ", key_columns!(), " FROM rowmill.keys WHERE id > $1 ORDER BY id LIMIT $2");
        let found = ask(self.client, sql, &[&id_after(after.as_ref())?, &self.items_max]).await?;
        read_all(&found, teams::read_key)
    }

    async fn sealed(&self, after: Option<Key>) -> Result<Vec<(TeamId, Sealed)>> {
        let (team, kind, name) = match after {
            None => (Uuid::nil(), String::new(), String::new()),
            Some(Key::Sealed(team, kind, name)) => (team, kind, name),
            Some(_) => return Err(other_key()),
        };
        let sql = "SELECT kind, name, bytes, updated_at, team FROM rowmill.sealed \
                   WHERE (team, kind COLLATE \"C\", name COLLATE \"C\") > ($1, $2, $3) \
                   ORDER BY team, kind COLLATE \"C\", name COLLATE \"C\" LIMIT $4";
        let found = ask(self.client, sql, &[&team, &kind, &name, &self.items_max]).await?;
        read_all(&found, |row| Ok((TeamId(row.get(4)), sealed::read(row)?)))
    }

    async fn webhooks(&self, after: Option<Key>) -> Result<Vec<CarriedWebhooks>> {
        let sql = "SELECT team, version, document, subscriptions FROM rowmill.webhooks WHERE team > $1 \
                   ORDER BY team LIMIT $2";
        let found = ask(self.client, sql, &[&id_after(after.as_ref())?, &self.items_max]).await?;
        read_all(&found, |row| {
            let (team, version) = (TeamId(row.get(0)), unsigned(row.get(1)));
            Ok(CarriedWebhooks { team, version, document: row.get(2), subscriptions: row.get(3) })
        })
    }

    async fn spending(&self, after: Option<Key>) -> Result<Vec<CarriedSpending>> {
        let sql = "SELECT team, version, document FROM rowmill.spending_settings WHERE team > $1 ORDER BY team LIMIT $2";
        let found = ask(self.client, sql, &[&id_after(after.as_ref())?, &self.items_max]).await?;
        read_all(&found, |row| {
            let (team, version) = (TeamId(row.get(0)), unsigned(row.get(1)));
            Ok(CarriedSpending { team, version, document: row.get(2) })
        })
    }

    async fn receipts(&self, after: Option<Key>) -> Result<Vec<Receipt>> {
        let after = match &after {
            None => &[][..],
            Some(Key::Name(name)) => name,
            Some(_) => return Err(other_key()),
        };
        let sql = "SELECT name, fingerprint, outcome, expires_at FROM (SELECT *, \
                   sum(octet_length(outcome)) OVER (ORDER BY name ROWS UNBOUNDED PRECEDING) \
                   - octet_length(outcome) AS before \
                   FROM (SELECT name, fingerprint, outcome, expires_at FROM rowmill.receipts WHERE name > $1 ORDER BY name LIMIT $2) page) sized \
                   WHERE before < $3 ORDER BY name";
        let found = ask(self.client, sql, &[&after, &self.items_max, &self.bytes_max]).await?;
        read_all(&found, read_receipt)
    }

    async fn rows(&self, num: i64, after: Option<Key>) -> Result<Vec<CarriedRow>> {
        let first = number_after(after.as_ref())?;
        let sql = concat!(
            "SELECT ",
            row_columns!(),
            " FROM (SELECT *, \
             (sum(bytes) OVER (ORDER BY position ROWS UNBOUNDED PRECEDING) - bytes)::int8 AS before \
             FROM (SELECT project, position, id, vals, details, wide, wide_bytes, \
                   octet_length(vals) + coalesce(octet_length(details), 0) \
             + coalesce(wide_bytes, 0) AS bytes FROM rowmill.rows \
             WHERE project = $1 AND position >= $2 ORDER BY position LIMIT $3) page) r \
             WHERE r.before < $4 ORDER BY r.position"
        );
        let found = ask(self.client, sql, &[&num, &first, &self.items_max, &self.bytes_max]).await?;
        read_all(&found, read_row)
    }

    async fn blocks(&self, num: i64, after: Option<Key>) -> Result<Vec<CarriedBlock>> {
        let first = number_after(after.as_ref())?;
        let sql = "SELECT block, marks FROM rowmill.blocks WHERE project = $1 AND block >= $2 \
                   ORDER BY block LIMIT $3";
        let found = ask(self.client, sql, &[&num, &first, &self.items_max]).await?;
        read_all(&found, |row| {
            let block = Block::decode(row.get(1))?;
            Ok(CarriedBlock { number: unsigned(row.get(0)), block, ready: Vec::new() })
        })
    }

    async fn guests(&self, num: i64, after: Option<Key>) -> Result<Vec<Guest>> {
        let after = match after {
            None => String::new(),
            Some(Key::Guest(guest_id)) => guest_id,
            Some(_) => return Err(other_key()),
        };
        let sql = "SELECT guest_id, position, event_at FROM rowmill.guests \
                   WHERE project = $1 AND guest_id COLLATE \"C\" > $2 ORDER BY guest_id COLLATE \"C\" LIMIT $3";
        let found = ask(self.client, sql, &[&num, &after, &self.items_max]).await?;
        read_all(&found, |row| {
            let (guest_id, position) = (row.get(0), unsigned(row.get(1)));
            Ok(Guest { guest_id, position, event_at_ms: row.get(2) })
        })
    }

    async fn retries(&self, num: i64, after: Option<Key>) -> Result<Vec<Retry>> {
        let (at_ms, slot, position) = match after {
            None => (i64::MIN, 0, 0),
            Some(Key::Retry(at_ms, slot, position)) => (at_ms, i64::from(slot), signed(position)),
            Some(_) => return Err(other_key()),
        };
        let sql = "SELECT at, slot, position FROM rowmill.retries WHERE project = $1 \
                   AND (at, slot, position) > ($2, $3, $4) ORDER BY at, slot, position LIMIT $5";
        let found = ask(self.client, sql, &[&num, &at_ms, &slot, &position, &self.items_max]).await?;
        read_all(&found, |row| {
            let (slot, position) = (narrow(row.get(1))?, unsigned(row.get(2)));
            Ok(Retry { at_ms: row.get(0), slot, position })
        })
    }
}

async fn ask(client: &Client, sql: &str, params: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>> {
    client.query(sql, params).await.map_err(backend)
}

fn read_all<T>(found: &[Row], read: impl Fn(&Row) -> Result<T>) -> Result<Vec<T>> {
    found.iter().map(read).collect()
}

fn read_receipt(row: &Row) -> Result<Receipt> {
    let hash = |column: usize| {
        let bytes: &[u8] = row.get(column);
        bytes.try_into().map_err(|_| StoreError::Damaged("not a request's hash".to_owned()))
    };
    let (name, fingerprint) = (hash(0)?, hash(1)?);
    Ok(Receipt { name, fingerprint, outcome: row.get(2), expires_at_ms: row.get(3) })
}

fn read_row(row: &Row) -> Result<CarriedRow> {
    let RawRow { id, position, values, details } = raw_row(row)?;
    let details = details.as_bytes().map(Into::into);
    Ok(CarriedRow { position, id, values: values.as_bytes().into(), details })
}

fn id_after(after: Option<&Key>) -> Result<Uuid> {
    match after {
        None => Ok(Uuid::nil()),
        Some(Key::Id(id)) => Ok(*id),
        Some(_) => Err(other_key()),
    }
}

fn number_after(after: Option<&Key>) -> Result<i64> {
    match after {
        None => Ok(0),
        Some(Key::Number(number)) => Ok(signed(*number).saturating_add(1)),
        Some(_) => Err(other_key()),
    }
}

fn other_key() -> StoreError {
    StoreError::Damaged("the place where a move stopped is of another section".to_owned())
}

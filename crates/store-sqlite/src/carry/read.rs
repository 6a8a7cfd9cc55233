//! Reading what is carried, section by section.

use rowmill_model::plan::Block;
use rowmill_model::record::Slot;
use rowmill_model::{ProjectId, TeamId};
use rowmill_store::carry::{
    CarriedBlock, CarriedProject, CarriedRow, CarriedSpending, CarriedWebhooks, Derived, Guest, Items, Key,
    PageLimit, Receipt, Retry, Section,
};
use rowmill_store::changes::RawRow;
use rowmill_store::{ApiKey, Result, Sealed, StoreError, Team, WantedSlots};
use rusqlite::{Connection, Params, Row};
use uuid::Uuid;

use crate::blocks::{block_key, block_number, read_tally};
use crate::convert::{backend, uuid_of};
use crate::positions::{POSITION_MAX, key};
use crate::project_state::{self, State};
use crate::teams::key_columns;
use crate::{ended_runs, lookups, pages, sealed, teams};

pub(super) fn is_empty(connection: &Connection) -> Result<bool> {
    connection
        .query_row(
            "SELECT NOT EXISTS (SELECT 1 FROM teams) AND NOT EXISTS (SELECT 1 FROM projects) \
             AND NOT EXISTS (SELECT 1 FROM graves)",
            (),
            |row| row.get(0),
        )
        .map_err(backend)
}

pub(crate) fn projects(connection: &Connection) -> Result<Vec<ProjectId>> {
    connection
        .prepare_cached("SELECT id FROM projects ORDER BY num")
        .and_then(|mut query| query.query_map((), |row| uuid_of(row, 0).map(ProjectId::from_uuid))?.collect())
        .map_err(backend)
}

pub(super) fn project(connection: &Connection, id: ProjectId) -> Result<Option<CarriedProject>> {
    let Some(State { head, counters, change_seq }) = project_state::state(connection, id)? else {
        return Ok(None);
    };
    let (document, views) = connection
        .prepare_cached("SELECT document, views FROM projects WHERE num = ?1")
        .and_then(|mut query| query.query_row([head.num], |row| Ok((row.get(0)?, row.get(1)?))))
        .map_err(backend)?;
    Ok(Some(CarriedProject {
        id,
        document,
        views,
        version: head.version,
        row_count: counters.row_count,
        next_position: counters.next_position,
        change_seq,
        lookup_slots: lookups::whole_slots(connection, head.num)?,
        tally: read_tally(connection, head.num)?,
        ended_runs: ended_runs::read(connection, head.num, u64::MAX, u32::MAX)?,
    }))
}

pub(super) fn derived(connection: &Connection, id: ProjectId) -> Result<Derived> {
    let num = number_of(connection, id)?;
    let count = |sql: &str, of: &dyn rusqlite::ToSql| -> Result<u64> {
        connection
            .prepare_cached(sql)
            .and_then(|mut query| query.query_row([&num as &dyn rusqlite::ToSql, of], |row| row.get(0)))
            .map_err(backend)
    };
    let live = "SELECT coalesce(sum(count), 0) FROM live WHERE project = ?1 AND level = ?2";
    Ok(Derived {
        live: [count(live, &0)?, count(live, &1)?, count(live, &2)?],
        lookups: lookups::count(connection, num)?,
        ready: count("SELECT count(*) FROM ready WHERE project = ?1 AND slot >= ?2", &0)?,
    })
}

/// The number of a project that must be there.
pub(crate) fn number_of(connection: &Connection, id: ProjectId) -> Result<i64> {
    Ok(project_state::head(connection, id)?.ok_or(StoreError::UnknownProject)?.num)
}

/// Reads a page of a section.
pub(crate) fn page(
    connection: &Connection,
    section: Section,
    after: Option<Key>,
    page_limit: PageLimit,
) -> Result<Items> {
    let page = Page { connection, page_limit };
    let num = |id| number_of(connection, id);
    match section {
        Section::Teams => page.teams(after.as_ref()).map(Items::Teams),
        Section::Keys => page.keys(after.as_ref()).map(Items::Keys),
        Section::Sealed => page.sealed(after).map(Items::Sealed),
        Section::Webhooks => page.webhooks(after.as_ref()).map(Items::Webhooks),
        Section::Spending => page.spending(after.as_ref()).map(Items::Spending),
        Section::Receipts => page.receipts(after.as_ref()).map(Items::Receipts),
        Section::Rows(id) => page.rows(num(id)?, after.as_ref()).map(Items::Rows),
        Section::Blocks(id) => page.blocks(num(id)?, after.as_ref()).map(Items::Blocks),
        Section::Guests(id) => page.guests(num(id)?, after).map(Items::Guests),
        Section::Retries(id) => page.retries(num(id)?, after.as_ref()).map(Items::Retries),
    }
}

/// A page that is being read: where from, and how much fits.
struct Page<'c> {
    connection: &'c Connection,
    page_limit: PageLimit,
}

impl Page<'_> {
    fn teams(&self, after: Option<&Key>) -> Result<Vec<Team>> {
        let sql = "SELECT id, slug, name, created_at FROM teams WHERE id > ?1 ORDER BY id LIMIT ?2";
        let team = |row: &Row<'_>| Ok((teams::read_team(row).map_err(backend)?, 0));
        self.read(sql, (id_after(after)?, self.page_limit.items), team)
    }

    fn keys(&self, after: Option<&Key>) -> Result<Vec<ApiKey>> {
        let sql = concat!("SELECT ", key_columns!(), " FROM keys WHERE id > ?1 ORDER BY id LIMIT ?2");
        let key = |row: &Row<'_>| Ok((teams::read_key(row).map_err(backend)?, 0));
        self.read(sql, (id_after(after)?, self.page_limit.items), key)
    }

    fn sealed(&self, after: Option<Key>) -> Result<Vec<(TeamId, Sealed)>> {
        let (team, kind, name) = match after {
            None => (Uuid::nil(), String::new(), String::new()),
            Some(Key::Sealed(team, kind, name)) => (team, kind, name),
            Some(_) => return Err(other_key()),
        };
        let sql = "SELECT kind, name, bytes, updated_at, team FROM sealed \
                   WHERE (team, kind, name) > (?1, ?2, ?3) ORDER BY team, kind, name LIMIT ?4";
        self.read(sql, (team.as_bytes(), kind, name, self.page_limit.items), |row| {
            let sealed = sealed::read(row).map_err(backend)?;
            let bytes = sealed.bytes.len();
            Ok(((TeamId(uuid_of(row, 4).map_err(backend)?), sealed), bytes))
        })
    }

    fn webhooks(&self, after: Option<&Key>) -> Result<Vec<CarriedWebhooks>> {
        let sql = "SELECT team, version, document, subscriptions FROM webhooks WHERE team > ?1 ORDER BY team LIMIT ?2";
        self.read(sql, (id_after(after)?, self.page_limit.items), |row| {
            let team = TeamId(uuid_of(row, 0).map_err(backend)?);
            let document: String = row.get(2).map_err(backend)?;
            let (version, subscriptions) = (row.get(1).map_err(backend)?, row.get(3).map_err(backend)?);
            let bytes = document.len();
            Ok((CarriedWebhooks { team, version, document, subscriptions }, bytes))
        })
    }

    fn spending(&self, after: Option<&Key>) -> Result<Vec<CarriedSpending>> {
        let sql =
            "SELECT team, version, document FROM spending_settings WHERE team > ?1 ORDER BY team LIMIT ?2";
        self.read(sql, (id_after(after)?, self.page_limit.items), |row| {
            let team = TeamId(uuid_of(row, 0).map_err(backend)?);
            let document: String = row.get(2).map_err(backend)?;
            let bytes = document.len();
            Ok((CarriedSpending { team, version: row.get(1).map_err(backend)?, document }, bytes))
        })
    }

    fn receipts(&self, after: Option<&Key>) -> Result<Vec<Receipt>> {
        let after = match after {
            None => &[][..],
            Some(Key::Name(name)) => name,
            Some(_) => return Err(other_key()),
        };
        let sql = "SELECT name, fingerprint, outcome, expires_at FROM receipts WHERE name > ?1 \
                   ORDER BY name LIMIT ?2";
        self.read(sql, (after, self.page_limit.items), read_receipt)
    }

    fn rows(&self, num: i64, after: Option<&Key>) -> Result<Vec<CarriedRow>> {
        let (first, last) = (number_after(after)?, POSITION_MAX);
        if first > last {
            return Ok(Vec::new());
        }
        let sql = "SELECT key, id, vals, details, wide FROM rows WHERE key BETWEEN ?1 AND ?2 \
                   ORDER BY key LIMIT ?3";
        let read = |row: &Row<'_>| read_row(self.connection, row);
        self.read(sql, (key(num, first), key(num, last), self.page_limit.items), read)
    }

    fn blocks(&self, num: i64, after: Option<&Key>) -> Result<Vec<CarriedBlock>> {
        let (first, last) = (block_key(num, number_after(after)?), block_key(num + 1, 0) - 1);
        let sql = "SELECT key, marks FROM blocks WHERE key BETWEEN ?1 AND ?2 ORDER BY key LIMIT ?3";
        self.read(sql, (first, last, self.page_limit.items), read_block)
    }

    fn guests(&self, num: i64, after: Option<Key>) -> Result<Vec<Guest>> {
        let after = match after {
            None => String::new(),
            Some(Key::Guest(guest_id)) => guest_id,
            Some(_) => return Err(other_key()),
        };
        let sql = "SELECT guest_id, position, event_at FROM guests WHERE project = ?1 AND guest_id > ?2 \
                   ORDER BY guest_id LIMIT ?3";
        self.read(sql, (num, after, self.page_limit.items), |row| {
            let (guest_id, position, event_at_ms) = fields(row)?;
            Ok((Guest { guest_id, position, event_at_ms }, 0))
        })
    }

    fn retries(&self, num: i64, after: Option<&Key>) -> Result<Vec<Retry>> {
        let (at_ms, slot, position) = match after {
            None => (i64::MIN, 0, 0),
            Some(Key::Retry(at_ms, slot, position)) => (*at_ms, *slot, *position),
            Some(_) => return Err(other_key()),
        };
        let sql = "SELECT at, slot, position FROM retries WHERE project = ?1 \
                   AND (at, slot, position) > (?2, ?3, ?4) ORDER BY at, slot, position LIMIT ?5";
        self.read(sql, (num, at_ms, slot, position, self.page_limit.items), |row| {
            let (at_ms, slot, position): (i64, Slot, u64) = fields(row)?;
            Ok((Retry { at_ms, slot, position }, 0))
        })
    }

    /// Reads items until the page is full. Each item says how many bytes it has.
    fn read<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl Fn(&Row<'_>) -> Result<(T, usize)>,
    ) -> Result<Vec<T>> {
        let mut query = self.connection.prepare_cached(sql).map_err(backend)?;
        let mut found = query.query(params).map_err(backend)?;
        let (mut items, mut bytes) = (Vec::new(), 0);
        while let Some(row) = found.next().map_err(backend)? {
            let (item, size) = read(row)?;
            bytes += size;
            items.push(item);
            if bytes >= self.page_limit.bytes {
                break;
            }
        }
        Ok(items)
    }
}

fn read_receipt(row: &Row<'_>) -> Result<(Receipt, usize)> {
    let receipt = Receipt {
        name: row.get(0).map_err(backend)?,
        fingerprint: row.get(1).map_err(backend)?,
        outcome: row.get(2).map_err(backend)?,
        expires_at_ms: row.get(3).map_err(backend)?,
    };
    let bytes = receipt.outcome.len();
    Ok((receipt, bytes))
}

fn read_row(connection: &Connection, row: &Row<'_>) -> Result<(CarriedRow, usize)> {
    let RawRow { id, position, values, details } = pages::raw_row(connection, row, &WantedSlots::All)?;
    let values: Box<[u8]> = values.as_bytes().into();
    let details: Option<Box<[u8]>> = details.as_bytes().map(Into::into);
    let bytes = values.len() + details.as_ref().map_or(0, |details| details.len());
    Ok((CarriedRow { position, id, values, details }, bytes))
}

fn read_block(row: &Row<'_>) -> Result<(CarriedBlock, usize)> {
    let number = block_number(row.get(0).map_err(backend)?);
    let marks = row.get_ref(1).and_then(|marks| Ok(marks.as_blob()?)).map_err(backend)?;
    Ok((CarriedBlock { number, block: Block::decode(marks)?, ready: Vec::new() }, marks.len()))
}

fn fields<A, B, C>(row: &Row<'_>) -> Result<(A, B, C)>
where
    A: rusqlite::types::FromSql,
    B: rusqlite::types::FromSql,
    C: rusqlite::types::FromSql,
{
    let get = || Ok((row.get(0)?, row.get(1)?, row.get(2)?));
    get().map_err(backend)
}

fn id_after(after: Option<&Key>) -> Result<[u8; 16]> {
    match after {
        None => Ok(Uuid::nil().into_bytes()),
        Some(Key::Id(id)) => Ok(id.into_bytes()),
        Some(_) => Err(other_key()),
    }
}

fn number_after(after: Option<&Key>) -> Result<u64> {
    match after {
        None => Ok(0),
        Some(Key::Number(number)) => Ok(number.saturating_add(1)),
        Some(_) => Err(other_key()),
    }
}

fn other_key() -> StoreError {
    StoreError::Damaged("the place where a move stopped is of another section".to_owned())
}

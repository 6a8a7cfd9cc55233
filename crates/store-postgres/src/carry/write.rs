//! Writing what is carried, and how far that has come.
//!
//! The checkpoint lies in a table that a move makes and removes again: while it is there no node starts here.

use std::pin::pin;

use rowmill_model::documents::{read_project, write_ended_run, write_tally};
use rowmill_model::integration::connected_event;
use rowmill_model::plan::EndedRun;
use rowmill_model::record::{Cells, Slot};
use rowmill_store::RowWrite;
use rowmill_store::carry::{
    CarriedBlock, CarriedProject, CarriedRow, CarriedSpending, CarriedWebhooks, Guest, Items, Receipt,
    Section,
};
use rowmill_store::changes::LiveDelta;
use rowmill_store::{ApiKey, Result, lookup};
use tokio_postgres::Client;
use tokio_postgres::binary_copy::BinaryCopyInWriter;
use tokio_postgres::types::{ToSql, Type};
use uuid::Uuid;

use super::read::number_of;
use crate::convert::{damaged, narrow, signed};
use crate::copy;
use crate::server_error::backend;
use crate::teams::key_columns;

/// All of it or nothing. It need not be on the disk at once: the checkpoint is lost with what it speaks of.
pub(super) async fn in_transaction<T>(client: &Client, work: impl Future<Output = Result<T>>) -> Result<T> {
    let begin = "BEGIN; SET LOCAL synchronous_commit = off; SET LOCAL statement_timeout = 0";
    client.batch_execute(begin).await.map_err(backend)?;
    let outcome = work.await;
    let end = if outcome.is_ok() { "COMMIT" } else { "ROLLBACK" };
    let ended = client.batch_execute(end).await.map_err(backend);
    let done = outcome?;
    ended.map(|()| done)
}

pub(super) async fn save_checkpoint(client: &Client, checkpoint: &str) -> Result<()> {
    run(client, "UPDATE rowmill.moving SET note = $1", &[&checkpoint]).await
}

pub(super) async fn project(client: &Client, carried: &CarriedProject) -> Result<()> {
    let CarriedProject {
        id,
        document,
        views,
        version,
        row_count,
        next_position,
        change_seq,
        lookup_slots,
        tally,
        ended_runs,
    } = carried;
    let project = read_project(document).map_err(damaged)?;
    let lookup_slots: Vec<i64> = lookup_slots.iter().map(|slot| i64::from(*slot)).collect();
    let tallied_at = tally.as_ref().map(|(_, at)| *at);
    let tally = tally.as_ref().map(|(tally, _)| write_tally(tally)).transpose().map_err(damaged)?;
    run(
        client,
        "WITH made AS (INSERT INTO rowmill.projects (id, team, title, autoplay, folder_id, column_count, \
         created_at, document, views, event_id) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) \
         RETURNING project, id) \
         INSERT INTO rowmill.counters (project, id, version, row_count, next_position, change_seq, lookup_slots, \
         tally, tallied_at, value_bytes_before) \
         SELECT project, id, $11, $12, $13, $14, $15, $16, $17, NULL FROM made",
        &[
            &id.uuid(),
            &project.team.0,
            &project.title,
            &project.autoplay,
            &project.folder_id,
            &i64::try_from(project.table.columns.len()).unwrap_or(i64::MAX),
            &project.created_at_ms,
            document,
            views,
            &connected_event(&project.metadata),
            &signed(*version),
            &signed(*row_count),
            &signed(*next_position),
            &signed(*change_seq),
            &lookup_slots,
            &tally,
            &tallied_at,
        ],
    )
    .await?;
    write_runs(client, number_of(client, *id).await?, ended_runs).await
}

async fn write_runs(client: &Client, num: i64, runs: &[EndedRun]) -> Result<()> {
    let numbers: Vec<i64> = runs.iter().map(|run| signed(run.number)).collect();
    let ended: Vec<i64> = runs.iter().map(|run| run.ended_at_ms).collect();
    let texts = runs.iter().map(write_ended_run).collect::<serde_json::Result<Vec<_>>>();
    let sql = "INSERT INTO rowmill.runs (project, number, ended_at, run) \
               SELECT $1, * FROM unnest($2::int8[], $3::int8[], $4::text[])";
    run(client, sql, &[&num, &numbers, &ended, &texts.map_err(damaged)?]).await
}

pub(super) async fn page(client: &Client, section: Section, items_page: &Items) -> Result<()> {
    let num = match section.project() {
        Some(id) => number_of(client, id).await?,
        None => 0,
    };
    match items_page {
        Items::Teams(items) => {
            for team in items {
                let sql = "INSERT INTO rowmill.teams (id, slug, name, created_at) VALUES ($1, $2, $3, $4)";
                let slug = team.slug.as_str();
                run(client, sql, &[&team.id.0, &slug, &team.name, &team.created_at_ms]).await?;
            }
            Ok(())
        }
        Items::Keys(items) => write_keys(client, items).await,
        Items::Sealed(items) => {
            let teams: Vec<Uuid> = items.iter().map(|(team, _)| team.0).collect();
            let kinds: Vec<&str> = items.iter().map(|(_, sealed)| sealed.kind.word()).collect();
            let names: Vec<&str> = items.iter().map(|(_, sealed)| sealed.name.as_str()).collect();
            let bytes: Vec<&[u8]> = items.iter().map(|(_, sealed)| sealed.bytes.as_slice()).collect();
            let updated: Vec<i64> = items.iter().map(|(_, sealed)| sealed.updated_at_ms).collect();
            let sql = "INSERT INTO rowmill.sealed (team, kind, name, bytes, updated_at) \
                       SELECT * FROM unnest($1::uuid[], $2::text[], $3::text[], $4::bytea[], $5::int8[])";
            run(client, sql, &[&teams, &kinds, &names, &bytes, &updated]).await
        }
        Items::Webhooks(items) => {
            let sql = "INSERT INTO rowmill.webhooks (team, version, document, subscriptions) VALUES ($1, $2, $3, $4)";
            for CarriedWebhooks { team, version, document, subscriptions } in items {
                run(client, sql, &[&team.0, &signed(*version), document, subscriptions]).await?;
            }
            Ok(())
        }
        Items::Spending(items) => {
            let sql = "INSERT INTO rowmill.spending_settings (team, version, document) VALUES ($1, $2, $3)";
            for CarriedSpending { team, version, document } in items {
                run(client, sql, &[&team.0, &signed(*version), document]).await?;
            }
            Ok(())
        }
        Items::Receipts(items) => write_receipts(client, items).await,
        Items::Rows(rows) => write_rows(client, num, rows).await,
        Items::Blocks(blocks) => write_blocks(client, num, blocks).await,
        Items::Guests(items) => write_guests(client, num, items).await,
        Items::Retries(items) => {
            let at: Vec<i64> = items.iter().map(|retry| retry.at_ms).collect();
            let slots: Vec<i64> = items.iter().map(|retry| i64::from(retry.slot)).collect();
            let positions: Vec<i64> = items.iter().map(|retry| signed(retry.position)).collect();
            let sql = "INSERT INTO rowmill.retries (project, at, slot, position) \
                       SELECT $1, * FROM unnest($2::int8[], $3::int8[], $4::int8[])";
            run(client, sql, &[&num, &at, &slots, &positions]).await
        }
    }
}

async fn write_keys(client: &Client, items: &[ApiKey]) -> Result<()> {
    let ids: Vec<Uuid> = items.iter().map(|key| key.id.uuid()).collect();
    let teams: Vec<Uuid> = items.iter().map(|key| key.team.0).collect();
    let names: Vec<&str> = items.iter().map(|key| key.name.as_str()).collect();
    let hashes: Vec<&[u8]> = items.iter().map(|key| &key.hash[..]).collect();
    let made: Vec<i64> = items.iter().map(|key| key.created_at_ms).collect();
    let used: Vec<Option<i64>> = items.iter().map(|key| key.last_used.map(|last| last.at_ms)).collect();
    let from = |key: &ApiKey| Some(key.last_used?.from?.to_string());
    let from: Vec<Option<String>> = items.iter().map(from).collect();
    let expire: Vec<Option<i64>> = items.iter().map(|key| key.expires_at_ms).collect();
    let restrictions: Vec<Option<String>> = items.iter().map(|key| key.restrictions.to_stored()).collect();
    let sql = concat!(
        "INSERT INTO rowmill.keys (",
        key_columns!(),
        ") SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::bytea[], $5::int8[], $6::int8[], \
         $7::text[], $8::int8[], $9::text[])"
    );
    run(client, sql, &[&ids, &teams, &names, &hashes, &made, &used, &from, &expire, &restrictions]).await
}

async fn write_receipts(client: &Client, receipts: &[Receipt]) -> Result<()> {
    let names: Vec<&[u8]> = receipts.iter().map(|receipt| &receipt.name[..]).collect();
    let fingerprints: Vec<&[u8]> = receipts.iter().map(|receipt| &receipt.fingerprint[..]).collect();
    let outcomes: Vec<&str> = receipts.iter().map(|receipt| receipt.outcome.as_str()).collect();
    let expiries: Vec<i64> = receipts.iter().map(|receipt| receipt.expires_at_ms).collect();
    let sql = "INSERT INTO rowmill.receipts (name, fingerprint, outcome, expires_at) \
               SELECT * FROM unnest($1::bytea[], $2::bytea[], $3::text[], $4::int8[])";
    run(client, sql, &[&names, &fingerprints, &outcomes, &expiries]).await
}

async fn write_guests(client: &Client, num: i64, guests: &[Guest]) -> Result<()> {
    let names: Vec<&str> = guests.iter().map(|guest| guest.guest_id.as_str()).collect();
    let positions: Vec<i64> = guests.iter().map(|guest| signed(guest.position)).collect();
    let events: Vec<i64> = guests.iter().map(|guest| guest.event_at_ms).collect();
    let sql = "INSERT INTO rowmill.guests (project, guest_id, position, event_at) \
               SELECT $1, * FROM unnest($2::text[], $3::int8[], $4::int8[])";
    run(client, sql, &[&num, &names, &positions, &events]).await
}

/// With rows go their live counts and, in columns that rows are matched on, where their values stand.
async fn write_rows(client: &Client, num: i64, rows: &[CarriedRow]) -> Result<()> {
    let types = [Type::INT8, Type::INT8, Type::UUID, Type::BYTEA, Type::BYTEA, Type::BYTEA, Type::INT8];
    let mut copy = pin!(BinaryCopyInWriter::new(client.copy_in(copy::ROWS).await.map_err(backend)?, &types));
    let mut live = LiveDelta::default();
    let mut wide = Vec::new();
    for row in rows {
        live.add(row.position, 1);
        let row = row.to_write()?;
        let (near, details) = (row.near.as_bytes(), row.details.as_bytes());
        let fields: [&(dyn ToSql + Sync); 7] =
            [&num, &signed(row.position), &row.id.uuid(), &near, &details, &row.note(), &row.wide_bytes()];
        copy.as_mut().write(&fields).await.map_err(backend)?;
        if row.wide.is_some() {
            wide.push(row);
        }
    }
    copy.finish().await.map_err(backend)?;
    write_wide_values(client, num, &wide).await?;
    write_live(client, num, live).await?;
    let sql = "SELECT lookup_slots FROM rowmill.counters WHERE project = $1";
    let slots: Vec<i64> = client.query_one(sql, &[&num]).await.map_err(backend)?.get(0);
    if slots.is_empty() {
        return Ok(());
    }
    let slots = slots.into_iter().map(narrow).collect::<Result<Vec<Slot>>>()?;
    write_lookups(client, num, &slots, rows).await
}

async fn write_wide_values(client: &Client, num: i64, rows: &[RowWrite]) -> Result<()> {
    let sql = "INSERT INTO rowmill.wide_values (project, position, slot, value) VALUES ($1, $2, $3, $4)";
    for row in rows {
        for (slot, value) in row.put() {
            let (position, slot) = (signed(row.position), i64::from(slot));
            run(client, sql, &[&num, &position, &slot, &value.as_bytes()]).await?;
        }
    }
    Ok(())
}

async fn write_live(client: &Client, num: i64, live: LiveDelta) -> Result<()> {
    let live = live.by_level();
    let levels: Vec<i64> = live.iter().map(|(level, ..)| *level).collect();
    let segments: Vec<i64> = live.iter().map(|(_, segment, _)| signed(*segment)).collect();
    let counts: Vec<i64> = live.iter().map(|(.., count)| *count).collect();
    let sql = "INSERT INTO rowmill.live AS l (project, level, segment, count) \
               SELECT $1, * FROM unnest($2::int8[], $3::int8[], $4::int8[]) \
               ON CONFLICT (project, level, segment) DO UPDATE SET count = l.count + excluded.count";
    run(client, sql, &[&num, &levels, &segments, &counts]).await
}

async fn write_lookups(client: &Client, num: i64, slots: &[Slot], rows: &[CarriedRow]) -> Result<()> {
    let sql = "COPY rowmill.lookups (project, slot, hash, position) FROM STDIN (FORMAT binary)";
    let types = [Type::INT8, Type::INT8, Type::INT8, Type::INT8];
    let mut copy = pin!(BinaryCopyInWriter::new(client.copy_in(sql).await.map_err(backend)?, &types));
    for row in rows {
        let cells = Cells::unpack(&row.values)?;
        for slot in slots {
            let Some(hash) = lookup::hash_of(*slot, &cells) else { continue };
            let fields: [&(dyn ToSql + Sync); 4] = [&num, &i64::from(*slot), &hash, &signed(row.position)];
            copy.as_mut().write(&fields).await.map_err(backend)?;
        }
    }
    copy.finish().await.map(|_| ()).map_err(backend)
}

async fn write_blocks(client: &Client, num: i64, blocks: &[CarriedBlock]) -> Result<()> {
    let numbers: Vec<i64> = blocks.iter().map(|block| signed(block.number)).collect();
    let marks: Vec<Vec<u8>> = blocks.iter().map(|block| block.block.encode()).collect();
    let sql = "INSERT INTO rowmill.blocks (project, block, marks) \
               SELECT $1, * FROM unnest($2::int8[], $3::bytea[])";
    run(client, sql, &[&num, &numbers, &marks]).await?;
    let ready = || blocks.iter().flat_map(|block| block.ready.iter().map(|slot| (*slot, block.number)));
    let slots: Vec<i64> = ready().map(|(slot, _)| i64::from(slot)).collect();
    let numbers: Vec<i64> = ready().map(|(_, number)| signed(number)).collect();
    let sql =
        "INSERT INTO rowmill.ready (project, slot, block) SELECT $1, * FROM unnest($2::int8[], $3::int8[])";
    run(client, sql, &[&num, &slots, &numbers]).await
}

async fn run(client: &Client, sql: &str, params: &[&(dyn ToSql + Sync)]) -> Result<()> {
    client.execute(sql, params).await.map(|_| ()).map_err(backend)
}

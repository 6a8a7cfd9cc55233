//! The limit of writes: a bare binary COPY, and bare updates.

use std::time::{Duration, Instant};

use bytes::{BufMut as _, Bytes, BytesMut};
use futures_util::SinkExt as _;
use rowmill_model::Record;
use serde_json::Value;
use tokio::runtime::Runtime;
use tokio_postgres::Client;
use uuid::Uuid;

use super::cluster::connect;
use crate::any_result::AnyResult;
use crate::runtime::runtime;
use crate::sample::{HEADERS, WRITTEN, id};
use crate::store::DataLocation;

/// The shape of the service's own table of rows, and one in which a field can be set in place.
const SCHEMA: &str = "CREATE TABLE raw_rows (project int8 NOT NULL, position int8 NOT NULL, id uuid NOT NULL, \
     vals bytea NOT NULL, details bytea, PRIMARY KEY (project, position)) WITH (fillfactor = 85); \
     CREATE UNIQUE INDEX raw_rows_by_id ON raw_rows (project, id); \
     CREATE TABLE raw_documents (id uuid PRIMARY KEY, row jsonb NOT NULL) WITH (fillfactor = 85)";
pub(crate) const COPY: &str =
    "COPY raw_rows (project, position, id, vals, details) FROM STDIN (FORMAT binary)";
const COPY_DOCUMENTS: &str = "COPY raw_documents (id, row) FROM STDIN (FORMAT binary)";
pub(crate) const UPDATE: &str = "UPDATE raw_documents d SET row = jsonb_set(d.row, $1, new.value) \
     FROM unnest($2::uuid[], $3::text[]::jsonb[]) new (id, value) WHERE d.id = new.id";
/// What is sent at once.
const CHUNK_BYTES: usize = 256 * 1024;

#[derive(Debug)]
pub(crate) struct Raw {
    runtime: Runtime,
    client: Client,
    _place: DataLocation,
}

impl Raw {
    pub(crate) fn create(place: DataLocation) -> AnyResult<Self> {
        let runtime = runtime()?;
        let url = place.url().ok_or("not a PostgreSQL database")?.to_owned();
        let client = runtime.block_on(async {
            let client = connect(&url).await?;
            client.batch_execute(SCHEMA).await?;
            AnyResult::Ok(client)
        })?;
        Ok(Self { runtime, client, _place: place })
    }

    /// Copies rows, numbered from `first`, one statement for each call's worth of them. They are packed as
    /// the service packs them, before the clock runs.
    pub(crate) fn insert(&mut self, first: usize, rows: &[String], call_rows: usize) -> AnyResult<Duration> {
        let packed: Vec<Record> = rows.iter().map(|row| packed(row)).collect::<AnyResult<_>>()?;
        self.runtime.block_on(async {
            let start = Instant::now();
            let mut index = first;
            for call in packed.chunks(call_rows) {
                copy(&self.client, COPY, call, |buffer, record| {
                    buffer.put_i16(5);
                    put(buffer, &1_i64.to_be_bytes());
                    put(buffer, &i64::try_from(index).unwrap_or_default().to_be_bytes());
                    put(buffer, &id(index));
                    put(buffer, record.as_bytes());
                    buffer.put_i32(-1);
                    index += 1;
                })
                .await?;
            }
            Ok(start.elapsed())
        })
    }

    /// Fills the table whose rows are written over.
    pub(crate) fn fill_documents(&mut self, rows: impl Iterator<Item = String>) -> AnyResult {
        let rows: Vec<String> = rows.collect();
        let mut index = 0;
        self.runtime.block_on(copy(&self.client, COPY_DOCUMENTS, &rows, |buffer, row| {
            buffer.put_i16(2);
            put(buffer, &id(index));
            // Version 1 of jsonb on the wire is text.
            buffer.put_i32(i32::try_from(row.len() + 1).unwrap_or_default());
            buffer.put_u8(1);
            buffer.put_slice(row.as_bytes());
            index += 1;
        }))
    }

    /// Writes batches of cells over and over, one statement for each. Says how many batches a second.
    pub(crate) fn update(&mut self, batches: &[Vec<(usize, String)>], time: Duration) -> AnyResult<f64> {
        let client = &self.client;
        let path = vec![WRITTEN.to_owned()];
        self.runtime.block_on(async {
            let update = client.prepare(UPDATE).await?;
            let start = Instant::now();
            let mut count = 0.0;
            for batch in batches.iter().cycle() {
                let ids: Vec<Uuid> = batch.iter().map(|(row, _)| Uuid::from_bytes(id(*row))).collect();
                let values: Vec<&str> = batch.iter().map(|(_, value)| value.as_str()).collect();
                client.execute(&update, &[&path, &ids, &values]).await?;
                count += 1.0;
                if start.elapsed() >= time {
                    break;
                }
            }
            Ok(count / start.elapsed().as_secs_f64())
        })
    }
}

/// Sends rows in the binary format, a quarter of a megabyte at a time.
async fn copy<T>(
    client: &Client,
    sql: &str,
    rows: &[T],
    mut write: impl FnMut(&mut BytesMut, &T),
) -> AnyResult {
    let sink = client.copy_in::<_, Bytes>(sql).await?;
    let mut sink = std::pin::pin!(sink);
    let mut buffer = BytesMut::with_capacity(CHUNK_BYTES + 4_096);
    buffer.put_slice(b"PGCOPY\n\xff\r\n\0");
    buffer.put_i64(0);
    for row in rows {
        write(&mut buffer, row);
        if buffer.len() >= CHUNK_BYTES {
            sink.send(buffer.split().freeze()).await?;
            buffer.reserve(CHUNK_BYTES + 4_096);
        }
    }
    buffer.put_i16(-1);
    sink.send(buffer.freeze()).await?;
    sink.finish().await?;
    Ok(())
}

fn put(buffer: &mut BytesMut, bytes: &[u8]) {
    buffer.put_i32(i32::try_from(bytes.len()).unwrap_or_default());
    buffer.put_slice(bytes);
}

/// A row as the service keeps it.
pub(crate) fn packed(row: &str) -> AnyResult<Record> {
    let fields: serde_json::Map<String, Value> = serde_json::from_str(row)?;
    let texts: Vec<(u32, String)> = (0..)
        .zip(HEADERS)
        .filter_map(|(slot, header)| fields.get(header).map(|value| (slot, value.to_string())))
        .collect();
    Ok(Record::pack(texts.iter().map(|(slot, text)| (*slot, text.as_str()))))
}

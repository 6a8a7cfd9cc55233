//! Reading everything as it is stored, to check it (`rowmill check`). Nodes may use the database meanwhile.

use async_trait::async_trait;
use rowmill_model::{ImportId, ProjectId, RowId, TeamId};
use rowmill_store::carry::{Items, Key, PageLimit, Section};
use rowmill_store::changes::{CellClaim, Places};
use rowmill_store::inspect::{
    IndexEntry, IndexSizes, Inspect, InspectedCounters, InspectedProject, InspectedRow, InspectedSummary,
    InspectedWide, orphaned,
};
use rowmill_store::{Result, StoreError, cut_file, stray_file};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio_postgres::types::ToSql;
use tokio_postgres::{AsyncMessage, Client, Row};
use uuid::Uuid;

use crate::carry::{IS_TARGET, read};
use crate::connect::Server;
use crate::convert::{narrow, signed, unsigned};
use crate::server_error::backend;
use crate::{schema, wide_values};

/// The application name of a check, which tells it apart from nodes.
const NAME: &str = "rowmill-check";

/// A database that is checked, over one connection.
#[derive(Debug)]
pub struct Inspector {
    client: Client,
    place: String,
    /// Receives notifications. The connection is open as long as this is.
    _heard: UnboundedReceiver<AsyncMessage>,
}

impl Inspector {
    pub async fn connect(url: &str) -> Result<Self> {
        let server = Server::parse(url)?.named(NAME);
        let (sender, heard) = tokio::sync::mpsc::unbounded_channel();
        let inspector = Self { client: server.connect(sender).await?, place: server.place(), _heard: heard };
        // Everything is found by an index, and so every index is used.
        let sql = "SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0; SET jit = off; \
                   SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_hashjoin = off; \
                   SET enable_mergejoin = off; SET enable_material = off";
        inspector.client.batch_execute(sql).await.map_err(backend)?;
        let found = inspector.ask("SELECT to_regclass('rowmill.migrations') IS NULL", &[]).await?;
        if found.first().is_some_and(|row| row.get(0)) {
            let words = format!("{} does not contain a Rowmill installation", inspector.place);
            return Err(StoreError::Missing(words));
        }
        if inspector.ask(IS_TARGET, &[]).await?.first().is_some_and(|row| row.get(0)) {
            return Err(StoreError::Unfinished);
        }
        let found = inspector.ask("SELECT count(*) FROM rowmill.migrations", &[]).await?;
        schema::check_current(found.first().map_or(0, |row| unsigned(row.get(0))))?;
        Ok(inspector)
    }

    async fn ask(&self, sql: &str, params: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>> {
        self.client.query(sql, params).await.map_err(backend)
    }

    async fn number_of(&self, id: ProjectId) -> Result<i64> {
        let found = self.ask("SELECT project FROM rowmill.projects WHERE id = $1", &[&id.uuid()]).await?;
        found.first().map(|row| row.get(0)).ok_or(StoreError::UnknownProject)
    }

    /// The extension compares every index with its table, where it is installed and may be used.
    async fn check_indexes(&self) -> Result<Vec<String>> {
        let sql = "SELECT c.oid::regclass::text, c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace \
                   JOIN pg_index i ON i.indexrelid = c.oid JOIN pg_am a ON a.oid = c.relam \
                   WHERE nspname = 'rowmill' AND amname = 'btree' AND indisvalid AND relpersistence = 'p' \
                   AND to_regprocedure('bt_index_check(regclass,boolean)') IS NOT NULL \
                   AND has_function_privilege(to_regprocedure('bt_index_check(regclass,boolean)'), 'execute')";
        let mut findings = Vec::new();
        for index in self.ask(sql, &[]).await? {
            let (name, oid): (String, u32) = (index.get(0), index.get(1));
            let checked = self.ask("SELECT bt_index_check($1::oid::regclass, true)", &[&oid]).await;
            match checked {
                Ok(_) => {}
                Err(StoreError::Damaged(words)) => findings.push(format!("the index {name}: {words}")),
                Err(other) => return Err(other),
            }
        }
        Ok(findings)
    }

    /// Those of these rows that are not in a table: the numbers of the arrays' elements.
    async fn absent(&self, sql: &str, params: &[&(dyn ToSql + Sync)]) -> Result<Vec<usize>> {
        let found = self.ask(sql, params).await?;
        Ok(found.iter().map(|row| usize::try_from(row.get::<_, i64>(0) - 1).unwrap_or_default()).collect())
    }
}

#[async_trait]
impl Inspect for Inspector {
    fn place(&self) -> &str {
        &self.place
    }

    async fn begin(&self) -> Result<()> {
        let sql = "ROLLBACK; BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
        self.client.batch_execute(sql).await.map_err(backend)
    }

    async fn integrity(&self) -> Result<Vec<String>> {
        // Outside of the transaction, which the first finding would end.
        self.client.batch_execute("ROLLBACK").await.map_err(backend)?;
        self.check_indexes().await
    }

    async fn strays(&self) -> Result<Vec<String>> {
        let mut strays = Vec::new();
        for (table, what) in OF_PROJECTS {
            // What is in the trash has its project's number turned negative.
            let sql = format!(
                "WITH RECURSIVE nums AS ((SELECT project FROM rowmill.{table} ORDER BY project LIMIT 1) UNION ALL \
                 SELECT (SELECT t.project FROM rowmill.{table} t WHERE t.project > nums.project \
                 ORDER BY t.project LIMIT 1) FROM nums WHERE nums.project IS NOT NULL) \
                 SELECT project FROM nums WHERE project IS NOT NULL \
                 AND NOT EXISTS (SELECT 1 FROM rowmill.projects p WHERE p.project = abs(nums.project)) \
                 AND NOT EXISTS (SELECT 1 FROM rowmill.trashed_projects t WHERE t.project = abs(nums.project)) \
                 AND NOT EXISTS (SELECT 1 FROM rowmill.graves g WHERE g.project = abs(nums.project))"
            );
            for row in self.ask(&sql, &[]).await? {
                let num: i64 = row.get(0);
                strays.push(format!("there are {what} of project number {num}, which does not exist"));
            }
        }
        let sql = "SELECT count(*) FROM rowmill.wide_values w WHERE NOT EXISTS \
                   (SELECT 1 FROM rowmill.rows r WHERE r.project = w.project AND r.position = w.position) \
                   AND NOT EXISTS \
                   (SELECT 1 FROM rowmill.rows r WHERE r.project = -w.project AND r.position = w.position)";
        for orphans in
            self.ask(sql, &[]).await?.iter().map(|row| row.get::<_, i64>(0)).filter(|count| *count > 0)
        {
            strays.push(orphaned(unsigned(orphans)));
        }
        let sql = "SELECT DISTINCT import FROM rowmill.import_parts p \
                   WHERE NOT EXISTS (SELECT 1 FROM rowmill.imports i WHERE i.id = p.import) LIMIT 100";
        let id = |row: &Row| ImportId::from_uuid(row.get(0));
        strays.extend(self.ask(sql, &[]).await?.iter().map(|row| stray_file(id(row))));
        let sql = "SELECT id FROM rowmill.imports i WHERE status IN ('queued', 'running') AND file_bytes <> \
                   (SELECT coalesce(sum(octet_length(bytes)), 0) FROM rowmill.import_parts WHERE import = i.id)";
        strays.extend(self.ask(sql, &[]).await?.iter().map(|row| cut_file(id(row))));
        Ok(strays)
    }

    async fn projects(&self) -> Result<Vec<ProjectId>> {
        read::projects(&self.client).await
    }

    async fn project(&self, id: ProjectId) -> Result<Option<InspectedProject>> {
        let sql = "SELECT p.document, p.views, p.team, p.title, p.autoplay, p.folder_id, p.column_count, p.created_at, \
                   p.event_id, c.row_count, c.next_position, c.lookup_slots, c.tally, c.trashed_count, \
                   c.value_bytes + c.value_bytes_before \
                   FROM rowmill.projects p LEFT JOIN rowmill.counters c USING (project) WHERE p.id = $1";
        let found = self.ask(sql, &[&id.uuid()]).await?;
        found.first().map(read_project).transpose()
    }

    async fn read(&self, from: Section, after: Option<Key>, page_limit: PageLimit) -> Result<Items> {
        read::page(&self.client, from, after, page_limit).await
    }

    async fn rows(&self, id: ProjectId, first: u64, page_limit: PageLimit) -> Result<Vec<InspectedRow>> {
        let sql = "SELECT position, id, vals, details, wide, wide_bytes, \
                   rowmill.wide_of(project, position, ''::bytea, NULL) FROM (SELECT *, \
                   (sum(bytes) OVER (ORDER BY position ROWS UNBOUNDED PRECEDING) - bytes)::int8 AS before \
                   FROM (SELECT project, position, id, vals, details, wide, wide_bytes, \
                   octet_length(vals) + coalesce(octet_length(details), 0) \
                   + coalesce(wide_bytes, 0) AS bytes FROM rowmill.rows \
                   WHERE project = $1 AND position >= $2 ORDER BY position LIMIT $3) page) sized \
                   WHERE before < $4 ORDER BY position";
        let (items, bytes) =
            (i64::from(page_limit.items), i64::try_from(page_limit.bytes).unwrap_or(i64::MAX));
        let found = self.ask(sql, &[&self.number_of(id).await?, &signed(first), &items, &bytes]).await?;
        let row = |row: &Row| {
            let stored = wide_values::slotted(row.get::<_, Vec<&[u8]>>(6).get(1..).unwrap_or_default())?;
            let wide = InspectedWide {
                note: row.get::<_, Option<&[u8]>>(4).map(Into::into),
                bytes: row.get(5),
                stored: stored.into_iter().map(|(slot, value)| (slot, value.to_vec())).collect(),
            };
            let mut values = row.get::<_, Option<&[u8]>>(2).map(Into::into);
            let damage = wide.join_to(&mut values).err();
            let details = row.get::<_, Option<&[u8]>>(3).map(Into::into);
            let (position, id) = (unsigned(row.get(0)), Some(RowId::from_uuid(row.get(1))));
            Ok(InspectedRow { position, id, values, details, damage })
        };
        found.iter().map(row).collect()
    }

    async fn blocks(&self, id: ProjectId, first: u64, count_max: u32) -> Result<Vec<(u64, Vec<u8>)>> {
        let sql = "SELECT block, marks FROM rowmill.blocks WHERE project = $1 AND block >= $2 ORDER BY block LIMIT $3";
        let num = self.number_of(id).await?;
        let found = self.ask(sql, &[&num, &signed(first), &i64::from(count_max)]).await?;
        Ok(found.iter().map(|row| (unsigned(row.get(0)), row.get(1))).collect())
    }

    async fn live(&self, id: ProjectId, level: u32, first: u64, count_max: u32) -> Result<Vec<(u64, i64)>> {
        let sql = "SELECT segment, count FROM rowmill.live WHERE project = $1 AND level = $2 AND segment >= $3 \
                   ORDER BY segment LIMIT $4";
        let num = self.number_of(id).await?;
        let found = self.ask(sql, &[&num, &i64::from(level), &signed(first), &i64::from(count_max)]).await?;
        Ok(found.iter().map(|row| (unsigned(row.get(0)), row.get(1))).collect())
    }

    async fn trashed_rows(&self, id: ProjectId) -> Result<u64> {
        let sql = "SELECT places FROM rowmill.trash WHERE project = $1";
        let found = self.ask(sql, &[&self.number_of(id).await?]).await?;
        found.iter().map(|row| Ok(Places::from_bytes(row.get(0))?.count())).sum()
    }

    async fn claims(&self, id: ProjectId) -> Result<Vec<CellClaim>> {
        let sql = "SELECT worker, slot, block, places FROM rowmill.claims WHERE project = $1";
        let claim = |row: &Row| {
            let places = row.get::<_, &[u8]>(3).iter().copied().collect();
            let (slot, block) = (narrow(row.get(1))?, unsigned(row.get(2)));
            Ok(CellClaim { worker: row.get(0), slot, block, places })
        };
        self.ask(sql, &[&self.number_of(id).await?]).await?.iter().map(claim).collect()
    }

    async fn missing(&self, id: ProjectId, entries: Vec<IndexEntry>) -> Result<Vec<IndexEntry>> {
        let num = self.number_of(id).await?;
        let mut missing = Vec::new();
        let mut columns = Columns::default();
        for entry in entries {
            columns.push(entry);
        }
        for (sql, columns, entries) in columns.by_table() {
            if entries.is_empty() {
                continue;
            }
            let params: Vec<&(dyn ToSql + Sync)> =
                std::iter::once(&num as &(dyn ToSql + Sync)).chain(columns).collect();
            let absent = self.absent(sql, &params).await?;
            missing.extend(absent.into_iter().filter_map(|index| entries.get(index).copied()));
        }
        Ok(missing)
    }

    async fn index_sizes(&self, id: ProjectId) -> Result<IndexSizes> {
        let sql = "SELECT (SELECT count(*) FROM rowmill.lookups WHERE project = $1), \
                   (SELECT count(*) FROM rowmill.ready WHERE project = $1)";
        let found = self.client.query_one(sql, &[&self.number_of(id).await?]).await.map_err(backend)?;
        Ok(IndexSizes { lookups: unsigned(found.get(0)), ready: unsigned(found.get(1)) })
    }
}

/// The tables that have something of projects, and what people call it.
const OF_PROJECTS: &[(&str, &str)] = &[
    ("rows", "rows"),
    ("wide_values", "wide values"),
    ("blocks", "cell states"),
    ("counters", "counters"),
    ("live", "live counts"),
    ("lookups", "match index entries"),
    ("guests", "guests"),
    ("ready", "cells to run"),
    ("retries", "retries"),
    ("claims", "claims"),
    ("runs", "runs"),
    ("asked_columns", "columns that were asked for"),
    ("trash", "entries of the trash"),
    ("past_guests", "former guests"),
];

fn read_project(row: &Row) -> Result<InspectedProject> {
    let counters = |row_count| InspectedCounters {
        row_count: unsigned(row_count),
        next_position: unsigned(row.get::<_, Option<i64>>(10).unwrap_or_default()),
        trashed_count: unsigned(row.get::<_, Option<i64>>(13).unwrap_or_default()),
        value_bytes: row.get(14),
    };
    let lookup_slots = row.get::<_, Option<Vec<i64>>>(11).unwrap_or_default();
    Ok(InspectedProject {
        document: row.get(0),
        views: row.get(1),
        summary: InspectedSummary {
            team: TeamId(row.get(2)),
            title: row.get(3),
            autoplay: row.get(4),
            folder_id: row.get(5),
            column_count: unsigned(row.get(6)),
            created_at_ms: row.get(7),
            event_id: row.get(8),
        },
        counters: row.get::<_, Option<i64>>(9).map(counters),
        lookup_slots: lookup_slots.into_iter().map(narrow).collect::<Result<_>>()?,
        tally: row.get(12),
    })
}

/// Entries of all indexes, column by column, as arrays are sent.
#[derive(Default)]
struct Columns {
    ids: (Vec<Uuid>, Vec<i64>, Vec<IndexEntry>),
    lookups: (Vec<i64>, Vec<i64>, Vec<i64>, Vec<IndexEntry>),
    ready: (Vec<i64>, Vec<i64>, Vec<IndexEntry>),
    retries: (Vec<i64>, Vec<i64>, Vec<i64>, Vec<IndexEntry>),
}

type Table<'c> = (&'static str, Vec<&'c (dyn ToSql + Sync)>, &'c [IndexEntry]);

impl Columns {
    fn push(&mut self, entry: IndexEntry) {
        match entry {
            IndexEntry::Id(id, position) => {
                self.ids.0.push(id.uuid());
                self.ids.1.push(signed(position));
                self.ids.2.push(entry);
            }
            IndexEntry::Lookup(slot, hash, position) => {
                self.lookups.0.push(slot.into());
                self.lookups.1.push(hash);
                self.lookups.2.push(signed(position));
                self.lookups.3.push(entry);
            }
            IndexEntry::Ready(slot, block) => {
                self.ready.0.push(slot.into());
                self.ready.1.push(signed(block));
                self.ready.2.push(entry);
            }
            IndexEntry::Retry(at_ms, slot, position) => {
                self.retries.0.push(at_ms);
                self.retries.1.push(slot.into());
                self.retries.2.push(signed(position));
                self.retries.3.push(entry);
            }
        }
    }

    fn by_table(&self) -> [Table<'_>; 4] {
        [
            (
                "SELECT e.number FROM unnest($2::uuid[], $3::int8[]) WITH ORDINALITY e (id, position, number) \
                 WHERE NOT EXISTS (SELECT 1 FROM rowmill.rows r WHERE r.project = $1 AND r.id = e.id \
                 AND r.position = e.position)",
                vec![&self.ids.0, &self.ids.1],
                &self.ids.2,
            ),
            (
                "SELECT e.number FROM unnest($2::int8[], $3::int8[], $4::int8[]) \
                 WITH ORDINALITY e (slot, hash, position, number) \
                 WHERE NOT EXISTS (SELECT 1 FROM rowmill.lookups l WHERE l.project = $1 AND l.slot = e.slot \
                 AND l.hash = e.hash AND l.position = e.position)",
                vec![&self.lookups.0, &self.lookups.1, &self.lookups.2],
                &self.lookups.3,
            ),
            (
                "SELECT e.number FROM unnest($2::int8[], $3::int8[]) WITH ORDINALITY e (slot, block, number) \
                 WHERE NOT EXISTS (SELECT 1 FROM rowmill.ready r WHERE r.project = $1 AND r.slot = e.slot \
                 AND r.block = e.block)",
                vec![&self.ready.0, &self.ready.1],
                &self.ready.2,
            ),
            (
                "SELECT e.number FROM unnest($2::int8[], $3::int8[], $4::int8[]) \
                 WITH ORDINALITY e (at, slot, position, number) \
                 WHERE NOT EXISTS (SELECT 1 FROM rowmill.retries r WHERE r.project = $1 AND r.at = e.at \
                 AND r.slot = e.slot AND r.position = e.position)",
                vec![&self.retries.0, &self.retries.1, &self.retries.2],
                &self.retries.3,
            ),
        ]
    }
}

//! The limit of writes: the bare database with the same durability, doing no more than it must. Here rusqlite.

use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use rusqlite::config::DbConfig;

use crate::any_result::AnyResult;
use crate::postgres;
use crate::sample::{self, WRITTEN, id};
use crate::store::Backend;

pub(crate) const SCHEMA: &str = "CREATE TABLE rows (id BLOB PRIMARY KEY, row TEXT NOT NULL)";
const INSERT: &str = "INSERT INTO rows (id, row) VALUES (?1, ?2)";
/// One statement reads the row's JSON, changes one field and writes it back.
pub(crate) const UPDATE: &str = "UPDATE rows SET row = json_set(row, ?2, json(?3)) WHERE id = ?1";
/// Durability, and what is folded into the file when, are the service's own; the cache is no smaller.
pub(crate) const PRAGMAS: [(&str, &str); 4] = [
    ("journal_mode", "wal"),
    ("synchronous", "full"),
    ("wal_autocheckpoint", "4000"),
    ("cache_size", "-32768"),
];

/// The bare database that the service's own is compared with.
#[derive(Debug)]
pub(crate) enum Raw {
    Sqlite(Sqlite),
    Postgres(postgres::raw::Raw),
}

impl Raw {
    /// A new one below this folder.
    pub(crate) fn create(backend: &Backend, folder: &Path) -> AnyResult<Self> {
        Ok(match backend {
            Backend::Sqlite => {
                let file = folder.join("raw.db");
                for leftover in ["raw.db", "raw.db-wal", "raw.db-shm"].map(|name| folder.join(name)) {
                    let _ = std::fs::remove_file(leftover);
                }
                Self::Sqlite(Sqlite::create(&file)?)
            }
            Backend::Postgres(_) => Self::Postgres(postgres::raw::Raw::create(backend.place(folder)?)?),
        })
    }

    /// Inserts rows, numbered from `first`, one transaction for each call's worth of them.
    pub(crate) fn insert(&mut self, first: usize, rows: &[String], call_rows: usize) -> AnyResult<Duration> {
        match self {
            Self::Sqlite(raw) => raw.insert(first, rows, call_rows),
            Self::Postgres(raw) => raw.insert(first, rows, call_rows),
        }
    }

    /// Makes ready for updates of as many rows.
    pub(crate) fn before_updates(&mut self, rows: usize) -> AnyResult {
        match self {
            Self::Sqlite(_) => Ok(()),
            Self::Postgres(raw) => raw.fill_documents((0..rows).map(sample::row)),
        }
    }

    /// Writes batches of cells over and over, one transaction for each. Says how many batches a second.
    pub(crate) fn update(&mut self, batches: &[Vec<(usize, String)>], time: Duration) -> AnyResult<f64> {
        match self {
            Self::Sqlite(raw) => raw.update(batches, time),
            Self::Postgres(raw) => raw.update(batches, time),
        }
    }
}

#[derive(Debug)]
pub(crate) struct Sqlite(Connection);

impl Sqlite {
    fn open(file: &Path) -> AnyResult<Self> {
        let connection = Connection::open(file)?;
        // Else the statement with a WHERE is planned anew at every use.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        for (name, value) in PRAGMAS {
            connection.pragma_update(None, name, value)?;
        }
        Ok(Self(connection))
    }

    fn create(file: &Path) -> AnyResult<Self> {
        let raw = Self::open(file)?;
        raw.0.execute_batch(SCHEMA)?;
        Ok(raw)
    }

    fn insert(&mut self, first: usize, rows: &[String], call_rows: usize) -> AnyResult<Duration> {
        let start = Instant::now();
        let mut index = first;
        for call in rows.chunks(call_rows) {
            let transaction = self.0.transaction()?;
            let mut insert = transaction.prepare_cached(INSERT)?;
            for row in call {
                insert.execute((id(index), row))?;
                index += 1;
            }
            drop(insert);
            transaction.commit()?;
        }
        Ok(start.elapsed())
    }

    fn update(&mut self, batches: &[Vec<(usize, String)>], time: Duration) -> AnyResult<f64> {
        let path = format!("$.{WRITTEN}");
        let start = Instant::now();
        let mut count = 0.0;
        for batch in batches.iter().cycle() {
            let transaction = self.0.transaction()?;
            let mut update = transaction.prepare_cached(UPDATE)?;
            for (row, value) in batch {
                update.execute((id(*row), &path, value))?;
            }
            drop(update);
            transaction.commit()?;
            count += 1.0;
            if start.elapsed() >= time {
                break;
            }
        }
        Ok(count / start.elapsed().as_secs_f64())
    }
}

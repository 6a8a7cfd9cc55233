//! The limit of writes: bare rusqlite with the same durability, doing no more than it must.

use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use rusqlite::config::DbConfig;

use crate::Outcome;
use crate::sample::WRITTEN;

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

#[derive(Debug)]
pub(crate) struct Raw(Connection);

impl Raw {
    pub(crate) fn open(file: &Path) -> Outcome<Self> {
        let connection = Connection::open(file)?;
        // Else the statement with a WHERE is planned anew at every use.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        for (name, value) in PRAGMAS {
            connection.pragma_update(None, name, value)?;
        }
        Ok(Self(connection))
    }

    pub(crate) fn create(file: &Path) -> Outcome<Self> {
        let raw = Self::open(file)?;
        raw.0.execute_batch(SCHEMA)?;
        Ok(raw)
    }

    /// Inserts rows, numbered from `first`, one transaction for each call's worth of them.
    pub(crate) fn insert(&mut self, first: usize, rows: &[String], call_rows: usize) -> Outcome<Duration> {
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

    /// Writes batches of cells over and over, one transaction for each. Says how many batches a second.
    pub(crate) fn update(&mut self, batches: &[Vec<(usize, String)>], time: Duration) -> Outcome<f64> {
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

/// 16 bytes that grow with the row's number, as the service's ids do.
fn id(index: usize) -> [u8; 16] {
    let index = u128::try_from(index).unwrap_or_default();
    (0x0190_f0e0_b3c4_7d5e_8000_0000_0000_0000 + index).to_be_bytes()
}

//! The database's shape, and how an older one is brought up to it.

use rowmill_store::{Result, StoreError};
use rusqlite::Connection;

use crate::convert::backend;

/// In order, never changed once released: a change of shape is a new entry.
const MIGRATIONS: &[(&str, &str)] = &[
    ("foundation", include_str!("migrations/0001_foundation.sql")),
    ("guests", include_str!("migrations/0002_guests.sql")),
    ("sealed", include_str!("migrations/0003_sealed.sql")),
    ("processing", include_str!("migrations/0004_processing.sql")),
    ("checksums", include_str!("migrations/0005_checksums.sql")),
    ("matching", include_str!("migrations/0006_matching.sql")),
    ("runs", include_str!("migrations/0007_runs.sql")),
    ("sessions", include_str!("migrations/0008_sessions.sql")),
    ("value bytes", include_str!("migrations/0009_value_bytes.sql")),
    ("trash", include_str!("migrations/0010_trash.sql")),
    ("imports", include_str!("migrations/0011_imports.sql")),
    ("key restrictions", include_str!("migrations/0012_key_restrictions.sql")),
    ("webhooks", include_str!("migrations/0013_webhooks.sql")),
    ("received", include_str!("migrations/0014_received.sql")),
    ("spending", include_str!("migrations/0015_spending.sql")),
    ("kept answers", include_str!("migrations/0016_kept_answers.sql")),
    ("cached tokens", include_str!("migrations/0017_cached_tokens.sql")),
    ("batches", include_str!("migrations/0018_batches.sql")),
    ("match index", include_str!("migrations/0019_match_index.sql")),
    ("wide values", include_str!("migrations/0020_wide_values.sql")),
    ("asked columns", include_str!("migrations/0021_asked_columns.sql")),
];

/// Marks the file as ours (`rowm`), so that no other program's database is mistaken for one.
const APPLICATION_ID: i64 = 0x726f_776d;

/// Brings the database up to date, or refuses one that is newer, foreign or tampered with.
pub(crate) fn migrate(connection: &mut Connection) -> Result<()> {
    // The write lock is taken first: of several processes starting at once, one migrates.
    let transaction =
        connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate).map_err(backend)?;
    let found: u32 =
        transaction.pragma_query_value(None, "user_version", |row| row.get(0)).map_err(backend)?;
    let known = u32::try_from(MIGRATIONS.len()).unwrap_or(u32::MAX);
    if found > known {
        return Err(StoreError::Newer { found, known });
    }
    check_owner(&transaction, found)?;
    for (version, (name, sql)) in (1_u32..).zip(MIGRATIONS) {
        if version > found {
            transaction.execute_batch(sql).map_err(backend)?;
            transaction
                .execute(
                    "INSERT INTO migrations (version, name, sql) VALUES (?1, ?2, ?3)",
                    (version, name, sql),
                )
                .map_err(backend)?;
        } else {
            check_unchanged(&transaction, version, name, sql)?;
        }
    }
    transaction.pragma_update(None, "user_version", known).map_err(backend)?;
    transaction.commit().map_err(backend)
}

/// Refuses a database that is not one of ours, is newer, or is still to be migrated.
pub(crate) fn check_current(connection: &Connection) -> Result<()> {
    if is_current(connection)? {
        return Ok(());
    }
    Err(StoreError::Missing(
        "the database is of an older version of Rowmill: use that version, or start the server once, which migrates \
         the database"
            .to_owned(),
    ))
}

/// Whether a database of ours needs no migration. One that is not ours, or newer, is refused.
pub(crate) fn is_current(connection: &Connection) -> Result<bool> {
    let number =
        |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).map_err(backend);
    let (owner, found) = (number("application_id")?, number("user_version")?);
    if owner != APPLICATION_ID || found < 1 {
        return Err(StoreError::Damaged("the file is not a Rowmill database".to_owned()));
    }
    let known = u32::try_from(MIGRATIONS.len()).unwrap_or(u32::MAX);
    let found = u32::try_from(found).unwrap_or(u32::MAX);
    if found > known { Err(StoreError::Newer { found, known }) } else { Ok(found == known) }
}

/// The schema version of a database of ours that is to be migrated.
pub(crate) fn outdated(connection: &Connection) -> Result<Option<u32>> {
    let found: u32 =
        connection.pragma_query_value(None, "user_version", |row| row.get(0)).map_err(backend)?;
    Ok((found > 0 && !is_current(connection)?).then_some(found))
}

fn check_owner(connection: &Connection, found: u32) -> Result<()> {
    let owner: i64 =
        connection.pragma_query_value(None, "application_id", |row| row.get(0)).map_err(backend)?;
    if found == 0 {
        let tables: u32 = connection
            .query_row("SELECT count(*) FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%'", (), |row| {
                row.get(0)
            })
            .map_err(backend)?;
        if tables > 0 {
            return Err(StoreError::Damaged("the file contains the tables of another program".to_owned()));
        }
        connection
            .execute_batch("CREATE TABLE migrations (version INTEGER PRIMARY KEY, name TEXT NOT NULL, sql TEXT NOT NULL)")
            .map_err(backend)?;
        return connection.pragma_update(None, "application_id", APPLICATION_ID).map_err(backend);
    }
    if owner == APPLICATION_ID {
        Ok(())
    } else {
        Err(StoreError::Damaged("the file is not a Rowmill database".to_owned()))
    }
}

fn check_unchanged(connection: &Connection, version: u32, name: &str, sql: &str) -> Result<()> {
    let applied: (String, String) = connection
        .query_row("SELECT name, sql FROM migrations WHERE version = ?1", [version], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .map_err(backend)?;
    if applied.0 == name && applied.1 == sql {
        Ok(())
    } else {
        Err(StoreError::Damaged(format!(
            "migration {version} ({name}) differs from the one in this version of Rowmill"
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn migrating_twice_changes_nothing() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection).unwrap();
        migrate(&mut connection).unwrap();
    }

    #[test]
    fn a_newer_database_is_refused() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection).unwrap();
        connection.pragma_update(None, "user_version", 99).unwrap();
        assert!(matches!(migrate(&mut connection), Err(StoreError::Newer { found: 99, known: 21 })));
    }

    #[test]
    fn a_foreign_or_altered_database_is_refused() {
        let mut foreign = Connection::open_in_memory().unwrap();
        foreign.execute_batch("CREATE TABLE notes (text)").unwrap();
        assert!(matches!(migrate(&mut foreign), Err(StoreError::Damaged(_))));

        let mut altered = Connection::open_in_memory().unwrap();
        migrate(&mut altered).unwrap();
        altered.execute("UPDATE migrations SET sql = 'x'", ()).unwrap();
        assert!(matches!(migrate(&mut altered), Err(StoreError::Damaged(_))));
    }
}

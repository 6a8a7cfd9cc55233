//! The database's shape, and how an older one is brought up to it.

use rowmill_store::{Result, StoreError};

use crate::transaction::Tx;

/// In order, never changed once released: a change of shape is a new entry.
const MIGRATIONS: &[(&str, &str)] = &[
    ("foundation", include_str!("migrations/0001_foundation.sql")),
    ("turns", include_str!("migrations/0002_turns.sql")),
    ("versions", include_str!("migrations/0003_versions.sql")),
    ("matching", include_str!("migrations/0004_matching.sql")),
    ("runs", include_str!("migrations/0005_runs.sql")),
    ("sessions", include_str!("migrations/0006_sessions.sql")),
    ("value bytes", include_str!("migrations/0007_value_bytes.sql")),
    ("trash", include_str!("migrations/0008_trash.sql")),
    ("imports", include_str!("migrations/0009_imports.sql")),
    ("key restrictions", include_str!("migrations/0010_key_restrictions.sql")),
    ("webhooks", include_str!("migrations/0011_webhooks.sql")),
    ("received", include_str!("migrations/0012_received.sql")),
    ("spending", include_str!("migrations/0013_spending.sql")),
    ("kept answers", include_str!("migrations/0014_kept_answers.sql")),
    ("cached tokens", include_str!("migrations/0015_cached_tokens.sql")),
    ("batches", include_str!("migrations/0016_batches.sql")),
    ("wide values", include_str!("migrations/0017_wide_values.sql")),
    ("asked columns", include_str!("migrations/0018_asked_columns.sql")),
];

/// Names the lock under which nodes that start at once migrate one after the other (`rowm`).
const MIGRATION_LOCK: i64 = 0x726f_776d;

/// Refuses a database that is newer, or still to be migrated.
pub(crate) fn check_current(found: u64) -> Result<()> {
    let known = MIGRATIONS.len() as u64;
    let number = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
    if found > known {
        return Err(StoreError::Newer { found: number(found), known: number(known) });
    }
    if found < known {
        return Err(StoreError::Missing(
            "the database is of an older version of Rowmill: use that version, or start a node once, which migrates \
             the database"
                .to_owned(),
        ));
    }
    Ok(())
}

/// Brings the database up to date, or refuses one that is newer or tampered with. All in one transaction,
/// whose end also frees the lock: a session's lock would not survive a pooler.
pub(crate) async fn migrate(tx: &mut Tx) -> Result<()> {
    tx.query("SELECT pg_advisory_xact_lock($1)", &[&MIGRATION_LOCK]).await?;
    // Whoever may not create schemas can be given an empty one.
    if tx.query("SELECT 1 FROM pg_namespace WHERE nspname = 'rowmill'", &[]).await?.is_empty() {
        tx.run("CREATE SCHEMA rowmill").await?;
    }
    let sql = "SELECT 1 FROM pg_tables WHERE schemaname = 'rowmill' AND tablename = 'migrations'";
    if tx.query(sql, &[]).await?.is_empty() {
        tx.run(
            "CREATE TABLE rowmill.migrations (version int8 PRIMARY KEY, name text NOT NULL, sql text NOT NULL)",
        )
        .await?;
    }
    let applied = tx.query("SELECT version, name, sql FROM rowmill.migrations ORDER BY version", &[]).await?;
    let (found, known) = (applied.len(), MIGRATIONS.len());
    if found > known {
        let number = |len: usize| u32::try_from(len).unwrap_or(u32::MAX);
        return Err(StoreError::Newer { found: number(found), known: number(known) });
    }
    for (row, (version, (name, sql))) in applied.iter().zip((1_i64..).zip(MIGRATIONS)) {
        let is_ours = row.get::<_, i64>(0) == version && row.get::<_, &str>(1) == *name;
        if !is_ours || row.get::<_, &str>(2) != *sql {
            return Err(StoreError::Damaged(format!(
                "migration {version} ({name}) differs from the one in this version of Rowmill"
            )));
        }
    }
    for (version, (name, sql)) in (1_i64..).zip(MIGRATIONS).skip(found) {
        tx.run(sql).await?;
        tx.query(
            "INSERT INTO rowmill.migrations (version, name, sql) VALUES ($1, $2, $3)",
            &[&version, name, sql],
        )
        .await?;
    }
    Ok(())
}

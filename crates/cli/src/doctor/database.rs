//! The database: whether it opens, is ours, of this version and sound, and has connections to spare.

use std::time::Duration;

use rowmill_clock::SystemClock;
use rowmill_store::StoreError;
use rowmill_store_postgres::{Examined as Postgres, Schema};
use rowmill_store_sqlite::{DATABASE_FILE, Examined as Sqlite};

use super::permissions::unreadable;
use super::report::Finding;
use crate::config::Serve;
use crate::database::check_not_lost;

const CHECK: &str = "database";
/// A large database is not read to its end here.
const LOOK_MAX: Duration = Duration::from_secs(20);
/// The oldest version of PostgreSQL that is supported.
const POSTGRES_VERSION_MIN: i64 = 150_000;
/// Clocks that differ by more than this, in milliseconds, are not kept by the same time servers.
const CLOCK_MS_MAX: i64 = 2_000;

pub(super) async fn check(serve: &Serve) -> Vec<Finding> {
    match serve.store.url() {
        Some(url) => match rowmill_store_postgres::examine(url.expose(), &SystemClock).await {
            Ok(found) => of_postgres(&found, serve.store.database_connections.into()),
            Err(error) => {
                vec![failed(&error, "Check ROWMILL_DATABASE_URL, that the server runs, and its pg_hba.conf.")]
            }
        },
        None => of_sqlite(serve).await,
    }
}

async fn of_sqlite(serve: &Serve) -> Vec<Finding> {
    let data_dir = serve.store.data_dir.clone();
    if let Some(refused) = unreadable(CHECK, &data_dir) {
        return vec![refused];
    }
    if let Err(error) = check_not_lost(&data_dir) {
        return vec![Finding::problem(
            CHECK,
            format!("{error}."),
            "Restore a backup, or choose another folder.",
        )];
    }
    if let Some(refused) = unreadable(CHECK, &data_dir.join(DATABASE_FILE)) {
        return vec![refused];
    }
    if std::fs::metadata(data_dir.join(DATABASE_FILE)).map_or(0, |file| file.len()) == 0 {
        return vec![Finding::ok(CHECK, "There is none yet; the first start makes it.")];
    }
    let is_served = rowmill_store_sqlite::is_served(&data_dir);
    let looking = tokio::task::spawn_blocking(move || rowmill_store_sqlite::examine(&data_dir, LOOK_MAX));
    let Sqlite { needs_migration, has_checksums, findings } = match looking.await {
        Ok(Ok(found)) => found,
        Ok(Err(error)) => {
            return vec![failed(&error, "Run `rowmill check`, and restore a backup if it is damaged.")];
        }
        Err(_) => return vec![Finding::problem(CHECK, "The look at it broke off.", "Run `rowmill check`.")],
    };
    let mut told = Vec::new();
    match findings {
        Some(found) if !found.is_empty() => told.push(Finding::problem(
            CHECK,
            format!("It is damaged: {}.", found.join("; ")),
            "Stop the server and restore a backup (`rowmill restore`); `rowmill check` tells all that is wrong.",
        )),
        Some(_) => {}
        None => told.push(Finding::ok(CHECK, "It is too large to be read quickly; `rowmill check` reads all of it.")),
    }
    if needs_migration {
        told.push(Finding::warning(
            CHECK,
            "It is of an older version of Rowmill, and the next start migrates it.",
            "Make a backup with the old version before (`rowmill backup`).",
        ));
    }
    if !has_checksums {
        told.push(Finding::warning(
            CHECK,
            "It was made by version 0.1.0 and has no checksums, so damage is not noticed.",
            "Move it to a new folder (`rowmill move`), which adds them.",
        ));
    }
    let state = if is_served { "a server uses it" } else { "no server uses it" };
    told.push(Finding::ok(CHECK, format!("SQLite, opens; {state}.")));
    told
}

fn of_postgres(found: &Postgres, wanted: u64) -> Vec<Finding> {
    let mut told = vec![Finding::ok(
        CHECK,
        format!(
            "{}: version {}, data checksums {}.",
            found.place,
            found.version,
            if found.has_checksums { "on" } else { "off" }
        ),
    )];
    if found.version_number < POSTGRES_VERSION_MIN {
        told.push(Finding::problem(CHECK, "Rowmill needs PostgreSQL 15 or later.", "Upgrade the server."));
    }
    if found.is_read_only {
        told.push(Finding::problem(
            CHECK,
            "It takes no writes: it is a standby, or set to be read-only.",
            "Name the primary in ROWMILL_DATABASE_URL; several hosts can be separated by commas.",
        ));
    }
    told.push(match found.schema {
        Schema::None => Finding::ok(CHECK, "There is no schema `rowmill` yet; the first start makes it."),
        Schema::Current => Finding::ok(CHECK, "The schema is of this version."),
        Schema::Older => Finding::warning(
            CHECK,
            "The schema is of an older version of Rowmill, and the next start migrates it.",
            "Make a backup before, and see docs/upgrading.md for whether old nodes may go on.",
        ),
    });
    told.push(connections(found, wanted + 1));
    let ahead_ms = found.clock_ahead_ms;
    if ahead_ms.abs() > CLOCK_MS_MAX + found.clock_unsure_ms {
        told.push(Finding::warning(
            "clock",
            clock_words(ahead_ms),
            "Keep both by time servers (NTP). Rowmill uses the database's clock meanwhile.",
        ));
    }
    told
}

fn clock_words(ahead_ms: i64) -> String {
    let side = if ahead_ms < 0 { "behind" } else { "ahead of" };
    format!("The database's clock is {} ms {side} this machine's.", ahead_ms.unsigned_abs())
}

/// `wanted` is what one process opens.
fn connections(found: &Postgres, wanted: u64) -> Finding {
    let (most, used) = (found.connections_max, found.connections_used);
    let told =
        format!("{used} of {most} connections are used; each process of Rowmill opens up to {wanted}.");
    if wanted > most {
        Finding::problem(CHECK, told, "Lower --database-connections, or raise max_connections of the server.")
    } else if used + wanted > most {
        let action =
            "Raise max_connections of the server, or lower --database-connections, before you add a process.";
        Finding::warning(CHECK, told, action)
    } else {
        Finding::ok(CHECK, told)
    }
}

fn failed(error: &StoreError, action: &str) -> Finding {
    // Some say themselves what to do.
    let is_told = matches!(error, StoreError::InUse(_) | StoreError::Newer { .. } | StoreError::Unfinished);
    let action = if is_told { "Do what it says." } else { action };
    Finding::problem(CHECK, format!("It cannot be used: {error}."), action)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_is_ahead_or_behind() {
        assert_eq!(clock_words(3_000), "The database's clock is 3000 ms ahead of this machine's.");
        assert_eq!(clock_words(-3_000), "The database's clock is 3000 ms behind this machine's.");
        assert!(!clock_words(i64::MIN).contains('-'));
    }

    #[test]
    fn connections_are_compared_with_those_of_one_process() {
        let check = |most: u64, used: u64, word: &str| {
            let found = Postgres {
                place: String::new(),
                version: String::new(),
                version_number: 150_000,
                connections_max: most,
                connections_used: used,
                is_read_only: false,
                has_checksums: true,
                clock_ahead_ms: 0,
                clock_unsure_ms: 0,
                schema: Schema::Current,
            };
            let told = serde_json::to_value(connections(&found, 17)).unwrap();
            assert_eq!(told["status"], word, "{told}");
        };
        check(97, 10, "ok");
        check(97, 85, "warning");
        check(16, 0, "problem");
    }
}

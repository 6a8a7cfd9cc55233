//! The copy of a database that is kept before a newer version migrates it, so that one can go back.

use std::fs;
use std::path::{Path, PathBuf};

use rowmill_store::{Result, StoreError};
use rusqlite::Connection;

use crate::backup::copy;
use crate::convert::unusable;
use crate::schema;

/// What is done with a database that is about to be migrated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BeforeMigration {
    /// It is copied beside the database.
    Copy,
    Nothing,
}

/// Copies are of as many versions at most; older ones are removed.
const COPIES_MAX: usize = 2;
/// `rowmill-schema-4.db` has schema version 4.
const PREFIX: &str = "rowmill-schema-";
const SUFFIX: &str = ".db";
const UNFINISHED: &str = "rowmill-schema.unfinished";

/// Copies a database that has an older schema. One that is new, or of this version, is left alone.
pub(crate) fn keep_copy(connection: &Connection, data_dir: &Path) -> Result<()> {
    let Some(version) = schema::outdated(connection)? else { return Ok(()) };
    let path = data_dir.join(format!("{PREFIX}{version}{SUFFIX}"));
    tracing::info!(path = %path.display(), "the database is copied before it is migrated");
    let unfinished = data_dir.join(UNFINISHED);
    let made = remove_if_there(&unfinished).and_then(|()| copy(data_dir, &unfinished)).and_then(|()| {
        fs::rename(&unfinished, &path)
            .and_then(|()| fs::File::open(data_dir)?.sync_all())
            .map_err(|error| unusable(&path, &error))
    });
    if let Err(error) = made {
        let _ = remove_if_there(&unfinished);
        return Err(not_copied(&path, error));
    }
    remove_old(data_dir);
    Ok(())
}

fn not_copied(path: &Path, error: StoreError) -> StoreError {
    match error {
        // What it says is the matter with the database, and not with the copy.
        error @ (StoreError::Damaged(_) | StoreError::Unfinished) => error,
        other => StoreError::InUse(format!(
            "the database was not migrated, because it cannot be copied to {} first: {other}. Make room, or back it up \
             elsewhere and start once with --upgrade-copy=false",
            path.display()
        )),
    }
}

fn remove_if_there(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(unusable(path, &error)),
        Ok(()) | Err(_) => Ok(()),
    }
}

fn remove_old(data_dir: &Path) {
    for path in copies(data_dir).into_iter().skip(COPIES_MAX) {
        if let Err(error) = fs::remove_file(&path) {
            tracing::warn!(path = %path.display(), %error, "an old copy of the database cannot be removed");
        }
    }
}

/// The newest first.
fn copies(data_dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(data_dir).into_iter().flatten().flatten();
    let mut found: Vec<(u32, PathBuf)> = entries
        .filter_map(|entry| {
            let name = entry.file_name();
            let version = name.to_str()?.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)?.parse().ok()?;
            Some((version, entry.path()))
        })
        .collect();
    found.sort_by(|left, right| right.cmp(left));
    found.into_iter().map(|(_, path)| path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Access, SqliteStore};

    /// A database of this version that says it is older: the copy is made, though the migration must then fail.
    fn age(data_dir: &Path, version: u32) {
        let connection = Connection::open(data_dir.join("rowmill.db")).unwrap();
        connection.pragma_update(None, "user_version", version).unwrap();
    }

    fn names(data_dir: &Path) -> Vec<String> {
        copies(data_dir).iter().map(|path| path.file_name().unwrap().to_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn the_newest_two_are_kept_and_say_their_version() {
        let folder = tempfile::tempdir().unwrap();
        let data_dir = folder.path();
        drop(SqliteStore::open(data_dir, Access::Serve).unwrap());
        drop(SqliteStore::open(data_dir, Access::Serve).unwrap());
        assert_eq!(names(data_dir), [""; 0], "a new database, and one of this version");
        fs::write(data_dir.join("rowmill-schema-old.db"), "another file").unwrap();
        for version in [9, 10, 11, 10] {
            age(data_dir, version);
            assert!(SqliteStore::open(data_dir, Access::Serve).is_err(), "it has these tables already");
        }
        assert_eq!(names(data_dir), ["rowmill-schema-11.db", "rowmill-schema-10.db"]);
        let copy = Connection::open(data_dir.join("rowmill-schema-11.db")).unwrap();
        assert_eq!(copy.pragma_query_value(None, "user_version", |row| row.get::<_, u32>(0)).unwrap(), 11);
        assert!(data_dir.join("rowmill-schema-old.db").exists() && !data_dir.join(UNFINISHED).exists());
    }

    #[test]
    fn without_room_for_a_copy_nothing_is_migrated() {
        let folder = tempfile::tempdir().unwrap();
        let data_dir = folder.path();
        drop(SqliteStore::open(data_dir, Access::Serve).unwrap());
        age(data_dir, 9);
        // A folder in its place cannot be replaced by a file.
        fs::create_dir_all(data_dir.join("rowmill-schema-9.db/full")).unwrap();
        let refused = SqliteStore::open(data_dir, Access::Serve).unwrap_err().to_string();
        assert!(refused.contains("--upgrade-copy=false"), "{refused}");
        assert!(!data_dir.join(UNFINISHED).exists());
        let told = SqliteStore::open_with(data_dir, Access::Serve, BeforeMigration::Nothing);
        assert!(!told.unwrap_err().to_string().contains("--upgrade-copy"), "it was not copied");
    }
}

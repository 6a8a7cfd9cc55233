//! Backups as files: their names, how one is made so that it is there whole or not at all, and which are removed.
//!
//! A backup in a folder is a folder itself, named by its time, with `rowmill.db` and `secret.key` in it. It is made in a
//! hidden folder beside its place, and renamed when it is whole.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use rowmill_store_sqlite::{BackupContent, DATABASE_FILE, back_up};

use crate::secret_key;

type AnyResult<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

const PREFIX: &str = "rowmill-";
const TIME_FORM: &str = "%Y%m%dT%H%M%SZ";
/// Ends the name of what is not whole yet, or not any more.
const UNFINISHED: &str = ".unfinished";
/// Held by whoever makes the backup, so that what a crash left is told apart.
const LOCK_FILE: &str = "lock";

/// What to use instead where there is no database file.
pub(crate) const NOT_FOR_POSTGRES: &str = "Rowmill backs up SQLite only. For PostgreSQL use pg_dump, or a base backup \
     with WAL archiving, and keep the secret key: see docs/backup.md";

/// What is done about the secret key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyChoice {
    /// Put secret.key beside the backup, if there is one.
    Copy,
    /// It is a setting, and no file.
    InSettings,
    LeaveOut,
}

/// A backup that was made.
#[derive(Debug)]
pub(crate) struct Backup {
    pub(crate) path: PathBuf,
    pub(crate) content: BackupContent,
    /// Where the secret key is, if it was copied.
    pub(crate) key: Option<PathBuf>,
}

/// Makes a backup of a data folder: as a file, or in a folder if that is what the path names.
pub(crate) fn make(data_dir: &Path, to: &Path, key: KeyChoice, now: Timestamp) -> AnyResult<Backup> {
    let place = Place::of(to, now)?;
    if key == KeyChoice::Copy {
        place.check_key(&data_dir.join(secret_key::FILE)).map_err(|error| unusable(&place.path, &error))?;
    }
    let work = WorkFolder::make(&place)?;
    let copy = work.path.join("copy");
    let content = back_up(data_dir, &copy)?;
    let key = if key == KeyChoice::Copy { copy_key(data_dir, &work.path)? } else { None };
    let key = place.take(&work, &copy, key.as_deref()).map_err(|error| unusable(&place.path, &error))?;
    Ok(Backup { path: place.path, content, key })
}

/// The database file that a path to a backup means.
pub(crate) fn database_of(backup: &Path) -> AnyResult<PathBuf> {
    let shown = backup.display();
    let name = backup.file_name().unwrap_or_default().to_string_lossy();
    if name.ends_with(UNFINISHED) || backup.parent().is_some_and(is_unfinished) {
        return Err(format!("{shown} is a backup that was not finished").into());
    }
    let file = if backup.is_dir() { backup.join(DATABASE_FILE) } else { backup.to_owned() };
    if !file.is_file() {
        let newest = names(backup).pop();
        return Err(match newest {
            Some(newest) => {
                format!("{shown} holds backups. Name one of them; the newest is {}", newest.display())
            }
            None if backup.exists() => format!("{shown} is not a backup: it has no {DATABASE_FILE}"),
            None => format!("{shown} does not exist"),
        }
        .into());
    }
    let log = PathBuf::from(format!("{}-wal", file.display()));
    if fs::metadata(&log).is_ok_and(|log| log.len() > 0) {
        return Err(format!(
            "{} belongs to {} and holds its last writes, so this is a data folder and not a backup. Use it as it is, with \
             --data-dir, or make a backup of it",
            log.display(),
            file.display()
        )
        .into());
    }
    Ok(file)
}

/// When the newest backup in a folder was made.
pub(crate) fn newest_at(folder: &Path) -> Option<Timestamp> {
    names(folder).pop().and_then(|path| time_of(&path))
}

/// Removes all but the newest backups in a folder, and what crashes left there.
pub(crate) fn remove_old(folder: &Path, keep: usize) -> std::io::Result<usize> {
    let mut found = names(folder);
    let old = found.len().saturating_sub(keep);
    let mut removed = 0;
    for path in found.drain(..old) {
        if !holds_only_a_backup(&path) {
            tracing::warn!(path = %path.display(), "there are other files in this backup, so it was not removed");
            continue;
        }
        // Whoever is interrupted leaves nothing that looks like a backup.
        let hidden = hidden(&path);
        fs::rename(&path, &hidden)?;
        fs::remove_dir_all(&hidden)?;
        removed += 1;
    }
    remove_unfinished(folder)?;
    Ok(removed)
}

/// Where a backup will be.
struct Place {
    path: PathBuf,
    parent: PathBuf,
    is_folder: bool,
}

impl Place {
    fn of(to: &Path, now: Timestamp) -> AnyResult<Self> {
        let ends_with_slash = to.as_os_str().to_string_lossy().ends_with(std::path::MAIN_SEPARATOR);
        if to.is_dir() || ends_with_slash {
            make_private(to).map_err(|error| unusable(to, &error))?;
            let name = format!("{PREFIX}{}", now.strftime(TIME_FORM));
            let numbered = (2..1_000).map(|number| format!("{name}-{number}"));
            let mut free = std::iter::once(name.clone()).chain(numbered).map(|name| to.join(name));
            let path = free.find(|path| !path.exists() && !hidden(path).exists());
            let path = path.ok_or_else(|| format!("{} has too many backups of this second", to.display()))?;
            return Ok(Self { path, parent: to.to_owned(), is_folder: true });
        }
        if to.exists() {
            return Err(format!("{} exists already: choose another name, or a folder", to.display()).into());
        }
        let parent = match to.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        if !parent.is_dir() {
            return Err(format!("the folder {} does not exist", parent.display()).into());
        }
        Ok(Self { path: to.to_owned(), parent: parent.to_owned(), is_folder: false })
    }

    /// Refuses to write a key over another one.
    fn check_key(&self, key: &Path) -> AnyResult<()> {
        let there = self.parent.join(secret_key::FILE);
        if self.is_folder || !key.exists() || !there.exists() || fs::read(&there)? == fs::read(key)? {
            return Ok(());
        }
        let name = secret_key::FILE;
        Err(format!("there is another {name} beside it: choose another folder, or use --without-secret-key")
            .into())
    }

    /// Puts what was made in its place; says where the key is.
    fn take(&self, work: &WorkFolder, copy: &Path, key: Option<&Path>) -> AnyResult<Option<PathBuf>> {
        if self.is_folder {
            fs::rename(copy, work.path.join(DATABASE_FILE))?;
            fs::remove_file(work.path.join(LOCK_FILE))?;
            sync(&work.path)?;
            fs::rename(&work.path, &self.path)?;
            sync(&self.parent)?;
            return Ok(key.map(|_| self.path.join(secret_key::FILE)));
        }
        let key_place = self.parent.join(secret_key::FILE);
        if let Some(key) = key {
            self.check_key(key)?;
            fs::rename(key, &key_place)?;
        }
        // Unlike a rename, it never takes the place of a file.
        fs::hard_link(copy, &self.path).or_else(|_| {
            if self.path.exists() {
                Err(std::io::Error::from(std::io::ErrorKind::AlreadyExists))
            } else {
                fs::rename(copy, &self.path)
            }
        })?;
        sync(&self.parent)?;
        Ok(key.map(|_| key_place))
    }
}

/// A hidden folder in which a backup is made. It is removed with all that is still in it.
struct WorkFolder {
    path: PathBuf,
    _lock: File,
}

impl WorkFolder {
    fn make(place: &Place) -> AnyResult<Self> {
        let path = hidden(&place.path);
        let made = || -> std::io::Result<File> {
            if place.is_folder {
                remove_unfinished(&place.parent)?;
            } else {
                remove_if_left(&path)?;
            }
            let mut builder = fs::DirBuilder::new();
            #[cfg(unix)]
            std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
            builder.create(&path)?;
            let lock = File::create(path.join(LOCK_FILE))?;
            lock.lock()?;
            Ok(lock)
        };
        match made() {
            Ok(lock) => Ok(Self { path, _lock: lock }),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                Err(format!("another backup to {} is being made", place.path.display()).into())
            }
            Err(error) => Err(unusable(&path, &error)),
        }
    }
}

impl Drop for WorkFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Removes what crashes left in a folder.
fn remove_unfinished(folder: &Path) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with(&format!(".{PREFIX}")) && name.ends_with(UNFINISHED) {
            remove_if_left(&path)?;
        }
    }
    Ok(())
}

/// Removes a work folder unless somebody works in it.
fn remove_if_left(path: &Path) -> std::io::Result<()> {
    if !path.is_dir() {
        return Ok(());
    }
    let is_in_use = match File::open(path.join(LOCK_FILE)) {
        Ok(lock) => matches!(lock.try_lock(), Err(fs::TryLockError::WouldBlock)),
        Err(_) => false,
    };
    if is_in_use { Ok(()) } else { fs::remove_dir_all(path) }
}

fn copy_key(data_dir: &Path, work: &Path) -> AnyResult<Option<PathBuf>> {
    let from = data_dir.join(secret_key::FILE);
    let key = match fs::read(&from) {
        Ok(key) => key,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unusable(&from, &error)),
    };
    let to = work.join(secret_key::FILE);
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&to)?;
    file.write_all(&key)?;
    file.sync_all()?;
    Ok(Some(to))
}

/// The backups in a folder, oldest first.
fn names(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok).map(|entry| entry.path());
    let mut found: Vec<PathBuf> = entries.filter(|path| path.is_dir() && time_of(path).is_some()).collect();
    found.sort_unstable();
    found
}

/// The time that a backup's name says.
fn time_of(path: &Path) -> Option<Timestamp> {
    let name = path.file_name()?.to_str()?.strip_prefix(PREFIX)?;
    let (time, number) = name.split_once('-').unwrap_or((name, "0"));
    number.parse::<u32>().ok()?;
    DateTime::strptime(TIME_FORM, time).ok()?.to_zoned(TimeZone::UTC).ok().map(|time| time.timestamp())
}

fn holds_only_a_backup(path: &Path) -> bool {
    let is_ours = |name: &std::ffi::OsStr| name == DATABASE_FILE || name == secret_key::FILE;
    fs::read_dir(path)
        .is_ok_and(|mut entries| entries.all(|entry| entry.is_ok_and(|entry| is_ours(&entry.file_name()))))
}

/// Where a backup is made that will be there.
fn hidden(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}{UNFINISHED}"))
}

fn is_unfinished(folder: &Path) -> bool {
    folder.file_name().is_some_and(|name| name.to_string_lossy().ends_with(UNFINISHED))
}

fn make_private(folder: &Path) -> std::io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

fn sync(folder: &Path) -> std::io::Result<()> {
    File::open(folder)?.sync_all()
}

fn unusable(path: &Path, error: &dyn std::fmt::Display) -> Box<dyn std::error::Error + Send + Sync> {
    format!("cannot use {}: {error}", path.display()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_when_a_backup_was_made() {
        let time: Timestamp = "2026-11-16T21:25:26Z".parse().unwrap();
        let check = |name: &str, expected: Option<Timestamp>| {
            assert_eq!(time_of(Path::new(name)), expected, "{name}");
        };
        check("/x/rowmill-20261116T212526Z", Some(time));
        check("rowmill-20261116T212526Z-2", Some(time));
        for other in
            ["rowmill-data", "rowmill-replaced-20261116T212526Z", ".rowmill-20261116T212526Z.unfinished", "x"]
        {
            check(other, None);
        }
    }

    #[test]
    fn the_oldest_are_removed_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let make = |name: &str, file: &str| {
            fs::create_dir(folder.path().join(name)).unwrap();
            fs::write(folder.path().join(name).join(file), "x").unwrap();
        };
        for hour in 10..15 {
            make(&format!("rowmill-20261116T{hour}0000Z"), DATABASE_FILE);
        }
        make("rowmill-20261116T090000Z", "notes.txt");
        make(".rowmill-20261116T080000Z.unfinished", "copy");
        make("photos", "x");
        assert_eq!(remove_old(folder.path(), 2).unwrap(), 3);
        let mut left: Vec<_> = fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort();
        let expected =
            ["photos", "rowmill-20261116T090000Z", "rowmill-20261116T130000Z", "rowmill-20261116T140000Z"];
        assert_eq!(left, expected);
        assert_eq!(newest_at(folder.path()), Some("2026-11-16T14:00:00Z".parse().unwrap()));
    }

    #[test]
    fn what_is_no_backup_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let check = |path: &Path, words: &str| {
            let told = database_of(path).unwrap_err().to_string();
            assert!(told.contains(words), "{told}");
        };
        check(&folder.path().join("nothing"), "does not exist");
        check(folder.path(), "no rowmill.db");
        let one = folder.path().join("rowmill-20261116T212526Z");
        fs::create_dir(&one).unwrap();
        check(folder.path(), "newest is");
        fs::write(one.join(DATABASE_FILE), "x").unwrap();
        assert_eq!(database_of(&one).unwrap(), one.join(DATABASE_FILE));
        assert_eq!(database_of(&one.join(DATABASE_FILE)).unwrap(), one.join(DATABASE_FILE));
        fs::write(one.join("rowmill.db-wal"), "x").unwrap();
        check(&one, "data folder");
        let half = folder.path().join(".rowmill-20261116T212527Z.unfinished");
        fs::create_dir(&half).unwrap();
        fs::write(half.join(DATABASE_FILE), "x").unwrap();
        check(&half, "not finished");
        check(&half.join(DATABASE_FILE), "not finished");
    }
}

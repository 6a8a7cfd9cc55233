//! Putting a database into a data folder (`rowmill restore`): copied, then checked by the caller, then swapped in.
//!
//! The copy is made under a name that nobody looks at. From the moment it has the name [`RESTORED_FILE`] until it is the
//! database, nobody opens the folder: after a crash in between the same restore must be run again.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use rowmill_store::{Result, StoreError};

use crate::convert::unusable;
use crate::data_dir::{DATABASE_FILE, RESTORED_FILE, make_private, take_lock};

/// Added to the name of a file that is still being copied.
const COPYING: &str = ".restoring";

/// A data folder that a backup is put into. Nobody can serve it meanwhile.
#[derive(Debug)]
pub struct Restore {
    data_dir: PathBuf,
    _lock: File,
}

impl Restore {
    /// Takes the folder, and makes it if need be. One with data in it is refused, unless that is to be replaced.
    pub fn begin(data_dir: &Path, replaces: bool) -> Result<Self> {
        make_private(data_dir).map_err(|error| unusable(data_dir, &error))?;
        let lock = take_lock(data_dir)?;
        let restore = Self { data_dir: data_dir.to_owned(), _lock: lock };
        if !replaces && restore.has_data() {
            return Err(StoreError::InUse(format!(
                "there is a database in {}: choose another --data-dir, or use --replace, which keeps the old one aside",
                data_dir.display()
            )));
        }
        Ok(restore)
    }

    fn has_data(&self) -> bool {
        let has_bytes = |name: &str| fs::metadata(self.path(name)).is_ok_and(|file| file.len() > 0);
        has_bytes(DATABASE_FILE) || has_bytes(&log_name()) || self.path(RESTORED_FILE).exists()
    }

    /// Copies the database of a backup; says where the copy is.
    pub fn copy_database(&self, from: &Path) -> Result<PathBuf> {
        self.copy(from, DATABASE_FILE)
    }

    /// Copies a file that belongs to the database, and is to have this name beside it.
    pub fn copy(&self, from: &Path, name: &str) -> Result<PathBuf> {
        let to = self.path(&format!("{name}{COPYING}"));
        copy_whole(from, &to)?;
        Ok(to)
    }

    /// Removes what was copied.
    pub fn abandon(self, names: &[&str]) {
        for name in names.iter().chain(&[DATABASE_FILE]) {
            let _ = fs::remove_file(self.path(&format!("{name}{COPYING}")));
        }
    }

    /// Puts what was copied in its place. What was there is kept in a folder of this name, which is given back if there
    /// was anything.
    pub fn finish(self, names: &[&str], aside: &str) -> Result<Option<PathBuf>> {
        let swap = || -> std::io::Result<Option<PathBuf>> {
            let aside = self.keep_aside(names, aside)?;
            fs::rename(self.path(&format!("{DATABASE_FILE}{COPYING}")), self.path(RESTORED_FILE))?;
            self.sync()?;
            for name in [log_name(), format!("{DATABASE_FILE}-shm")] {
                remove_if_there(&self.path(&name))?;
            }
            for name in names {
                let copied = self.path(&format!("{name}{COPYING}"));
                if copied.exists() {
                    fs::rename(copied, self.path(name))?;
                }
            }
            self.sync()?;
            fs::rename(self.path(RESTORED_FILE), self.path(DATABASE_FILE))?;
            self.sync()?;
            Ok(aside)
        };
        swap().map_err(|error| unusable(&self.data_dir, &error))
    }

    /// Keeps the old files under a second name, so that there is no moment at which they are not whole.
    fn keep_aside(&self, names: &[&str], aside: &str) -> std::io::Result<Option<PathBuf>> {
        let is_replaced = |name: &&&str| self.path(&format!("{name}{COPYING}")).exists();
        let replaced = names.iter().filter(is_replaced).map(|name| (*name).to_owned());
        let old: Vec<String> = [DATABASE_FILE.to_owned(), log_name()]
            .into_iter()
            .chain(replaced)
            .filter(|name| self.path(name).exists())
            .collect();
        if old.is_empty() {
            return Ok(None);
        }
        let folder = self.path(aside);
        make_folder(&folder)?;
        for name in old {
            let (from, to) = (self.path(&name), folder.join(&name));
            // Where the file system has no second names, it is copied.
            if fs::hard_link(&from, &to).is_err() {
                fs::copy(&from, &to)?;
                File::open(&to)?.sync_all()?;
            }
        }
        File::open(&folder)?.sync_all()?;
        self.sync()?;
        Ok(Some(folder))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.data_dir.join(name)
    }

    fn sync(&self) -> std::io::Result<()> {
        File::open(&self.data_dir)?.sync_all()
    }
}

fn log_name() -> String {
    format!("{DATABASE_FILE}-wal")
}

fn copy_whole(from: &Path, to: &Path) -> Result<()> {
    let mut source = File::open(from).map_err(|error| unusable(from, &error))?;
    let mut copy = || -> std::io::Result<()> {
        remove_if_there(to)?;
        let mut options = File::options();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut target = options.open(to)?;
        std::io::copy(&mut source, &mut target)?;
        target.sync_all()
    };
    copy().map_err(|error| unusable(to, &error))
}

fn make_folder(path: &Path) -> std::io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

fn remove_if_there(path: &Path) -> std::io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

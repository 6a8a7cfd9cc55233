//! The folders of profiles: made for one page each, and removed also if this process dies before it can do so.
//!
//! All profiles of a process are in one folder with a lock that dies with the process. A later start removes the folders
//! whose lock is free.

use std::fs::{self, DirEntry, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use tempfile::TempDir;

const PREFIX: &str = "rowmill-browser-";
const LOCK: &str = "lock";

/// Makes profiles below one folder of the system.
#[derive(Debug)]
pub(super) struct Profiles {
    folder: PathBuf,
    /// Made with the first profile.
    home: Mutex<Option<Arc<Home>>>,
}

/// A folder for the profiles of this process.
#[derive(Debug)]
struct Home {
    folder: TempDir,
    _lock: File,
}

/// The folder of one browser.
#[derive(Debug)]
pub(super) struct Profile {
    folder: TempDir,
    /// Stays as long as a profile is in it.
    _home: Arc<Home>,
}

impl Profiles {
    pub(super) fn below(folder: PathBuf) -> Self {
        Self { folder, home: Mutex::new(None) }
    }

    /// An empty folder.
    pub(super) fn make(&self) -> io::Result<Profile> {
        let mut home = self.home.lock();
        if let Some(home) = home.as_ref()
            && let Ok(profile) = Profile::below(home)
        {
            return Ok(profile);
        }
        // The first one, or somebody tidied up.
        let made = Arc::new(Home::below(&self.folder)?);
        let profile = Profile::below(&made)?;
        *home = Some(made);
        Ok(profile)
    }

    /// Removes what processes left that were killed. What cannot be removed now is left to the next start.
    pub(super) fn remove_leftovers(folder: &Path) -> io::Result<()> {
        for entry in fs::read_dir(folder)?.flatten() {
            if entry.file_name().to_string_lossy().starts_with(PREFIX) && is_own(&entry) {
                _ = remove_if_left(&entry.path());
            }
        }
        Ok(())
    }
}

impl Home {
    /// The lock is taken before it has its name, so whoever finds it free knows that its owner is gone.
    fn below(folder: &Path) -> io::Result<Self> {
        let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(folder)?;
        let unnamed = folder.path().join("new");
        let lock = File::create_new(&unnamed)?;
        lock.try_lock()?;
        fs::rename(unnamed, folder.path().join(LOCK))?;
        Ok(Self { folder, _lock: lock })
    }
}

impl Profile {
    fn below(home: &Arc<Home>) -> io::Result<Self> {
        let folder = tempfile::Builder::new().prefix("").tempdir_in(home.folder.path())?;
        Ok(Self { folder, _home: Arc::clone(home) })
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Tries to remove the folder and says whether it is gone.
    pub(super) fn remove(&self) -> bool {
        fs::remove_dir_all(self.path()).is_ok()
    }
}

/// Whether this is a folder, and this user's: others may write into the system's folder, too.
fn is_own(entry: &DirEntry) -> bool {
    let Ok(found) = entry.metadata() else { return false };
    #[cfg(target_os = "linux")]
    {
        use std::os::unix::fs::MetadataExt as _;
        found.is_dir() && found.uid() == rustix::process::geteuid().as_raw()
    }
    #[cfg(not(target_os = "linux"))]
    found.is_dir()
}

/// Removes a folder whose owner is gone. Its lock goes last, so that what remains is found again.
fn remove_if_left(home: &Path) -> io::Result<()> {
    let lock = File::open(home.join(LOCK))?;
    lock.try_lock()?;
    for entry in fs::read_dir(home)? {
        let entry = entry?;
        if entry.file_name() != LOCK {
            let path = entry.path();
            if entry.file_type()?.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }?;
        }
    }
    fs::remove_dir_all(home)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_nobody_owns_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let (living, dead) = (Profiles::below(folder.path().into()), Home::below(folder.path()).unwrap());
        let profile = living.make().unwrap();
        let Home { folder: left, _lock: lock } = dead;
        let left = left.keep();
        fs::create_dir_all(left.join("x/Default")).unwrap();
        fs::write(left.join("x/Default/Cookies"), "a").unwrap();
        // Still being made, somebody else's, and no folder.
        let begun = folder.path().join("rowmill-browser-begun");
        fs::create_dir(&begun).unwrap();
        let other = folder.path().join("other");
        fs::create_dir(&other).unwrap();
        fs::write(other.join(LOCK), "").unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink(&other, folder.path().join("rowmill-browser-link")).unwrap();

        Profiles::remove_leftovers(folder.path()).unwrap();
        assert!(left.exists(), "its owner lives");
        drop(lock);
        Profiles::remove_leftovers(folder.path()).unwrap();
        assert!(!left.exists());
        assert!(profile.path().exists() && begun.exists() && other.join(LOCK).exists());
    }

    #[test]
    fn nothing_is_left_in_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let profiles = Profiles::below(folder.path().into());
        let (first, second) = (profiles.make().unwrap(), profiles.make().unwrap());
        assert_eq!(first.path().parent(), second.path().parent());
        assert!(first.remove() && !first.path().exists());
        let home = second.path().parent().unwrap().to_owned();
        drop(profiles);
        assert!(second.path().exists());
        drop((first, second));
        assert!(!home.exists());
    }

    #[test]
    fn a_folder_that_somebody_tidied_away_is_made_again() {
        let folder = tempfile::tempdir().unwrap();
        let profiles = Profiles::below(folder.path().into());
        let first = profiles.make().unwrap();
        fs::remove_dir_all(first.path().parent().unwrap()).unwrap();
        assert!(profiles.make().unwrap().path().exists());
    }
}

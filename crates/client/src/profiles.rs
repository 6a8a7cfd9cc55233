//! The saved servers with their API keys: one file in the user's configuration folder, readable by its owner only.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::failure::{Failure, Kind};

/// A file of this size is not ours.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// The name of the profile that `rowmill login` writes unless it is given another.
pub(crate) const DEFAULT: &str = "default";

#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Profiles {
    /// The profile that commands use unless they name another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) current: Option<String>,
    #[serde(default)]
    pub(crate) profiles: BTreeMap<String, Profile>,
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Profile {
    pub(crate) url: String,
    pub(crate) api_key: String,
    /// The slug of the key's team, for people.
    pub(crate) team: String,
}

impl Profiles {
    /// What is saved; nothing if there is no file.
    pub(crate) fn load() -> Result<Self, Failure> {
        Self::load_from(&path()?)
    }

    pub(crate) fn save(&self) -> Result<PathBuf, Failure> {
        let path = path()?;
        self.save_to(&path)?;
        Ok(path)
    }

    fn load_from(path: &Path) -> Result<Self, Failure> {
        let told =
            |why: &dyn std::fmt::Display| Failure::failed(format!("cannot read {}: {why}", path.display()));
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(told(&error)),
        };
        warn_if_open(&file, path);
        let mut text = String::new();
        file.take(FILE_BYTES_MAX).read_to_string(&mut text).map_err(|error| told(&error))?;
        // The message alone: the line may hold a key.
        toml::from_str(&text).map_err(|error| told(&error.message()))
    }

    /// Writes the file for its owner alone. After a crash at any point it is there whole, as it was or as it is now.
    fn save_to(&self, path: &Path) -> Result<(), Failure> {
        let text = toml::to_string(self)
            .map_err(|error| Failure::failed(format!("cannot write {}: {error}", path.display())))?;
        write_privately(path, &text)
            .map_err(|error| Failure::failed(format!("cannot write {}: {error}", path.display())))
    }

    /// A profile by name.
    pub(crate) fn named(&self, name: &str) -> Result<&Profile, Failure> {
        self.profiles.get(name).ok_or_else(|| {
            let names: Vec<&str> = self.profiles.keys().map(String::as_str).collect();
            let known = if names.is_empty() { "none is saved".to_owned() } else { names.join(", ") };
            let words = format!(
                "there is no profile {name:?} ({known}). `rowmill login URL --profile NAME` saves one"
            );
            Failure::new(Kind::NotSignedIn, words)
        })
    }
}

fn write_privately(path: &Path, text: &str) -> std::io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    create_private_folder(folder)?;
    let unfinished = path.with_extension(format!("{}.unfinished", std::process::id()));
    match fs::remove_file(&unfinished) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&unfinished)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&unfinished, path)
}

fn create_private_folder(folder: &Path) -> std::io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

fn warn_if_open(file: &File, path: &Path) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let is_open = file.metadata().is_ok_and(|about| about.permissions().mode() & 0o077 != 0);
        if is_open {
            notice!("rowmill: {0} can be read by others. Run: chmod 600 {0}", path.display());
        }
    }
    #[cfg(not(unix))]
    let _ = (file, path);
}

fn path() -> Result<PathBuf, Failure> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let folder = variable("XDG_CONFIG_HOME")
        .filter(|folder| folder.is_absolute())
        .or_else(|| variable("APPDATA").filter(|_| cfg!(windows)))
        .or_else(|| std::env::home_dir().filter(|home| !home.as_os_str().is_empty()).map(|home| home.join(".config")))
        .ok_or_else(|| {
            Failure::failed(
                "there is no home folder to keep the API key in: set HOME or XDG_CONFIG_HOME, or use ROWMILL_URL and \
                 ROWMILL_API_KEY",
            )
        })?;
    Ok(folder.join("rowmill").join("credentials.toml"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_saved_is_read_again_and_private() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b/credentials.toml");
        assert!(Profiles::load_from(&path).unwrap().profiles.is_empty());
        let profile = Profile { url: "http://x".into(), api_key: "rm_\"1".into(), team: "t".into() };
        let mut saved = Profiles { current: Some("w".into()), ..Profiles::default() };
        saved.profiles.insert("my server".into(), profile);
        saved.save_to(&path).unwrap();
        saved.save_to(&path).unwrap();
        let read = Profiles::load_from(&path).unwrap();
        assert_eq!(read.current.as_deref(), Some("w"));
        assert_eq!(read.named("my server").unwrap().api_key, "rm_\"1");
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
    }

    #[test]
    fn a_damaged_file_is_told_without_its_keys() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("credentials.toml");
        fs::write(&path, "[profiles.x]\napi_key = \"canary").unwrap();
        let failure = Profiles::load_from(&path).err().unwrap();
        let words = failure.words(false).unwrap();
        assert!(words.contains("credentials.toml") && !words.contains("canary"), "{words}");
    }
}

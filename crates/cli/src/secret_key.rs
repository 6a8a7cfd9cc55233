//! The key that seals credentials and team secrets: the operator's, or one made on the first start.

use std::fs::{self, File};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use rowmill_app::{App, Vault};
use rowmill_model::Secret;

use crate::secret_setting::SecretSetting;

/// Its place in the data folder.
pub(crate) const FILE: &str = "secret.key";

type AnyResult<T> = Result<T, Box<dyn std::error::Error>>;

/// A vault, and the file of its key if that was made just now.
#[derive(Debug)]
pub(crate) struct OpenedVault {
    pub(crate) vault: Vault,
    pub(crate) made: Option<PathBuf>,
}

/// Goes on with this server's key only if it is the one that others on this database have, or `adopt` says that
/// it is from now on.
pub(crate) async fn check(app: &App, made: Option<PathBuf>, data_dir: &Path, adopt: bool) -> AnyResult<()> {
    if adopt {
        return Ok(app.adopt_key().await?);
    }
    if app.has_vault_key().await? {
        return Ok(());
    }
    if let Some(made) = made {
        // It opens nothing, and would only be taken for the one that does.
        let _ = fs::remove_file(made);
    }
    Err(format!(
        "the secret key does not match this database. Set the same ROWMILL_SECRET_KEY on all nodes, or \
         copy secret.key from a working node or a backup to {}. If the key is lost, start once with \
         --adopt-secret-key; credentials and secrets must then be set again",
        data_dir.join(FILE).display()
    )
    .into())
}

/// The vault, with the key from the settings, or else from the data folder. Call it only while holding that
/// folder's lock: of two processes that find no key, only one may make it.
pub(crate) fn vault(data_dir: &Path, setting: Option<SecretSetting>) -> AnyResult<OpenedVault> {
    let least = Vault::KEY_CHARS_MIN;
    let set = setting.filter(|SecretSetting(text)| !text.expose().trim().is_empty());
    if let Some(SecretSetting(text)) = set {
        let vault = Vault::new(&text).ok_or_else(|| {
            format!(
                "ROWMILL_SECRET_KEY (--secret-key) is too short: it needs at least {least} characters. \
             `openssl rand -hex 32` generates one"
            )
        })?;
        return Ok(OpenedVault { vault, made: None });
    }
    let path = data_dir.join(FILE);
    let told = |error: std::io::Error| format!("cannot use {}: {error}", path.display());
    let (text, made) = match fs::read_to_string(&path) {
        Ok(text) => {
            warn_if_open(&path);
            (Secret::new(text), None)
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let text = Vault::new_key()?;
            make(data_dir, &path, &text).map_err(told)?;
            (text, Some(path.clone()))
        }
        Err(error) => return Err(told(error).into()),
    };
    let vault = Vault::new(&text).ok_or_else(|| {
        format!(
            "{} is damaged: it needs at least {least} characters. Restore it from a backup. If you cannot, \
         delete it, start with --adopt-secret-key and set all credentials again",
            path.display()
        )
    })?;
    Ok(OpenedVault { vault, made })
}

/// Writes the file, for its owner alone. After a crash at any point it is there whole, or not at all.
fn make(data_dir: &Path, path: &Path, text: &Secret) -> std::io::Result<()> {
    let unfinished: PathBuf = path.with_extension("key.unfinished");
    match fs::remove_file(&unfinished) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&unfinished)?;
    writeln!(file, "{}", text.expose())?;
    file.sync_all()?;
    fs::rename(&unfinished, path)?;
    File::open(data_dir)?.sync_all()
}

fn warn_if_open(path: &Path) {
    #[cfg(unix)]
    if let Ok(data) = fs::metadata(path)
        && std::os::unix::fs::PermissionsExt::mode(&data.permissions()) & 0o077 != 0
    {
        tracing::warn!(path = %path.display(), "the secret key file is readable by other users; run chmod 600 on it");
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn setting(text: &str) -> SecretSetting {
        SecretSetting::from(text.to_owned())
    }

    #[test]
    fn a_key_is_made_once_for_its_owner_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(FILE);
        fs::write(path.with_extension("key.unfinished"), "left by a crash").unwrap();
        vault(dir.path(), Some(setting("  "))).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(text.trim().len(), 64);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        vault(dir.path(), None).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_is_wrong_is_told_without_the_key() {
        let dir = tempfile::tempdir().unwrap();
        let check = |setting: Option<SecretSetting>, words: &str| {
            let fault = vault(dir.path(), setting).unwrap_err().to_string();
            assert!(fault.contains(words) && !fault.contains("canary"), "{fault}");
        };
        check(Some(setting("canary")), "ROWMILL_SECRET_KEY");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0, "a key that is set makes no file");
        fs::write(dir.path().join(FILE), "canary").unwrap();
        check(None, "secret.key");
        vault(dir.path(), Some(setting(&"k".repeat(32)))).unwrap();
    }
}

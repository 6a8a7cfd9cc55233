//! `rowmill backup`: the embedded database as a file, while the server runs or not.

use std::error::Error;
use std::path::{Path, PathBuf};

use clap::Args;
use indicatif::{HumanBytes, HumanCount};
use rowmill_client::notice;
use rowmill_clock::{Clock as _, SystemClock};

use crate::backup_folder::{self, Backup, KeyChoice, NOT_FOR_POSTGRES};
use crate::commands::print;
use crate::config::StoreArgs;
use crate::secret_setting::SecretSetting;

#[derive(Debug, Args)]
pub(crate) struct BackupArgs {
    /// The file to make, or a folder: in a folder, the backup gets a folder of its own, named by its time.
    #[arg(value_name = "FILE|FOLDER")]
    to: PathBuf,
    /// Do not put secret.key beside the backup. Without the key, the credentials and secrets in the backup are lost.
    #[arg(long)]
    without_secret_key: bool,
    #[command(flatten)]
    store: StoreArgs,
    /// As for `serve`: if it is set, there is no secret.key to copy.
    #[arg(long, env = "ROWMILL_SECRET_KEY", hide_env_values = true, hide_default_value = true)]
    secret_key: Option<SecretSetting>,
}

pub(crate) async fn run(args: BackupArgs) -> Result<(), Box<dyn Error>> {
    let BackupArgs { to, without_secret_key, store, secret_key } = args;
    if store.url().is_some() {
        return Err(NOT_FOR_POSTGRES.into());
    }
    let key = if without_secret_key { KeyChoice::LeaveOut } else { key_choice(secret_key.as_ref()) };
    let started = SystemClock.monotonic();
    let data_dir = store.data_dir;
    let backup = {
        let data_dir = data_dir.clone();
        tokio::task::spawn_blocking(move || backup_folder::make(&data_dir, &to, key, SystemClock.now()))
            .await?
    }
    .map_err(|error| -> Box<dyn Error> { error })?;
    let content = &backup.content;
    notice!(
        "Backed up and verified: {} projects, {} rows, {}, in {:.1} s.",
        HumanCount(content.projects),
        HumanCount(content.rows),
        HumanBytes(content.bytes),
        started.elapsed().as_secs_f64()
    );
    if !content.adds_up {
        notice!("The counters do not match the rows, in the database as in the backup. Run `rowmill check`.");
    }
    notice!("{}", told_of_key(&backup, key, &data_dir));
    print(&backup.path.display().to_string())
}

/// Where the key is kept.
pub(crate) fn key_choice(setting: Option<&SecretSetting>) -> KeyChoice {
    let is_set = setting.is_some_and(|SecretSetting(text)| !text.expose().trim().is_empty());
    if is_set { KeyChoice::InSettings } else { KeyChoice::Copy }
}

fn told_of_key(backup: &Backup, choice: KeyChoice, data_dir: &Path) -> String {
    match (&backup.key, choice) {
        (Some(key), _) => format!(
            "The secret key is in {}. Whoever has both can read the credentials: keep them safe.",
            key.display()
        ),
        (None, KeyChoice::InSettings) => {
            "The secret key is in ROWMILL_SECRET_KEY, and not in the backup: keep it, or the credentials and secrets are \
             lost."
                .to_owned()
        }
        (None, KeyChoice::LeaveOut) => {
            "The secret key is not in the backup: keep it, or the credentials and secrets are lost.".to_owned()
        }
        (None, KeyChoice::Copy) => format!(
            "There is no secret.key in {}, so there is none in the backup. If the server gets it from ROWMILL_SECRET_KEY, \
             keep that, or the credentials and secrets are lost.",
            data_dir.display()
        ),
    }
}

//! `rowmill restore`: a backup becomes the database of a data folder.

use std::error::Error;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use indicatif::HumanCount;
use rowmill_client::notice;
use rowmill_clock::{Clock as _, SystemClock};
use rowmill_store::StoreError;
use rowmill_store::check::Report;
use rowmill_store_sqlite::{BackupContent, DATABASE_FILE, Inspector, Restore, verify};

use crate::backup_folder::database_of;
use crate::check;
use crate::commands::unless_closed;
use crate::config::StoreArgs;
use crate::secret_key;

/// How many problems of a backup are told.
const PROBLEMS_TOLD: usize = 5;

#[derive(Debug, Args)]
pub(crate) struct RestoreArgs {
    /// The backup: a file, or the folder that `rowmill backup` made.
    #[arg(value_name = "BACKUP")]
    from: PathBuf,
    /// Replace the data in the data folder. It is kept in a folder beside the new one.
    #[arg(long)]
    replace: bool,
    /// Restore although the check finds problems in the backup, such as wrong counts. Damaged pages are never accepted.
    #[arg(long)]
    accept_problems: bool,
    #[command(flatten)]
    store: StoreArgs,
}

pub(crate) async fn run(args: RestoreArgs) -> Result<(), Box<dyn Error>> {
    let RestoreArgs { from, replace, accept_problems, store } = args;
    if store.url().is_some() {
        return Err("Rowmill restores SQLite only. For PostgreSQL use pg_restore or your base backup: see docs/backup.md. \
                    To restore into a data folder, unset ROWMILL_DATABASE_URL"
            .into());
    }
    let database = database_of(&from).map_err(|error| -> Box<dyn Error> { error })?;
    let data_dir = store.data_dir;
    let own = data_dir.join(DATABASE_FILE).canonicalize();
    if own.is_ok_and(|own| database.canonicalize().is_ok_and(|database| database == own)) {
        return Err(format!("{} is the database of the data folder itself", database.display()).into());
    }
    let restore = Restore::begin(&data_dir, replace)?;
    let content = match copied(&restore, &database, &data_dir, replace, accept_problems).await {
        Ok(content) => content,
        Err(error) => {
            restore.abandon(&[secret_key::FILE]);
            return Err(error);
        }
    };
    let aside = format!("rowmill-replaced-{}", SystemClock.now().strftime("%Y%m%dT%H%M%SZ"));
    let old = restore.finish(&[secret_key::FILE], &aside)?;
    unless_closed(say(&content, &database, &data_dir, old.as_deref()))?;
    Ok(())
}

/// Copies everything into the folder and verifies the copy. Nothing that was there has changed when it returns.
async fn copied(
    restore: &Restore,
    database: &Path,
    data_dir: &Path,
    replaces: bool,
    accepts_problems: bool,
) -> Result<BackupContent, Box<dyn Error>> {
    copy_key(restore, database, data_dir, replaces)?;
    let copy = restore.copy_database(database)?;
    let told = |error: StoreError| match error {
        StoreError::Damaged(words) => {
            format!("the backup {} is damaged and was not restored: {words}", database.display())
        }
        other => format!("the backup {} was not restored: {other}", database.display()),
    };
    let verified = {
        let copy = copy.clone();
        tokio::task::spawn_blocking(move || verify(&copy)).await?
    };
    let content = verified.map_err(told)?;
    if !content.is_current {
        notice!("The backup is of an older version. The server migrates it when it starts.");
        return Ok(content);
    }
    let report = rowmill_store::check::check(&Inspector::of_backup(&copy).map_err(told)?, &|_| {}).await?;
    if !report.ok && !accepts_problems {
        return Err(format!(
            "the backup {} was not restored: {}. To restore it all the same, use --accept-problems",
            database.display(),
            problems(&report)
        )
        .into());
    }
    Ok(content)
}

fn problems(report: &Report) -> String {
    let told: Vec<&str> =
        report.problems.iter().take(PROBLEMS_TOLD).map(|problem| problem.message.as_str()).collect();
    format!("the check found {} ({})", check::problems(report.problem_count), told.join("; "))
}

/// Copies the backup's secret key, unless the folder has the same already.
fn copy_key(
    restore: &Restore,
    database: &Path,
    data_dir: &Path,
    replaces: bool,
) -> Result<(), Box<dyn Error>> {
    let (from, here) = (database.with_file_name(secret_key::FILE), data_dir.join(secret_key::FILE));
    if !from.is_file() {
        return Ok(());
    }
    let is_same = here.is_file() && std::fs::read(&here)? == std::fs::read(&from)?;
    if is_same {
        return Ok(());
    }
    if here.exists() && !replaces {
        return Err(format!(
            "{} is another secret key than the backup's. Move it away, or use --replace, which keeps it aside",
            here.display()
        )
        .into());
    }
    restore.copy(&from, secret_key::FILE)?;
    Ok(())
}

fn say(content: &BackupContent, database: &Path, data_dir: &Path, old: Option<&Path>) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "Restored and verified: {} is now in {} ({} projects, {} rows).",
        database.display(),
        data_dir.display(),
        HumanCount(content.projects),
        HumanCount(content.rows)
    )?;
    if let Some(old) = old {
        writeln!(out, "What was there before is in {}. Remove it when you do not need it.", old.display())?;
    }
    if !data_dir.join(secret_key::FILE).exists() {
        writeln!(
            out,
            "There is no secret.key in the backup: set the same ROWMILL_SECRET_KEY as before, or copy secret.key to {}.",
            data_dir.display()
        )?;
    }
    out.flush()
}

//! `rowmill check`: whether everything that is stored can be read, and adds up.

use std::error::Error;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use indicatif::HumanCount;
use parking_lot::Mutex;
use rowmill_client::notice;
use rowmill_clock::{Clock as _, SystemClock};
use rowmill_store::StoreError;
use rowmill_store::check::{Problem, ProblemKind, Report};
use rowmill_store::inspect::Inspect;
use rowmill_store_sqlite::{DATABASE_FILE, accept_checksums, page_findings};

use crate::backup_folder::database_of;
use crate::commands::unless_closed;
use crate::config::StoreArgs;

/// A line is written this often, so that nobody thinks that it hangs.
const LINE_EVERY: Duration = Duration::from_secs(5);

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// Check this backup (a file or folder) instead of the database.
    #[arg(value_name = "BACKUP")]
    backup: Option<PathBuf>,
    /// Print the report as JSON.
    #[arg(long)]
    json: bool,
    /// Make the checksums of all pages anew before checking, after another program (such as sqlite3) wrote to the database.
    /// Stop the server first. Pages that were damaged otherwise are then not noticed any more.
    #[arg(long)]
    accept_checksums: bool,
    #[command(flatten)]
    store: StoreArgs,
}

pub(crate) async fn run(args: CheckArgs) -> Result<(), Box<dyn Error>> {
    let CheckArgs { backup, json, accept_checksums: accepts, store } = args;
    if accepts {
        accept(&store, backup.is_some()).await?;
    }
    let (is_backup, place) = (backup.is_some(), Checked::of(&store, backup.as_deref()));
    let report = match open(&store, backup).await {
        Ok(inspector) => checked(&*inspector).await?,
        // It is what was asked for: what is the matter with the database.
        Err(error) => match error.downcast_ref::<StoreError>() {
            Some(StoreError::Damaged(words)) => unreadable(&place, words),
            _ => return Err(error),
        },
    };
    if json {
        crate::commands::print(&serde_json::to_string_pretty(&report)?)?;
    } else {
        unless_closed(print(&report, is_backup))?;
    }
    if report.ok { Ok(()) } else { Err(format!("the check found {}", problems(report.problem_count)).into()) }
}

/// `1 problem`, `2 problems`.
pub(crate) fn problems(count: u64) -> String {
    format!("{} problem{}", HumanCount(count), if count == 1 { "" } else { "s" })
}

async fn accept(store: &StoreArgs, is_backup: bool) -> Result<(), Box<dyn Error>> {
    if store.url().is_some() || is_backup {
        return Err("--accept-checksums is for the SQLite database of a data folder".into());
    }
    let data_dir = store.data_dir.clone();
    let pages = tokio::task::spawn_blocking(move || accept_checksums(&data_dir)).await??;
    notice!("Made the checksums of {} pages anew.", HumanCount(pages));
    Ok(())
}

async fn open(store: &StoreArgs, backup: Option<PathBuf>) -> Result<Box<dyn Inspect>, Box<dyn Error>> {
    if let Some(backup) = backup {
        let file = database_of(&backup).map_err(|error| -> Box<dyn Error> { error })?;
        return Ok(Box::new(rowmill_store_sqlite::Inspector::of_backup(&file)?));
    }
    Ok(match store.url() {
        Some(url) => Box::new(rowmill_store_postgres::Inspector::connect(url.expose()).await?),
        None => Box::new(rowmill_store_sqlite::Inspector::of_data_dir(&store.data_dir)?),
    })
}

async fn checked(inspector: &dyn Inspect) -> Result<Report, StoreError> {
    let said = Mutex::new(SystemClock.monotonic());
    let tell = |rows| {
        let mut said = said.lock();
        if said.elapsed() >= LINE_EVERY {
            notice!("Checking: {} rows", HumanCount(rows));
            *said = SystemClock.monotonic();
        }
    };
    rowmill_store::check::check(inspector, &tell).await
}

/// What is checked, for when it cannot be opened.
struct Checked {
    place: String,
    /// The database file; none on PostgreSQL.
    file: Option<PathBuf>,
}

impl Checked {
    fn of(store: &StoreArgs, backup: Option<&Path>) -> Self {
        match backup {
            Some(backup) => Self { place: backup.display().to_string(), file: database_of(backup).ok() },
            None => Self {
                place: store.place(),
                file: store.url().is_none().then(|| store.data_dir.join(DATABASE_FILE)),
            },
        }
    }
}

/// The report on a database that cannot even be opened.
fn unreadable(checked: &Checked, words: &str) -> Report {
    let mut messages = vec![format!("the database cannot be opened: {words}")];
    if let Some(file) = &checked.file {
        messages.extend(page_findings(file).unwrap_or_default());
    }
    let problem = |message| Problem { kind: ProblemKind::Damaged, project: None, message };
    let problems: Vec<Problem> = messages.into_iter().map(problem).collect();
    let place = checked.place.clone();
    Report { place, problem_count: problems.len() as u64, problems, ..Report::default() }
}

fn print(report: &Report, is_backup: bool) -> std::io::Result<()> {
    let Report { ok, place, teams, keys, projects, rows, cells, problem_count, problems, notes } = report;
    let mut out = std::io::stdout().lock();
    writeln!(out, "Checked {place}")?;
    writeln!(
        out,
        "  teams: {teams}, API keys: {keys}, projects: {projects}, rows: {}, cells with a value: {}",
        HumanCount(*rows),
        HumanCount(*cells)
    )?;
    for note in notes {
        writeln!(out, "Note: {note}.")?;
    }
    if *ok {
        writeln!(
            out,
            "No problems: every row can be read, the counts are right, and the indexes are complete."
        )?;
        return out.flush();
    }
    writeln!(out, "Problems: {}", HumanCount(*problem_count))?;
    for Problem { kind, project, message } in problems {
        let project = project.map(|id| format!("project {id}: ")).unwrap_or_default();
        writeln!(out, "  [{}] {project}{message}", kind.word())?;
    }
    if *problem_count > problems.len() as u64 {
        writeln!(out, "  … and more")?;
    }
    let advice = if is_backup {
        "Do not restore this backup: use another one, and make a new one (`rowmill backup`). See docs/backup.md."
    } else {
        "Restore a backup (`rowmill restore`), or ask for help with this report: see docs/backup.md."
    };
    writeln!(out, "{advice}")?;
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_problem_is_not_many() {
        assert_eq!(problems(1), "1 problem");
        assert_eq!(problems(2_000), "2,000 problems");
    }
}

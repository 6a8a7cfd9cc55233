//! `rowmill move`: everything from one database to another.

use std::error::Error;
use std::io::{IsTerminal as _, Write as _};
use std::path::Path;
use std::time::{Duration, Instant};

use clap::Args;
use indicatif::{HumanBytes, HumanCount, ProgressBar, ProgressState, ProgressStyle};
use parking_lot::Mutex;
use rowmill_client::notice;
use rowmill_clock::{Clock as _, SystemClock};
use rowmill_moving::{Cells, Moved, Options, Phase, Progress};
use rowmill_store::carry::Carry;

use crate::commands::unless_closed;
use crate::secret_setting::SecretSetting;

/// Where there is no terminal, a line is written this often.
const LINE_EVERY: Duration = Duration::from_secs(5);

#[derive(Debug, Args)]
pub(crate) struct MoveArgs {
    /// Source: `sqlite:FOLDER` for a data folder, or `postgres://user:password@host/database`. Prefer the
    /// variable for a URL with a password: other processes can read command lines.
    #[arg(
        id = "move_from",
        long = "from",
        value_name = "ADDRESS",
        env = "ROWMILL_MOVE_FROM",
        hide_env_values = true
    )]
    pub(crate) from: SecretSetting,
    /// Target, in the same form. It must be empty, or contain the unfinished copy of this same move.
    #[arg(
        id = "move_to",
        long = "to",
        value_name = "ADDRESS",
        env = "ROWMILL_MOVE_TO",
        hide_env_values = true
    )]
    pub(crate) to: SecretSetting,
    /// Maximum rows per transaction.
    #[arg(id = "move_batch_rows", long = "batch-rows", env = "ROWMILL_MOVE_BATCH_ROWS", default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) batch_rows: u32,
}

pub(crate) async fn run(args: MoveArgs) -> Result<(), Box<dyn Error>> {
    let MoveArgs { from: SecretSetting(from), to: SecretSetting(to), batch_rows } = args;
    let (from, to) =
        (DatabaseLocation::parse("--from", from.expose())?, DatabaseLocation::parse("--to", to.expose())?);
    if from.is(&to) {
        return Err("--from and --to are the same database; choose another target".into());
    }
    let source = from.source().await?;
    let target = to.target().await?;
    let started = SystemClock.monotonic();
    let teller = ProgressPrinter::new();
    let tell = |progress| teller.tell(progress);
    let moved = rowmill_moving::carry(&*source, &*target, Options { batch_rows }, &tell).await;
    teller.end();
    unless_closed(say(&moved?, started.elapsed(), source.place(), target.place()))?;
    Ok(())
}

/// A database as it is named on the command line.
#[derive(Debug, PartialEq, Eq)]
enum DatabaseLocation<'a> {
    Folder(&'a Path),
    Postgres(&'a str),
}

impl<'a> DatabaseLocation<'a> {
    /// What is wrong is said without the address: it may hold a password.
    fn parse(flag: &str, text: &'a str) -> Result<Self, String> {
        if ["postgres://", "postgresql://"].iter().any(|scheme| text.starts_with(scheme)) {
            return Ok(Self::Postgres(text));
        }
        let folder = text.strip_prefix("sqlite:").map(|rest| rest.strip_prefix("//").unwrap_or(rest));
        match folder.map(Path::new) {
            Some(folder) if folder.is_file() => {
                Err(format!("{flag} is a file; give the data folder that contains it"))
            }
            Some(folder) if !folder.as_os_str().is_empty() => Ok(Self::Folder(folder)),
            _ => Err(format!("{flag} must be sqlite:FOLDER or postgres://user:password@host/database")),
        }
    }

    /// Whether both are spelled alike or name one folder; databases are compared when they are open.
    fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Folder(one), Self::Folder(other)) => {
                one == other
                    || one.canonicalize().ok().is_some_and(|one| other.canonicalize().ok() == Some(one))
            }
            _ => self == other,
        }
    }

    async fn source(&self) -> Result<Box<dyn Carry>, Box<dyn Error>> {
        Ok(match self {
            Self::Folder(folder) => Box::new(rowmill_store_sqlite::Carrier::source(folder)?),
            Self::Postgres(url) => Box::new(rowmill_store_postgres::Carrier::source(url).await?),
        })
    }

    async fn target(&self) -> Result<Box<dyn Carry>, Box<dyn Error>> {
        Ok(match self {
            Self::Folder(folder) => Box::new(rowmill_store_sqlite::Carrier::target(folder)?),
            Self::Postgres(url) => Box::new(rowmill_store_postgres::Carrier::target(url).await?),
        })
    }
}

/// Shows how far it has come: a bar on a terminal, lines elsewhere.
struct ProgressPrinter {
    bar: Option<ProgressBar>,
    said: Mutex<Option<(Phase, Instant)>>,
}

impl ProgressPrinter {
    fn new() -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let form = "{msg:9} [{wide_bar}] {human_pos}/{human_len} rows, {rate} rows/s, {eta}";
            let style = ProgressStyle::with_template(form).unwrap_or_else(|_| ProgressStyle::default_bar());
            let rate = |state: &ProgressState, out: &mut dyn std::fmt::Write| {
                let _ = write!(out, "{:.0}", state.per_sec());
            };
            ProgressBar::new(0).with_style(style.progress_chars("=> ").with_key("rate", rate))
        });
        Self { bar, said: Mutex::new(None) }
    }

    fn tell(&self, progress: Progress) {
        let Progress { phase, rows, rows_total } = progress;
        let mut said = self.said.lock();
        let is_new = said.is_none_or(|(last, _)| last != phase);
        let word = match phase {
            Phase::Copying => "Copying",
            Phase::Resuming => "Resuming",
            Phase::Verifying => "Verifying",
        };
        if let Some(bar) = &self.bar {
            if is_new {
                bar.reset();
                bar.set_length(rows_total);
                bar.set_message(word);
                *said = Some((phase, SystemClock.monotonic()));
            }
            bar.set_position(rows);
            if is_new {
                // What an earlier run did says nothing of how fast this one is.
                bar.reset_eta();
            }
        } else if is_new || said.is_none_or(|(_, at)| at.elapsed() >= LINE_EVERY) {
            notice!("{word}: {rows} of {rows_total} rows");
            *said = Some((phase, SystemClock.monotonic()));
        }
    }

    fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn say(moved: &Moved, took: Duration, source: &str, target: &str) -> std::io::Result<()> {
    let Moved { teams, keys, sealed, receipts, projects, rows, guests, cells, bytes, rows_now, .. } = moved;
    let Cells { idle, queued, completed, error, skipped } = cells;
    let seconds = took.as_secs_f64();
    #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
    let rate = *rows_now as f64 / seconds.max(0.001);
    let mut out = std::io::stdout().lock();
    writeln!(out, "Moved and verified: {source} is now in {target}.")?;
    writeln!(
        out,
        "  teams: {teams}, API keys: {keys}, credentials and secrets: {sealed}, saved responses: {receipts}"
    )?;
    writeln!(
        out,
        "  projects: {projects}, rows: {} ({}), guests: {guests}",
        HumanCount(*rows),
        HumanBytes(*bytes)
    )?;
    writeln!(
        out,
        "  cells: {completed} completed, {error} in error, {skipped} skipped, {queued} queued, {idle} idle"
    )?;
    writeln!(out, "  {seconds:.1} s, {rate:.0} rows per second, including verification")?;
    writeln!(out, "The source is unchanged. From now on, start Rowmill on the target only.")?;
    writeln!(
        out,
        "The secret key was not moved: set the same ROWMILL_SECRET_KEY for the target, or copy secret.key \
         from the old data folder into the new one."
    )?;
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_folders_or_addresses() {
        let parse = |text: &'static str| DatabaseLocation::parse("--to", text);
        assert_eq!(parse("sqlite:./data"), Ok(DatabaseLocation::Folder(Path::new("./data"))));
        assert_eq!(parse("sqlite:///srv/data"), Ok(DatabaseLocation::Folder(Path::new("/srv/data"))));
        assert_eq!(parse("postgres://h/d"), Ok(DatabaseLocation::Postgres("postgres://h/d")));
        for bad in ["", "sqlite:", "./data", "mysql://u:canary@h/d", "sqlite:Cargo.toml"] {
            let words = parse(bad).unwrap_err();
            assert!(words.contains("--to") && !words.contains("canary"), "{words}");
        }
    }
}

//! The settings of scheduled backups.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Backups")]
#[expect(clippy::struct_field_names, reason = "they are named as their flags are")]
pub(crate) struct ScheduleArgs {
    /// Back up the SQLite database this often: 30m, 6h or 1d; 0 for never.
    #[arg(long, env = "ROWMILL_BACKUP_EVERY", default_value = "0", value_parser = interval)]
    pub(crate) backup_every: Interval,
    /// How many backups to keep. Older ones are removed.
    #[arg(long, env = "ROWMILL_BACKUP_KEEP", default_value_t = 14, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) backup_keep: u32,
    /// The folder for backups. Default: `backups` in the data folder. Another disk is better.
    #[arg(long, env = "ROWMILL_BACKUP_DIR")]
    pub(crate) backup_dir: Option<PathBuf>,
    /// Do not put secret.key beside these backups.
    #[arg(long, env = "ROWMILL_BACKUP_WITHOUT_SECRET_KEY", default_value = "false", num_args = 0..=1, default_missing_value = "true", value_parser = clap::builder::BoolishValueParser::new())]
    pub(crate) backup_without_secret_key: bool,
}

/// How often something is done; `None` for never.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Interval(pub(crate) Option<Duration>);

fn interval(text: &str) -> Result<Interval, String> {
    let wrong = || format!("{text:?} is not an interval such as 30m, 6h or 1d");
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let number: u32 = digits.parse().map_err(|_| wrong())?;
    let seconds = match text.get(digits.len()..).unwrap_or_default() {
        _ if number == 0 => return Ok(Interval(None)),
        "s" => 1,
        "m" => 60,
        "h" => 60 * 60,
        "d" => 24 * 60 * 60,
        _ => return Err(wrong()),
    };
    Ok(Interval(Some(Duration::from_secs(u64::from(number) * seconds))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_have_a_unit() {
        let seconds = |text: &str| interval(text).map(|interval| interval.0.map(|every| every.as_secs()));
        assert_eq!(seconds("6h"), Ok(Some(21_600)));
        assert_eq!(seconds("30m"), Ok(Some(1_800)));
        assert_eq!(seconds("1d"), Ok(Some(86_400)));
        assert_eq!(seconds("2s"), Ok(Some(2)));
        assert_eq!((seconds("0"), seconds("0h")), (Ok(None), Ok(None)));
        for wrong in ["", "6", "h", "6 h", "-1h", "6w", "1.5h", "99999999999h"] {
            assert!(seconds(wrong).unwrap_err().contains("interval"), "{wrong}");
        }
    }
}

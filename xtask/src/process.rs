//! Other programs: where they run, how they fail, how long they may take.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

pub(crate) type Failure = Box<dyn std::error::Error>;
pub(crate) type AnyResult<T = ()> = Result<T, Failure>;

const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// The repository's root, wherever the command was called from.
pub(crate) fn root() -> PathBuf {
    // Cargo sets the variable at run time too; the build-time value would be another checkout's
    // where two of them share a target directory.
    let xtask = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    let xtask = PathBuf::from(xtask);
    xtask.parent().map_or_else(|| xtask.clone(), Path::to_path_buf)
}

/// A program that will run in the repository's root.
pub(crate) fn program(name: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(name);
    command.current_dir(root());
    command
}

pub(crate) fn cargo() -> Command {
    program(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Runs to the end with the terminal's own output; any status but 0 is a failure.
pub(crate) fn run(command: &mut Command) -> AnyResult {
    let status = command.status().map_err(|error| cannot_start(command, &error))?;
    if status.success() { Ok(()) } else { Err(format!("{}: {status}", shown(command)).into()) }
}

/// Runs to the end and returns standard output; standard error stays with the terminal.
pub(crate) fn output(command: &mut Command) -> AnyResult<String> {
    let output = command.stderr(Stdio::inherit()).output().map_err(|error| cannot_start(command, &error))?;
    if !output.status.success() {
        return Err(format!("{}: {}", shown(command), output.status).into());
    }
    String::from_utf8(output.stdout).map_err(|error| format!("{}: {error}", shown(command)).into())
}

/// Like [`run`], but ends the program when it takes longer than `limit`.
pub(crate) fn run_within(limit: Duration, command: &mut Command) -> AnyResult {
    let started = Instant::now();
    let mut child = command.spawn().map_err(|error| cannot_start(command, &error))?;
    loop {
        match child.try_wait()? {
            Some(status) if status.success() => return Ok(()),
            Some(status) => return Err(format!("{}: {status}", shown(command)).into()),
            None if started.elapsed() > limit => {
                child.kill()?;
                child.wait()?;
                return Err(format!("{}: not done after {} s", shown(command), limit.as_secs()).into());
            }
            None => std::thread::sleep(POLL_INTERVAL),
        }
    }
}

fn cannot_start(command: &Command, error: &std::io::Error) -> Failure {
    format!("cannot start {}: {error}", shown(command)).into()
}

fn shown(command: &Command) -> String {
    let mut line = command.get_program().to_string_lossy().into_owned();
    for argument in command.get_args() {
        let _ = write!(line, " {}", argument.to_string_lossy());
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failing_program_is_a_failure_that_names_it() {
        let failure = run(&mut program("false")).unwrap_err().to_string();
        assert!(failure.starts_with("false: "), "{failure}");
        assert!(run(&mut program("true")).is_ok());
        assert!(run(&mut program("no-such-program")).is_err());
    }

    #[test]
    fn a_program_that_takes_too_long_is_ended() {
        let failure = run_within(Duration::ZERO, program("sleep").arg("60")).unwrap_err().to_string();
        assert!(failure.contains("not done"), "{failure}");
    }
}

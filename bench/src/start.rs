//! Cold start to the first answer, and resident memory.

use crate::any_result::AnyResult;
use crate::effort::Effort;
use crate::report::{Goal, Report};
use crate::rowmill::{Memory, Project, Rowmill};

/// So many rounds, a second each, are more than the 10 seconds after which an idle server gives back what it does not need.
const IDLE_ROUNDS: u32 = 25;
const MEBI: f64 = 1024.0 * 1024.0;

/// Kills the service, as a crash would, and starts it on the same data; several times.
pub(crate) fn measure(
    rowmill: &mut Rowmill,
    project: &Project,
    effort: &Effort,
    report: &mut Report,
) -> AnyResult {
    let mut times = Vec::new();
    let (mut idle, mut own) = (Vec::new(), Vec::new());
    for _ in 0..effort.starts {
        times.push(rowmill.restart()?.as_secs_f64() * 1_000.0);
        rowmill.ask("GET", &format!("{}?pageSize=100", project.rows_path()), "")?;
        let memory = rowmill.memory()?;
        idle.push(mebibytes(memory.resident));
        own.push(mebibytes(memory.own));
    }
    report.single("start after a kill, to the first answer", &times, "ms", Some(Goal::AtMost(100.0)));
    report.single("resident memory, fresh, after one request", &idle, "MB", Some(Goal::AtMost(40.0)));
    report.single("of it, memory that is not a page of a file", &own, "MB", None);
    std::thread::sleep(effort.round_time * IDLE_ROUNDS);
    let memory = rowmill.memory()?;
    report.single(
        "resident memory, idle since",
        &[mebibytes(memory.resident)],
        "MB",
        Some(Goal::AtMost(35.0)),
    );
    Ok(())
}

pub(crate) fn report_memory(rows: usize, after_inserts: Memory, after_all: Memory, report: &mut Report) {
    let goal = (rows >= 1_000_000).then_some(Goal::AtMost(200.0));
    report.single("resident memory after the inserts", &[mebibytes(after_inserts.resident)], "MB", goal);
    report.single("resident memory after all of the above", &[mebibytes(after_all.resident)], "MB", goal);
    report.single("resident memory at its highest", &[mebibytes(after_all.resident_max)], "MB", None);
}

#[expect(clippy::cast_precision_loss, reason = "far less than 2^52 bytes")]
fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / MEBI
}

//! Children that read pages, so that no page can harm the service.
//!
//! Starting a process for each page would cost more than most pages do, so a child reads many before it is
//! replaced. A team has as many as the machine can run at once. There are more in all, so that a team need
//! not wait until another one's slow pages are read.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};
use rowmill_clock::{Clock as _, SystemClock};
use rowmill_fairness::{FairSemaphore, Tenant};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use super::child;
use super::frames::{self, Answer, Job, Page};
use super::usage;
use crate::failure::{Failure, FailureKind};

/// A child that had nothing to do for so long is not kept.
const IDLE_TIME_MAX: Duration = Duration::from_mins(1);
/// A longer page leaves its child too large to be kept.
const LIGHT_BYTES_MAX: usize = 2 * 1024 * 1024;
/// How often a child's processor time is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// Children of all teams for each processor, at most.
const CHILDREN_EACH_PROCESSOR: usize = 4;

/// How a child is started, and how long it may live.
#[derive(Debug, Clone)]
pub struct Program {
    /// A program that answers as [`super::child::run`] does, usually this one.
    pub path: PathBuf,
    pub args: Vec<OsString>,
    /// The processor time a child may take for one page. Where the system does not tell it, `page_wait_max` bounds
    /// it, too.
    pub page_time_max: Duration,
    /// How long a page is waited for, on however busy a machine.
    pub page_wait_max: Duration,
    /// After so many pages a child is replaced, and with it whatever memory it has gathered.
    pub pages_max: u32,
    /// Children of all teams.
    pub children_max: usize,
    /// Children of one team.
    pub team_children_max: usize,
}

impl Program {
    /// The running program with these arguments, and the usual limits.
    pub fn this(args: impl IntoIterator<Item = impl Into<OsString>>) -> io::Result<Self> {
        // On Linux the very file that runs, also after an update has put another one in its place.
        let running = PathBuf::from("/proc/self/exe");
        let path = if running.exists() { running } else { std::env::current_exe()? };
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Ok(Self {
            path,
            args: args.into_iter().map(Into::into).collect(),
            page_time_max: Duration::from_secs(20),
            page_wait_max: Duration::from_mins(3),
            pages_max: 200,
            children_max: children_max(processors, usage::memory_bytes()),
            team_children_max: processors,
        })
    }
}

/// Children of all teams: in half of the memory if each takes all it may, but one more than a team can have.
fn children_max(processors: usize, memory_bytes: Option<u64>) -> usize {
    let fitting = memory_bytes.map_or(0, |bytes| bytes / 2 / child::MEMORY_BYTES_MAX);
    let fitting = usize::try_from(fitting).unwrap_or(usize::MAX);
    fitting.min(CHILDREN_EACH_PROCESSOR * processors).max(processors + 1)
}

/// Reads pages in children. Dropping the future of a page kills the child that reads it.
#[derive(Debug)]
pub struct Extractor {
    program: Program,
    slots: Arc<FairSemaphore>,
    idle: Arc<Idle>,
}

/// Children that wait for work; the one that waited least is taken first.
#[derive(Debug, Default)]
struct Idle(Mutex<Vec<Worker>>);

impl Idle {
    fn lock(&self) -> MutexGuard<'_, Vec<Worker>> {
        self.0.lock()
    }
}

#[derive(Debug)]
struct Worker {
    child: Child,
    input: ChildStdin,
    output: ChildStdout,
    pages: u32,
    used_at: Instant,
}

impl Extractor {
    pub fn new(program: Program) -> Self {
        let slots = FairSemaphore::new(program.children_max, program.team_children_max);
        Self { program, slots, idle: Arc::default() }
    }

    pub(super) async fn read(&self, job: &Job, body: &[u8]) -> Result<Page, Failure> {
        let _slot = self.slots.acquire(Tenant::current()).await;
        let mut worker = self.worker().map_err(|error| {
            Failure::transient(format!(
                "The page could not be read: the extraction process failed to start ({error})."
            ))
        })?;
        match self.ask(&mut worker, job, body).await {
            Ok(Ok(answer)) => {
                if body.len() <= LIGHT_BYTES_MAX {
                    self.keep(worker);
                }
                answer.ok_or_else(broken)
            }
            Ok(Err(error)) => {
                worker.end().await;
                Err(if error.kind() == io::ErrorKind::FileTooLarge { too_large() } else { broken() })
            }
            Err(failure) => {
                worker.end().await;
                Err(failure)
            }
        }
    }

    /// Asks a child, and gives up on a page that takes too much of the processor or of everybody's time.
    async fn ask(&self, worker: &mut Worker, job: &Job, body: &[u8]) -> Result<io::Result<Answer>, Failure> {
        let Program { page_time_max, page_wait_max, .. } = self.program;
        let (begun, process) = (SystemClock.monotonic(), worker.child.id());
        let used = || process.and_then(usage::processor_time);
        let used_before = used();
        let mut asked = std::pin::pin!(frames::ask(&mut worker.input, &mut worker.output, job, body));
        loop {
            if let Ok(answer) = tokio::time::timeout(LOOK_EVERY.min(page_wait_max), &mut asked).await {
                return Ok(answer);
            }
            let took = used().zip(used_before).map(|(now, before)| now.saturating_sub(before));
            if took.is_some_and(|took| took >= page_time_max) {
                return Err(too_intricate(page_time_max));
            }
            if begun.elapsed() >= page_wait_max {
                return Err(late(page_wait_max));
            }
        }
    }

    /// A child that waits for work, or a new one.
    fn worker(&self) -> io::Result<Worker> {
        while let Some(mut worker) = self.idle.lock().pop() {
            // It may have been killed while nobody looked, for instance for want of memory.
            if matches!(worker.child.try_wait(), Ok(None)) {
                return Ok(worker);
            }
        }
        self.start()
    }

    fn keep(&self, mut worker: Worker) {
        worker.pages += 1;
        worker.used_at = SystemClock.monotonic();
        // One that has served is dropped, and so ends.
        if worker.pages >= self.program.pages_max {
            return;
        }
        self.idle.lock().push(worker);
        let idle = Arc::downgrade(&self.idle);
        tokio::spawn(async move {
            tokio::time::sleep(IDLE_TIME_MAX).await;
            if let Some(idle) = idle.upgrade() {
                idle.lock().retain(|worker| worker.used_at.elapsed() < IDLE_TIME_MAX);
            }
        });
    }

    fn start(&self) -> io::Result<Worker> {
        let mut command = Command::new(&self.program.path);
        command
            .args(&self.program.args)
            // Keys stand in the environment, and the child reads what strangers wrote.
            .env_clear()
            .current_dir(std::env::temp_dir())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true);
        // A terminal's Ctrl-C is for the service, which finishes what it has begun.
        #[cfg(unix)]
        command.process_group(0);
        let mut child = command.spawn()?;
        let streams = child.stdin.take().zip(child.stdout.take());
        let (input, output) = streams.ok_or_else(|| io::Error::from(io::ErrorKind::BrokenPipe))?;
        Ok(Worker { child, input, output, pages: 0, used_at: SystemClock.monotonic() })
    }
}

impl Worker {
    /// Kills the child and waits until it is gone.
    async fn end(mut self) {
        // It may be gone already.
        _ = self.child.kill().await;
    }
}

fn too_intricate(limit: Duration) -> Failure {
    let seconds = limit.as_secs();
    let words =
        format!("The page is too complex: extraction took more than {seconds} seconds of processor time.");
    Failure::new(FailureKind::TimedOut, words).with_transient(false)
}

/// The machine may have been busy with other things: another try may do better.
fn late(limit: Duration) -> Failure {
    let seconds = limit.as_secs();
    Failure::new(FailureKind::TimedOut, format!("The page was not read within {seconds} seconds."))
}

fn broken() -> Failure {
    Failure::new(FailureKind::InvalidOutput, "The page could not be read: its parser crashed.")
}

fn too_large() -> Failure {
    Failure::new(FailureKind::TooLarge, "The page's content exceeds the size limit.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_fit_into_half_of_the_memory() {
        const GB: u64 = 1024 * 1024 * 1024;
        for (processors, memory, expected) in [
            (2, Some(64 * GB), 8),
            (2, Some(24 * GB), 6),
            (2, Some(8 * GB), 3),
            (1, Some(GB / 2), 2),
            (64, Some(512 * GB), 128),
            (2, None, 3),
        ] {
            assert_eq!(children_max(processors, memory), expected, "{processors} {memory:?}");
        }
    }
}

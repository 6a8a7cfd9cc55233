//! Children that read pages, so that no page can harm the service.
//!
//! Starting a process for each page would cost more than most pages do, so a child reads many before it is
//! replaced. There are as many as the machine can run at once; whoever comes then waits.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::Semaphore;
use tokio::time::Instant;

use super::frames::{self, Job, Page};
use crate::outcome::{Failure, FailureKind};

/// A child that had nothing to do for so long is not kept.
const IDLE_TIME_MAX: Duration = Duration::from_mins(1);
/// A longer page leaves its child too large to be kept.
const LIGHT_BYTES_MAX: usize = 2 * 1024 * 1024;

/// How a child is started, and how long it may live.
#[derive(Debug, Clone)]
pub struct Program {
    /// A program that answers as [`super::child::run`] does, usually this one.
    pub path: PathBuf,
    pub args: Vec<OsString>,
    /// The longest a child may take for one page.
    pub page_time_max: Duration,
    /// After so many pages a child is replaced, and with it whatever memory it has gathered.
    pub pages_max: u32,
    pub children_max: usize,
}

impl Program {
    /// The running program with these arguments, and the usual limits.
    pub fn this(args: impl IntoIterator<Item = impl Into<OsString>>) -> io::Result<Self> {
        // On Linux the very file that runs, also after an update has put another one in its place.
        let running = PathBuf::from("/proc/self/exe");
        let path = if running.exists() { running } else { std::env::current_exe()? };
        Ok(Self {
            path,
            args: args.into_iter().map(Into::into).collect(),
            page_time_max: Duration::from_secs(20),
            pages_max: 200,
            children_max: std::thread::available_parallelism().map_or(1, usize::from),
        })
    }
}

/// Reads pages in children. Dropping the future of a page kills the child that reads it.
#[derive(Debug)]
pub struct Extractor {
    program: Program,
    slots: Semaphore,
    idle: Arc<Idle>,
}

/// Children that wait for work; the one that waited least is taken first.
#[derive(Debug, Default)]
struct Idle(Mutex<Vec<Worker>>);

impl Idle {
    fn lock(&self) -> MutexGuard<'_, Vec<Worker>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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
        let slots = Semaphore::new(program.children_max.max(1));
        Self { program, slots, idle: Arc::default() }
    }

    pub(super) async fn read(&self, job: &Job, body: &[u8]) -> Result<Page, Failure> {
        let _slot = self.slots.acquire().await.map_err(|_| Failure::transient("The service is stopping."))?;
        let mut worker = self.worker().map_err(|error| {
            Failure::transient(format!("The page could not be read: no process could be started ({error})."))
        })?;
        let asked = frames::ask(&mut worker.input, &mut worker.output, job, body);
        match tokio::time::timeout(self.program.page_time_max, asked).await {
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
            Err(_) => {
                worker.end().await;
                let seconds = self.program.page_time_max.as_secs();
                let words = format!("The page is too intricate: it could not be read in {seconds} seconds.");
                Err(Failure::new(FailureKind::TimedOut, words).passing(false))
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
        worker.used_at = Instant::now();
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
        Ok(Worker { child, input, output, pages: 0, used_at: Instant::now() })
    }
}

impl Worker {
    /// Kills the child and waits until it is gone.
    async fn end(mut self) {
        // It may be gone already.
        _ = self.child.kill().await;
    }
}

fn broken() -> Failure {
    Failure::new(FailureKind::InvalidOutput, "The page could not be read: it breaks every reader we have.")
}

fn too_large() -> Failure {
    Failure::new(FailureKind::TooLarge, "There is more on the page than can be kept.")
}

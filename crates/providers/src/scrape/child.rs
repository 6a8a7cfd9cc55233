//! The extracting child: reads jobs from its standard input until that ends, and answers each.
//!
//! A page that makes a parser run wild takes this process down and nothing else. The service gives it an
//! empty environment and kills it when it is late; it bounds its own memory, and ends by itself should
//! the service be gone.

use std::io::{self, Read, Write};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use super::frames::{self, Answer, Job};
use super::page;

/// The word the binary is started with to be a child.
pub const COMMAND: &str = "extract";

/// The service's patience is shorter: this one is for a child nobody waits for any more.
const PAGE_TIME_MAX: Duration = Duration::from_mins(5);
/// Enough for trees as deep as a tamed page can be, many times over.
const STACK_BYTES: usize = 64 * 1024 * 1024;
/// The largest pages there may be take some hundreds of megabytes.
pub(super) const MEMORY_BYTES_MAX: u64 = 2 * 1024 * 1024 * 1024;

/// Answers jobs until there are no more. This is all that `rowmill extract` does.
pub fn run(mut input: impl Read, mut output: impl Write) -> io::Result<()> {
    limit_memory()?;
    let (jobs, todo) = mpsc::channel::<(Job, Vec<u8>)>();
    let (done, answers) = mpsc::channel::<Answer>();
    let worker = move || {
        for (job, body) in todo {
            // A panic is a page's fault, not the child's; its words go nowhere, for they quote the page.
            let page = std::panic::catch_unwind(|| page::read(&job, &body)).ok();
            if done.send(page).is_err() {
                break;
            }
        }
    };
    std::thread::Builder::new().stack_size(STACK_BYTES).spawn(worker)?;
    while let Some(job) = frames::read_job(&mut input)? {
        jobs.send(job).map_err(io::Error::other)?;
        match answers.recv_timeout(PAGE_TIME_MAX) {
            Ok(answer) => frames::write_answer(&mut output, &answer)?,
            Err(RecvTimeoutError::Timeout) => return Err(io::ErrorKind::TimedOut.into()),
            Err(RecvTimeoutError::Disconnected) => return Err(io::ErrorKind::BrokenPipe.into()),
        }
    }
    Ok(())
}

#[cfg(target_os = "linux")]
fn limit_memory() -> io::Result<()> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = Rlimit { current: Some(MEMORY_BYTES_MAX), maximum: Some(MEMORY_BYTES_MAX) };
    let is_lower = |given: Option<u64>| given.is_some_and(|given| given <= MEMORY_BYTES_MAX);
    if !is_lower(getrlimit(Resource::As).maximum) {
        setrlimit(Resource::As, limit)?;
    }
    // A crash leaves no dump of the page behind.
    setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?;
    Ok(())
}

#[cfg(not(target_os = "linux"))]
#[expect(clippy::unnecessary_wraps, reason = "as on Linux")]
fn limit_memory() -> io::Result<()> {
    Ok(())
}

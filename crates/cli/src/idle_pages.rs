//! Gives back the pages of the program that an idle process does not need.
//!
//! A start and a first request run much code once: settings, migrations, the schemas that requests are checked against. The
//! kernel maps 64 KiB around every place that was run, and counts all of that as memory of the process. These are pages of a
//! file that nobody writes to: those that are needed again are mapped again, without a read from the disk.
#![expect(unsafe_code, reason = "unmapping pages is unsafe where it could lose what was written to them")]

use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use rustix::mm::{Advice, madvise};
use rustix::time::{ClockId, clock_gettime};

/// How often it is looked whether the process is idle.
const LOOK_EVERY: Duration = Duration::from_secs(10);
/// The processor time that an idle process takes at most between two looks.
const IDLE_TIME_MAX: Duration = Duration::from_millis(100);

/// Gives pages back now, and whenever the process is idle.
pub(crate) async fn keep_given_back() {
    let mut used = Duration::ZERO;
    loop {
        // With much memory in use, the kernel takes a while to say what is mapped.
        let _ = tokio::task::spawn_blocking(give_back).await;
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            let used_before = std::mem::replace(&mut used, processor_time());
            if used.saturating_sub(used_before) <= IDLE_TIME_MAX {
                break;
            }
        }
    }
}

fn processor_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ProcessCPUTime)).unwrap_or_default()
}

/// Does nothing where the system does not say what is mapped.
fn give_back() {
    let Ok(program) = std::env::current_exe() else { return };
    let mapped = std::fs::read_to_string("/proc/self/smaps").unwrap_or_default();
    for range in unwritten(&mapped, &program) {
        let start = std::ptr::with_exposed_provenance_mut(range.start);
        // SAFETY: the pages are of a file, mapped privately, and cannot be written to. None of them was written to before
        // either, by the dynamic loader, so each reads the same when it is mapped again.
        let given_back = unsafe { madvise(start, range.len(), Advice::LinuxDontNeed) };
        if let Err(error) = given_back {
            tracing::debug!(%error, "pages of the program were not given back");
        }
    }
}

/// Where a file is mapped such that nobody can write, and nobody has written, by what the kernel says in `smaps`.
fn unwritten(smaps: &str, file: &Path) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let mut at = None;
    for line in smaps.lines() {
        match line.strip_prefix("Anonymous:") {
            None => at = mapping(line, file).or(at.filter(|_| line.contains(" kB"))),
            Some(written) if written.trim() == "0 kB" => ranges.extend(at.take()),
            Some(_) => at = None,
        }
    }
    ranges
}

/// Reads a line such as `5581a000-5591c000 r-xp 01d45000 fe:00 1234   /usr/bin/rowmill`.
fn mapping(line: &str, file: &Path) -> Option<Range<usize>> {
    let (addresses, rest) = line.split_once(' ')?;
    let (start, end) = addresses.split_once('-')?;
    let is_read_only = rest.starts_with("r-xp ") || rest.starts_with("r--p ");
    let path = rest.find('/').and_then(|at| rest.get(at..))?;
    let address = |text| usize::from_str_radix(text, 16).ok();
    (is_read_only && Path::new(path) == file).then_some(address(start)?..address(end)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMAPS: &str = "\
1000-3000 r--p 00000000 fe:00 12   /opt/row mill/rowmill
Size:                  8 kB
Anonymous:             0 kB
VmFlags: rd mr mw me
3000-8000 r-xp 00002000 fe:00 12   /opt/row mill/rowmill
Rss:                  20 kB
Anonymous:             0 kB
8000-9000 r--p 00007000 fe:00 12   /opt/row mill/rowmill
Anonymous:             4 kB
9000-a000 rw-p 00008000 fe:00 12   /opt/row mill/rowmill
Anonymous:             0 kB
a000-b000 r-xp 00000000 fe:00 13   /usr/lib/libc.so.6
Anonymous:             0 kB
b000-c000 rw-p 00000000 00:00 0
Anonymous:             0 kB
c000-d000 r-xp 00000000 00:00 0    [vdso]
Anonymous:             0 kB
";

    #[test]
    fn only_what_nobody_wrote_to_is_given_back() {
        assert_eq!(unwritten(SMAPS, Path::new("/opt/row mill/rowmill")), [0x1000..0x3000, 0x3000..0x8000]);
        assert_eq!(unwritten(SMAPS, Path::new("/usr/lib/libc.so.6")), vec![0xa000..0xb000]);
        assert!(unwritten("", Path::new("/opt/rowmill")).is_empty());
    }

    #[test]
    fn the_program_runs_on_in_less_memory() {
        let file_bytes = || {
            let status = std::fs::read_to_string("/proc/self/status").unwrap();
            let line = status.lines().find_map(|line| line.strip_prefix("RssFile:")).unwrap().trim();
            line.trim_end_matches(" kB").parse::<usize>().unwrap()
        };
        let before = file_bytes();
        give_back();
        assert!(file_bytes() < before);
        give_back();
    }
}

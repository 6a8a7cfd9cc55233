//! What the system says of memory and processor time. Only Linux is asked; elsewhere nothing is known.

use std::time::Duration;

/// The unit of times in `/proc`, whatever the kernel counts in.
#[cfg(target_os = "linux")]
const TICKS_EACH_SECOND: u64 = 100;

/// The memory of the machine, or of the control group that this process is in.
#[cfg(target_os = "linux")]
pub(super) fn memory_bytes() -> Option<u64> {
    let machine = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| memory_total(&text));
    let group = std::fs::read_to_string("/sys/fs/cgroup/memory.max").ok();
    let group = group.and_then(|text| text.trim().parse::<u64>().ok());
    machine.into_iter().chain(group).min()
}

/// The time a process has been running on any processor.
#[cfg(target_os = "linux")]
pub(super) fn processor_time(process: u32) -> Option<Duration> {
    ticks(&std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?)
        .map(|ticks| Duration::from_millis(ticks * 1_000 / TICKS_EACH_SECOND))
}

#[cfg(not(target_os = "linux"))]
pub(super) fn memory_bytes() -> Option<u64> {
    None
}

#[cfg(not(target_os = "linux"))]
pub(super) fn processor_time(_process: u32) -> Option<Duration> {
    None
}

#[cfg(target_os = "linux")]
fn memory_total(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

/// Time in user and kernel mode: the 14th and 15th field. The name before them may hold anything.
#[cfg(target_os = "linux")]
fn ticks(stat: &str) -> Option<u64> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut times = fields.split_whitespace().skip(11).take(2).map(str::parse::<u64>);
    times.next()?.ok()?.checked_add(times.next()?.ok()?)
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;

    #[test]
    fn figures_are_found() {
        assert_eq!(memory_total("MemFree: 1 kB\nMemTotal:       24000 kB\n"), Some(24_000 * 1024));
        let stat = "12 (a) b 1) S 1 12 12 0 -1 4194560 100 0 0 0 250 50 0 0 20 0 1 0 100 0 0";
        assert_eq!(ticks(stat), Some(300));
        assert_eq!(ticks("12 (a) S 1"), None);
        assert!(memory_bytes().is_some() && processor_time(std::process::id()).is_some());
    }
}

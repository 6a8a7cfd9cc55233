//! How much memory the machine has, and which part of it may be taken.

use std::path::{Path, PathBuf};

/// A part of the machine's memory, or a number of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Budget {
    Percent(u8),
    Bytes(usize),
}

impl Default for Budget {
    fn default() -> Self {
        Self::Percent(25)
    }
}

/// What the machine has if it does not say.
const UNKNOWN_BYTES: u64 = 2 << 30;

impl Budget {
    /// Reads `25%`, or bytes as `1073741824`, `512M` or `2G`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let wrong = || {
            format!(
                "{text:?} is not a memory size; write a percentage such as 25%, or a size such as 512M or 2G"
            )
        };
        if let Some(percent) = text.strip_suffix('%') {
            let percent = percent.trim().parse().ok().filter(|percent| *percent <= 100);
            return percent.map(Self::Percent).ok_or_else(wrong);
        }
        let (digits, shift) = match text.as_bytes().last() {
            Some(b'k' | b'K') => (text.get(..text.len() - 1), 10),
            Some(b'm' | b'M') => (text.get(..text.len() - 1), 20),
            Some(b'g' | b'G') => (text.get(..text.len() - 1), 30),
            _ => (Some(text), 0),
        };
        let number: Option<usize> = digits.and_then(|digits| digits.trim().parse().ok());
        number.and_then(|number| number.checked_mul(1 << shift)).map(Self::Bytes).ok_or_else(wrong)
    }

    pub fn bytes(self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Percent(percent) => {
                usize::try_from(machine_bytes() / 100 * u64::from(percent)).unwrap_or(usize::MAX)
            }
        }
    }
}

/// The machine's memory, or the part of it that this process's group may take.
fn machine_bytes() -> u64 {
    let all = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| total_of(&text));
    let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let limits = limit_files(&groups).into_iter().filter_map(|file| std::fs::read_to_string(file).ok());
    let limits = limits.filter_map(|text| text.trim().parse::<u64>().ok());
    all.into_iter().chain(limits).min().unwrap_or(UNKNOWN_BYTES)
}

/// The files that say what control groups may take: this process's, and all that hold it. A container sees its own
/// at the top, whatever it is called outside.
fn limit_files(groups: &str) -> Vec<PathBuf> {
    let kinds = [
        ("::", "/sys/fs/cgroup", "memory.max"),
        (":memory:", "/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
    ];
    let files_of = |(mark, root, file): (&str, &str, &str)| {
        let own = groups.lines().find_map(|line| Some(line.split_once(mark)?.1)).unwrap_or("/");
        let within = Path::new(own).ancestors().map(|group| group.strip_prefix("/").unwrap_or(group));
        within.map(|group| Path::new(root).join(group).join(file)).collect::<Vec<_>>()
    };
    kinds.into_iter().flat_map(files_of).collect()
}

fn total_of(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_and_bytes_are_read() {
        for (text, budget) in [
            ("25%", Budget::Percent(25)),
            (" 0 % ", Budget::Percent(0)),
            ("0", Budget::Bytes(0)),
            ("1048576", Budget::Bytes(1 << 20)),
            ("512M", Budget::Bytes(512 << 20)),
            ("2g", Budget::Bytes(2 << 30)),
        ] {
            assert_eq!(Budget::parse(text), Ok(budget), "{text}");
        }
        for text in ["", "101%", "-1", "2T", "G", "25 percent", "99999999999999999999"] {
            assert!(Budget::parse(text).is_err(), "{text}");
        }
        assert!(Budget::default().bytes() > 1 << 20);
        assert_eq!(total_of("MemTotal:       24000000 kB\nMemFree: 1 kB\n"), Some(24_576_000_000));
    }

    #[test]
    fn the_limits_of_all_groups_around_a_process_count() {
        let files = limit_files("0::/a/b\n");
        let named: Vec<_> = files.iter().filter_map(|file| file.to_str()).collect();
        let expected = [
            "/sys/fs/cgroup/a/b/memory.max",
            "/sys/fs/cgroup/a/memory.max",
            "/sys/fs/cgroup/memory.max",
            "/sys/fs/cgroup/memory/memory.limit_in_bytes",
        ];
        assert_eq!(named, expected);
        let files = limit_files("5:cpu,cpuacct:/x\n4:memory:/a\n");
        assert!(files.iter().any(|file| file.ends_with("cgroup/memory/a/memory.limit_in_bytes")));
        assert!(limit_files("").iter().any(|file| file == Path::new("/sys/fs/cgroup/memory.max")));
    }
}

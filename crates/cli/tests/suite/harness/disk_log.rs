//! Power cuts. A library that is loaded before all others logs what the service writes to its disk; from the log follows
//! what a disk may hold after a cut at any moment: all that was synced, and of the rest any part in any order.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use super::preload;

/// What a disk writes whole or not at all.
const SECTOR_BYTES: usize = 512;

/// The library, compiled once.
pub(crate) fn library() -> &'static Path {
    static LIBRARY: LazyLock<PathBuf> = LazyLock::new(|| preload::compile("disk_log"));
    &LIBRARY
}

/// Everything that was written to a folder, in order.
pub(crate) struct DiskLog {
    /// Each with the length of the log behind it.
    records: Vec<(u64, Record)>,
}

struct Record {
    kind: u8,
    path: String,
    offset: usize,
    data: Vec<u8>,
}

impl DiskLog {
    pub(crate) fn read(path: &Path) -> Self {
        let bytes = std::fs::read(path).unwrap();
        let mut reader = Reader { bytes: &bytes, offset: 0 };
        let mut records = Vec::new();
        // The last one may be cut off: the process was killed.
        while let Some(record) = reader.record() {
            records.push((reader.offset as u64, record));
        }
        Self { records }
    }

    /// Places in the log before which a cut leaves something new.
    pub(crate) fn places(&self) -> impl Iterator<Item = u64> {
        self.records.iter().map(|(end, _)| *end)
    }

    /// Writes into an empty folder what a disk may hold if power is cut at this place of the log.
    pub(crate) fn restore(&self, place: u64, from: &Path, to: &Path, random: &mut fastrand::Rng) {
        let mut files: BTreeMap<&str, File> = BTreeMap::new();
        for (_, record) in self.records.iter().take_while(|(end, _)| *end <= place) {
            apply(&mut files, record);
        }
        for (path, mut file) in files {
            file.lose_some(random);
            let path = to.join(Path::new(path).strip_prefix(from).unwrap());
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, file.synced).unwrap();
        }
    }
}

/// A file as it is on the disk, and what the disk may have written of it besides.
#[derive(Default)]
struct File<'a> {
    synced: Vec<u8>,
    pending: Vec<&'a Record>,
}

fn apply<'a>(files: &mut BTreeMap<&'a str, File<'a>>, record: &'a Record) {
    let path = record.path.as_str();
    match record.kind {
        b'c' => _ = files.insert(path, File::default()),
        b'u' => _ = files.remove(path),
        b'r' => {
            let file = files.remove(path).unwrap_or_default();
            files.insert(str::from_utf8(&record.data).unwrap(), file);
        }
        b's' => {
            let file = files.entry(path).or_default();
            for pending in std::mem::take(&mut file.pending) {
                file.write(pending, |_| true);
            }
        }
        _ => files.entry(path).or_default().pending.push(record),
    }
}

impl File<'_> {
    /// Leaves of what was not synced all, nothing, or any sectors in any order.
    fn lose_some(&mut self, random: &mut fastrand::Rng) {
        let mut pending = std::mem::take(&mut self.pending);
        let (are_reordered, part) = match random.u8(..4) {
            0 => (false, 0.0),
            1 => (false, 1.0),
            2 => (false, random.f64()),
            _ => (true, random.f64()),
        };
        if are_reordered {
            random.shuffle(&mut pending);
        }
        for record in pending {
            if record.kind != b't' || random.f64() < part {
                self.write(record, |_| random.f64() < part);
            }
        }
    }

    fn write(&mut self, record: &Record, mut is_kept: impl FnMut(usize) -> bool) {
        if record.kind == b't' {
            self.synced.resize(record.offset, 0);
            return;
        }
        let mut offset = record.offset;
        let mut rest = record.data.as_slice();
        while !rest.is_empty() {
            let length = (SECTOR_BYTES - offset % SECTOR_BYTES).min(rest.len());
            let (sector, after) = rest.split_at(length);
            if is_kept(offset / SECTOR_BYTES) {
                if self.synced.len() < offset + length {
                    self.synced.resize(offset + length, 0);
                }
                self.synced[offset..offset + length].copy_from_slice(sector);
            }
            (offset, rest) = (offset + length, after);
        }
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    offset: usize,
}

impl Reader<'_> {
    fn record(&mut self) -> Option<Record> {
        let mut at = self.offset;
        let mut take = |length: usize| {
            let taken = self.bytes.get(at..at.checked_add(length)?)?;
            at += length;
            Some(taken)
        };
        let kind = take(1)?[0];
        let path_length = u32::from_ne_bytes(take(4)?.try_into().ok()?);
        let path = String::from_utf8(take(path_length as usize)?.to_vec()).ok()?;
        let offset = u64::from_ne_bytes(take(8)?.try_into().ok()?);
        let length = u64::from_ne_bytes(take(8)?.try_into().ok()?);
        let data = take(usize::try_from(length).ok()?)?.to_vec();
        self.offset = at;
        Some(Record { kind, path, offset: usize::try_from(offset).ok()?, data })
    }
}

//! The questions of a batch, in a temporary file: there may be more than fit in memory.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Seek, SeekFrom, Write};

use rowmill_providers::llm::batch::{BatchFile, BatchLimits};
use rowmill_store::Ticket;

/// Questions, one on each line. The file has no name and goes with this process.
#[derive(Debug)]
pub(super) struct Spool {
    writer: BufWriter<File>,
    /// What stands between two entries.
    separator: &'static str,
    limits: BatchLimits,
    pub(super) count: usize,
    bytes: u64,
}

/// Whether an entry was taken.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Pushed {
    Taken,
    /// The batch is full without it.
    Full,
    /// It fits into no batch.
    TooLong,
}

impl Spool {
    pub(super) fn new(separator: &'static str, limits: BatchLimits) -> std::io::Result<Self> {
        let writer = BufWriter::new(tempfile::tempfile()?);
        Ok(Self { writer, separator, limits, count: 0, bytes: 0 })
    }

    /// How many more entries there can be.
    pub(super) fn room(&self) -> usize {
        self.limits.requests.saturating_sub(self.count)
    }

    pub(super) fn push(&mut self, entry: &str) -> std::io::Result<Pushed> {
        let separator = if self.count == 0 { "" } else { self.separator };
        let bytes = entry.len() as u64 + separator.len() as u64;
        if self.room() == 0 || self.bytes + bytes > self.limits.bytes {
            return Ok(if self.count == 0 { Pushed::TooLong } else { Pushed::Full });
        }
        self.writer.write_all(separator.as_bytes())?;
        self.writer.write_all(entry.as_bytes())?;
        self.count += 1;
        self.bytes += bytes;
        Ok(Pushed::Taken)
    }

    /// Only the entries of these cells. `ticket_of` reads whose an entry is.
    pub(super) fn only(
        self,
        held: &BTreeSet<Ticket>,
        ticket_of: impl Fn(&str) -> Option<Ticket>,
    ) -> std::io::Result<Self> {
        let mut kept = Self::new(self.separator, self.limits)?;
        let comma = self.separator.trim_end();
        let mut file = self.writer.into_inner().map_err(std::io::IntoInnerError::into_error)?;
        file.seek(SeekFrom::Start(0))?;
        let (mut reader, mut line) = (BufReader::new(file), String::new());
        while reader.read_line(&mut line)? > 0 {
            let entry = line.trim_end_matches('\n');
            let entry = if comma.is_empty() { entry } else { entry.strip_suffix(comma).unwrap_or(entry) };
            if ticket_of(entry).is_some_and(|ticket| held.contains(&ticket)) {
                kept.push(entry)?;
            }
            line.clear();
        }
        Ok(kept)
    }

    /// The file to be sent. It can be asked for more than once.
    pub(super) fn file(&mut self) -> std::io::Result<BatchFile> {
        self.writer.flush()?;
        Ok(BatchFile { file: self.writer.get_ref().try_clone()?, bytes: self.bytes })
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use rowmill_model::ProjectId;
    use rowmill_store::Lane;
    use uuid::Uuid;

    use super::*;

    fn text(spool: &mut Spool) -> String {
        let BatchFile { mut file, bytes } = spool.file().unwrap();
        file.seek(SeekFrom::Start(0)).unwrap();
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        assert_eq!(text.len() as u64, bytes);
        text
    }

    #[test]
    fn entries_are_kept_within_limits_and_taken_out_again() {
        let limits = BatchLimits { requests: 3, bytes: 12 };
        let lane = Lane { project: ProjectId::from_uuid(Uuid::from_u128(5)), slot: 3 };
        let ticket = |position| Ticket { token: 1, lane, position };
        for (separator, all, some) in [("\n", "aa,\nb\ncc", "aa,\ncc"), (",\n", "aa,,\nb,\ncc", "aa,,\ncc")] {
            let mut spool = Spool::new(separator, limits).unwrap();
            assert_eq!(spool.push("too long for it").unwrap(), Pushed::TooLong);
            for entry in ["aa,", "b", "cc"] {
                assert_eq!(spool.push(entry).unwrap(), Pushed::Taken);
            }
            assert_eq!((spool.push("d").unwrap(), spool.room()), (Pushed::Full, 0));
            assert_eq!(text(&mut spool), all);
            let held = BTreeSet::from([ticket(0), ticket(2)]);
            let names = ["aa,", "b", "cc"];
            let of = |entry: &str| names.iter().position(|name| *name == entry).map(|at| ticket(at as u64));
            let mut kept = spool.only(&held, of).unwrap();
            assert_eq!((text(&mut kept).as_str(), kept.count), (some, 2));
        }
        let mut spool = Spool::new("\n", limits).unwrap();
        assert_eq!(spool.push("0123456789").unwrap(), Pushed::Taken);
        assert_eq!(spool.push("12").unwrap(), Pushed::Full, "the bytes are used up");
    }
}

//! Going over the pages of a database file as they are on the disk: which do not match their checksum, and how such
//! checksums are made anew after another program wrote to the file.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::time::Duration;

use rowmill_store::{Result, StoreError};
use rusqlite::{Connection, OpenFlags};

use crate::convert::{backend, unusable};
use crate::data_dir::{DATABASE_FILE, check_restored, take_lock};
use crate::integrity::integrity;
use crate::page_checksums::{self, CHECKSUM_BYTES, checksum};

/// How many pages are named.
const NAMED_MAX: usize = 20;
/// A page may be written at the moment it is read: it is read again before it counts as damaged.
const READS_MAX: u32 = 4;
const BETWEEN_READS: Duration = Duration::from_millis(20);
const FINDINGS_MAX: u32 = 100;

/// The pages that do not match their checksum, in words.
pub fn page_findings(file: &Path) -> Result<Vec<String>> {
    let failed = |error: std::io::Error| unusable(file, &error);
    let Some(mut pages) = Pages::open(file, false).map_err(failed)? else { return Ok(Vec::new()) };
    let (mut named, mut count) = (Vec::new(), 0_u64);
    while pages.next().map_err(failed)? {
        if !pages.is_right_at_last().map_err(failed)? {
            count += 1;
            if named.len() < NAMED_MAX {
                named.push(pages.number().to_string());
            }
        }
    }
    if count == 0 {
        return Ok(Vec::new());
    }
    let more = if count > NAMED_MAX as u64 { ", …" } else { "" };
    Ok(vec![format!(
        "{count} pages of {} do not match their checksum: {}{more}. If another program wrote to the file and it is \
         sound, run `rowmill check --accept-checksums`",
        file.display(),
        named.join(", ")
    )])
}

/// Makes the checksums of all pages anew, once SQLite finds the file to be sound; says how many were wrong.
pub fn accept_checksums(data_dir: &Path) -> Result<u64> {
    check_restored(data_dir)?;
    let file = data_dir.join(DATABASE_FILE);
    if !file.is_file() {
        return Err(StoreError::Missing(format!("{} does not exist", file.display())));
    }
    let _lock = take_lock(data_dir)?;
    check_sound(&file)?;
    let failed = |error: std::io::Error| unusable(&file, &error);
    let Some(mut pages) = Pages::open(&file, true).map_err(failed)? else {
        return Err(StoreError::Missing(format!(
            "the pages of {} have no checksums, because an earlier version made it; `rowmill move` to a new folder adds \
             them",
            file.display()
        )));
    };
    let mut count = 0;
    while pages.next().map_err(failed)? {
        if !pages.is_right() {
            pages.correct().map_err(failed)?;
            count += 1;
        }
    }
    pages.file.sync_all().map_err(failed)?;
    Ok(count)
}

/// Has SQLite check a file without a look at the checksums. The log is folded into the file first.
fn check_sound(file: &Path) -> Result<()> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let name = page_checksums::original_name()?;
    let connection = Connection::open_with_flags_and_vfs(file, flags, name).map_err(backend)?;
    let folded: i64 =
        connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", (), |row| row.get(0)).map_err(backend)?;
    if folded != 0 {
        let words = format!("{} is in use by another program: end it first", file.display());
        return Err(StoreError::InUse(words));
    }
    let found = integrity(&connection, FINDINGS_MAX)?;
    match found.first() {
        None => Ok(()),
        Some(words) => Err(StoreError::Damaged(format!(
            "the checksums stay as they are, because the file is not sound ({words}): restore a backup"
        ))),
    }
}

/// The pages of a file, one after the other.
struct Pages {
    file: File,
    page: Vec<u8>,
    /// Of the page; none before the first.
    offset: Option<u64>,
}

impl Pages {
    /// `None` if the pages have no checksums.
    fn open(path: &Path, is_to_write: bool) -> std::io::Result<Option<Self>> {
        let mut file = File::options().read(true).write(is_to_write).open(path)?;
        let mut header = [0; 100];
        file.read_exact(&mut header)?;
        let size = page_checksums::page_bytes(&header);
        Ok(size.map(|size| Self { file, page: vec![0; size], offset: None }))
    }

    /// Reads the next page; says whether there is one.
    fn next(&mut self) -> std::io::Result<bool> {
        let size = self.page.len() as u64;
        let offset = self.offset.map_or(0, |offset| offset + size);
        if offset + size > self.file.metadata()?.len() {
            return Ok(false);
        }
        self.offset = Some(offset);
        self.read()?;
        Ok(true)
    }

    fn read(&mut self) -> std::io::Result<()> {
        self.file.seek(SeekFrom::Start(self.offset.unwrap_or_default()))?;
        self.file.read_exact(&mut self.page)
    }

    /// Whether the page is right, now or a moment later.
    fn is_right_at_last(&mut self) -> std::io::Result<bool> {
        for _ in 0..READS_MAX {
            if self.is_right() {
                return Ok(true);
            }
            std::thread::sleep(BETWEEN_READS);
            self.read()?;
        }
        Ok(self.is_right())
    }

    /// A page that nobody wrote yet has no checksum. One that is in use is noticed when SQLite reads it.
    fn is_right(&self) -> bool {
        let Some((content, own)) = self.page.split_last_chunk::<CHECKSUM_BYTES>() else { return false };
        *own == checksum(content, self.offset.unwrap_or_default()) || self.page.iter().all(|byte| *byte == 0)
    }

    fn correct(&mut self) -> std::io::Result<()> {
        let offset = self.offset.unwrap_or_default();
        let Some((content, _)) = self.page.split_last_chunk::<CHECKSUM_BYTES>() else { return Ok(()) };
        let right = checksum(content, offset);
        self.file.seek(SeekFrom::Start(offset + content.len() as u64))?;
        self.file.write_all(&right)
    }

    /// As SQLite numbers pages.
    fn number(&self) -> u64 {
        self.offset.unwrap_or_default() / self.page.len() as u64 + 1
    }
}

//! A checksum on every page of the database file: made when a page is written, verified when it is read.
//!
//! SQLite uses files through a VFS. Ours is SQLite's own, with the functions replaced that read and write pages of a
//! database file. The last eight bytes of a page are reserved, as byte 20 of the file's header says, and hold the XXH3 of
//! the rest. The page's offset is the seed, so that a page in a wrong place is noticed, too. Indexes and counters have
//! checksums as rows do, because they are pages as well. The write-ahead log has checksums of its own.
//!
//! A file without reserved bytes was made by an earlier version. It is read and written without checksums.
#![expect(unsafe_code, reason = "SQLite calls a VFS through pointers to C functions")]

use std::ffi::{CStr, c_int, c_void};
use std::io::Read as _;
use std::path::Path;
use std::sync::OnceLock;

use rowmill_store::{Result, StoreError};
use rusqlite::{Connection, FileControl, ffi};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::convert::backend;

/// How many bytes of a page are reserved, and where the file's header says so.
const RESERVED: u8 = 8;
const RESERVED_AT: usize = 20;
const HEADER_BYTES: usize = 100;
const HEADER_AMOUNT: c_int = 100;
const MAGIC: &[u8] = b"SQLite format 3\0";
const PAGE_BYTES_AT: usize = 16;
const PAGE_BYTES_MIN: usize = 512;
/// In the URI of a file that is new and is to have checksums: its pages may be written before the first one is, which says
/// so.
pub(crate) const NEW_PARAMETER: &CStr = c"checksums";
/// The last bytes of a page.
pub(crate) const CHECKSUM_BYTES: usize = 8;

/// Makes this VFS the one that every connection of this process uses.
pub(crate) fn install() -> Result<()> {
    static REGISTERED: OnceLock<c_int> = OnceLock::new();
    let registered = REGISTERED.get_or_init(|| match shim() {
        // SAFETY: the VFS is never freed nor changed.
        Some(shim) => unsafe { ffi::sqlite3_vfs_register(shim.vfs, 1) },
        None => ffi::SQLITE_ERROR,
    });
    if *registered == ffi::SQLITE_OK {
        Ok(())
    } else {
        Err(StoreError::Backend("SQLite does not accept the VFS with checksums".into()))
    }
}

/// Reserves room for checksums in a database in which nothing has been written yet.
pub(crate) fn reserve(connection: &Connection) -> Result<()> {
    let mut bytes = c_int::from(RESERVED);
    connection.file_control(None::<&str>, FileControl::ReserveBytes(&mut bytes)).map_err(backend)
}

/// Whether the pages of a database file carry checksums. What is no database has none that are missing.
pub(crate) fn are_in(file: &Path) -> bool {
    let mut header = [0; HEADER_BYTES];
    let read = std::fs::File::open(file).and_then(|mut file| file.read_exact(&mut header));
    read.is_err() || Checksums::of(&header) != Some(Checksums::Off)
}

/// Whether the pages of a file carry checksums.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Checksums {
    Unknown,
    On,
    Off,
}

impl Checksums {
    /// What a file that begins with these bytes says.
    fn of(header: &[u8]) -> Option<Self> {
        let is_database = header.len() >= HEADER_BYTES && header.starts_with(MAGIC);
        let reserved = header.get(RESERVED_AT).filter(|_| is_database)?;
        Some(if *reserved == RESERVED { Self::On } else { Self::Off })
    }
}

/// The checksum of a page that begins at an offset, of which this is all but the last bytes.
pub(crate) fn checksum(content: &[u8], offset: u64) -> [u8; CHECKSUM_BYTES] {
    xxh3_64_with_seed(content, offset).to_le_bytes()
}

fn is_right(page: &[u8], offset: u64) -> bool {
    let parts = page.split_last_chunk::<CHECKSUM_BYTES>();
    parts.is_some_and(|(content, own)| *own == checksum(content, offset))
}

/// The size of the pages of a file that begins with these bytes; `None` if they carry no checksums.
pub(crate) fn page_bytes(header: &[u8]) -> Option<usize> {
    Checksums::of(header).filter(|checksums| *checksums == Checksums::On)?;
    let size = header.get(PAGE_BYTES_AT..)?.first_chunk::<2>()?;
    // The largest size does not fit into two bytes and is written as 1.
    let size = match u16::from_be_bytes(*size) {
        1 => 65_536,
        size => usize::from(size),
    };
    is_page(size).then_some(size)
}

/// The name of SQLite's own VFS, which knows of no checksums.
pub(crate) fn original_name() -> Result<&'static CStr> {
    let shim = shim().ok_or_else(|| StoreError::Backend("SQLite has no VFS".into()))?;
    // SAFETY: SQLite's own VFS and its name exist as long as the process.
    Ok(unsafe { CStr::from_ptr((*shim.original).zName) })
}

/// Whether a first page that says it has no checksum has one all the same: then it is what it says that is damaged.
fn denies_its_checksum(page: &[u8]) -> bool {
    let mut page = page.to_vec();
    if let Some(reserved) = page.get_mut(RESERVED_AT) {
        *reserved = RESERVED;
    }
    is_right(&page, 0)
}

fn is_page(length: usize) -> bool {
    length >= PAGE_BYTES_MIN && length.is_power_of_two()
}

/// SQLite's own VFS, and ours.
struct Shim {
    original: *mut ffi::sqlite3_vfs,
    vfs: *mut ffi::sqlite3_vfs,
    /// Where our part of an open file lies: behind SQLite's.
    extra_at: usize,
}

// SAFETY: both are written only before they are shared.
unsafe impl Send for Shim {}
// SAFETY: as above.
unsafe impl Sync for Shim {}

fn shim() -> Option<&'static Shim> {
    static SHIM: OnceLock<Option<Shim>> = OnceLock::new();
    let made = SHIM.get_or_init(|| {
        // SAFETY: SQLite's default VFS exists as long as the process.
        let original = unsafe { ffi::sqlite3_vfs_find(std::ptr::null()) };
        // SAFETY: it is null or such a VFS.
        let mut vfs = *unsafe { original.as_ref() }?;
        let extra_at = usize::try_from(vfs.szOsFile).ok()?.next_multiple_of(align_of::<Extra>());
        vfs.pNext = std::ptr::null_mut();
        vfs.zName = c"rowmill".as_ptr();
        vfs.szOsFile = c_int::try_from(extra_at + size_of::<Extra>()).ok()?;
        vfs.xOpen = Some(open);
        Some(Shim { original, vfs: Box::into_raw(Box::new(vfs)), extra_at })
    });
    made.as_ref()
}

/// What we know of an open database file.
#[repr(C)]
struct Extra {
    methods: ffi::sqlite3_io_methods,
    original: *const ffi::sqlite3_io_methods,
    checksums: Checksums,
}

impl Extra {
    /// # Safety
    ///
    /// `file` was opened by [`open`] as a database, and is not closed.
    unsafe fn of<'f>(file: *mut ffi::sqlite3_file) -> Option<&'f mut Self> {
        let extra_at = shim()?.extra_at;
        // SAFETY: `open` wrote it there, and SQLite uses an open file from one thread at a time.
        unsafe { file.byte_add(extra_at).cast::<Self>().as_mut() }
    }

    /// Takes from the first page what it says of the others.
    fn learn(&mut self, bytes: &[u8], offset: i64) {
        if offset == 0
            && let Some(checksums) = Checksums::of(bytes)
        {
            self.checksums = checksums;
        }
    }

    /// # Safety
    ///
    /// `file` is the one that this belongs to.
    unsafe fn known(&mut self, file: *mut ffi::sqlite3_file) -> Checksums {
        let mut header = [0_u8; HEADER_BYTES];
        // SAFETY: SQLite's own methods live as long as the process.
        if self.checksums == Checksums::Unknown
            && let Some(read) = unsafe { self.original.as_ref() }.and_then(|methods| methods.xRead)
            // SAFETY: there is room for as many bytes.
            && unsafe { read(file, header.as_mut_ptr().cast(), HEADER_AMOUNT, 0) } == ffi::SQLITE_OK
        {
            self.learn(&header, 0);
        }
        self.checksums
    }
}

unsafe extern "C" fn open(
    _: *mut ffi::sqlite3_vfs,
    name: ffi::sqlite3_filename,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    flags_out: *mut c_int,
) -> c_int {
    let Some(shim) = shim() else { return ffi::SQLITE_CANTOPEN };
    // SAFETY: SQLite's own VFS exists as long as the process.
    let Some(open) = (unsafe { (*shim.original).xOpen }) else { return ffi::SQLITE_CANTOPEN };
    // SAFETY: these are the arguments that SQLite gave, and `file` is larger than SQLite's own VFS asks for.
    let opened = unsafe { open(shim.original, name, file, flags, flags_out) };
    if opened != ffi::SQLITE_OK || flags & ffi::SQLITE_OPEN_MAIN_DB == 0 {
        return opened;
    }
    // SAFETY: an opened file has methods; behind it there is room for our part, as the size of the VFS's files says.
    unsafe {
        let original = (*file).pMethods;
        let mut methods = *original;
        // Version 3 adds memory-mapped pages, which nobody would verify.
        methods.iVersion = methods.iVersion.min(2);
        methods.xRead = Some(read);
        methods.xWrite = Some(write);
        methods.xDeviceCharacteristics = Some(device_characteristics);
        let extra = file.byte_add(shim.extra_at).cast::<Extra>();
        let is_new = ffi::sqlite3_uri_boolean(name, NEW_PARAMETER.as_ptr(), 0) != 0;
        let checksums = if is_new { Checksums::On } else { Checksums::Unknown };
        extra.write(Extra { methods, original, checksums });
        (*file).pMethods = &raw const (*extra).methods;
    }
    opened
}

unsafe extern "C" fn read(
    file: *mut ffi::sqlite3_file,
    buffer: *mut c_void,
    amount: c_int,
    offset: ffi::sqlite3_int64,
) -> c_int {
    // SAFETY: only files opened by `open` have this method, and SQLite's own methods live as long as the process.
    let found =
        unsafe { Extra::of(file) }.and_then(|extra| Some((unsafe { (*extra.original).xRead }?, extra)));
    let Some((read, extra)) = found else { return ffi::SQLITE_IOERR_READ };
    // SAFETY: these are the arguments that SQLite gave.
    let done = unsafe { read(file, buffer, amount, offset) };
    let length = usize::try_from(amount).unwrap_or_default();
    if done != ffi::SQLITE_OK || length == 0 {
        return done;
    }
    // SAFETY: as many bytes have just been read into it.
    let bytes = unsafe { std::slice::from_raw_parts(buffer.cast_const().cast::<u8>(), length) };
    extra.learn(bytes, offset);
    if !is_page(length) {
        return done;
    }
    // SAFETY: it belongs to this file.
    let is_damaged = match unsafe { extra.known(file) } {
        Checksums::On => !is_right(bytes, offset.cast_unsigned()),
        Checksums::Off | Checksums::Unknown => offset == 0 && denies_its_checksum(bytes),
    };
    if is_damaged {
        tracing::error!(offset, "a page of the database file does not match its checksum");
    }
    if is_damaged { ffi::SQLITE_IOERR_DATA } else { done }
}

unsafe extern "C" fn write(
    file: *mut ffi::sqlite3_file,
    buffer: *const c_void,
    amount: c_int,
    offset: ffi::sqlite3_int64,
) -> c_int {
    // SAFETY: as in `read`.
    let found =
        unsafe { Extra::of(file) }.and_then(|extra| Some((unsafe { (*extra.original).xWrite }?, extra)));
    let Some((write, extra)) = found else { return ffi::SQLITE_IOERR_WRITE };
    let length = usize::try_from(amount).unwrap_or_default();
    if is_page(length) {
        // SAFETY: SQLite gave as many bytes to write.
        let bytes = unsafe { std::slice::from_raw_parts(buffer.cast::<u8>(), length) };
        extra.learn(bytes, offset);
        // SAFETY: it belongs to this file.
        if unsafe { extra.known(file) } == Checksums::On {
            let mut page = bytes.to_vec();
            if let Some((content, own)) = page.split_last_chunk_mut::<CHECKSUM_BYTES>() {
                *own = checksum(content, offset.cast_unsigned());
            }
            // SAFETY: it has as many bytes as the one that SQLite gave.
            return unsafe { write(file, page.as_ptr().cast(), amount, offset) };
        }
    }
    // SAFETY: these are the arguments that SQLite gave.
    unsafe { write(file, buffer, amount, offset) }
}

/// As SQLite's own, but parts of pages are not read: they have no checksum.
unsafe extern "C" fn device_characteristics(file: *mut ffi::sqlite3_file) -> c_int {
    // SAFETY: as in `read`.
    let found = unsafe { Extra::of(file).and_then(|extra| (*extra.original).xDeviceCharacteristics) };
    // SAFETY: this is the file that SQLite gave.
    found.map_or(0, |ask| unsafe { ask(file) } & !ffi::SQLITE_IOCAP_SUBPAGE_READ)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::connection::{READER_CACHE_KIB, connect};
    use crate::integrity::integrity;

    fn filled(dir: &Path) -> PathBuf {
        let file = dir.join("test.db");
        let connection = connect(&file, READER_CACHE_KIB).unwrap();
        connection.execute_batch("CREATE TABLE t (k INTEGER PRIMARY KEY, v BLOB); BEGIN").unwrap();
        for row in 0..60 {
            connection.execute("INSERT INTO t (v) VALUES (zeroblob(?1))", [row * 200]).unwrap();
        }
        connection.execute_batch("COMMIT").unwrap();
        file
    }

    /// Reads every page.
    fn read_all(file: &Path) -> Result<i64> {
        let connection = connect(file, READER_CACHE_KIB)?;
        // Pages that tell where others are used are read by this alone.
        if let Some(words) = integrity(&connection, 1)?.pop() {
            return Err(StoreError::Damaged(words));
        }
        let sql = "SELECT count(*) FROM t WHERE length(hex(v)) >= 0";
        connection.query_row(sql, (), |row| row.get(0)).map_err(backend)
    }

    #[test]
    fn a_flipped_bit_anywhere_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let file = filled(dir.path());
        assert!(are_in(&file));
        assert_eq!(read_all(&file).unwrap(), 60);
        let whole = std::fs::read(&file).unwrap();
        for page in 0..whole.len() / 4096 {
            // Byte 20 of the first page says that there are checksums at all.
            for bit in [20 * 8 + 3, (page * 997) % 32_768] {
                let mut damaged = whole.clone();
                damaged[page * 4096 + bit / 8] ^= 1 << (bit % 8);
                std::fs::write(&file, &damaged).unwrap();
                let read = read_all(&file);
                assert!(matches!(read, Err(StoreError::Damaged(_))), "page {page}, bit {bit}: {read:?}");
            }
        }
    }

    #[test]
    fn a_page_in_the_place_of_another_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let file = filled(dir.path());
        let mut swapped = std::fs::read(&file).unwrap();
        let (one, other) = swapped.split_at_mut(8 * 4096);
        one[7 * 4096..].swap_with_slice(&mut other[..4096]);
        std::fs::write(&file, &swapped).unwrap();
        assert!(matches!(read_all(&file), Err(StoreError::Damaged(_))));
    }

    #[test]
    fn a_file_without_checksums_is_read_and_written() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("test.db");
        let old = Connection::open(&file).unwrap();
        old.execute_batch("PRAGMA journal_mode = wal; CREATE TABLE t (k INTEGER PRIMARY KEY, v BLOB)")
            .unwrap();
        drop(old);
        assert!(!are_in(&file));
        let connection = connect(&file, READER_CACHE_KIB).unwrap();
        connection.execute("INSERT INTO t (v) VALUES (zeroblob(9000))", ()).unwrap();
        drop(connection);
        assert_eq!(read_all(&file).unwrap(), 1);
        assert!(!are_in(&file));
    }
}

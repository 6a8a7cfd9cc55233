//! Indexing a column that rows are matched on for the first time.
//!
//! From the beginning on, every write keeps the index. The entries of the rows that were there before are read by readers and
//! written in the order of the index, in slices between other writes. So each page of the index is written once; in the order
//! of the rows it would be once for nearly every row. Entries that writes have removed since they were read are not written:
//! `lookup_removed` has them.

use rowmill_model::record::Slot;
use rowmill_store::{Result, WantedSlots, lookup};
use rusqlite::Connection;

use crate::convert::backend;
use crate::lookups;
use crate::positions::{key, key_range, split};
use crate::wide_values;

/// How many entries are in memory at most, 16 bytes each. What is more is read in another pass.
const ENTRIES_MAX: usize = if cfg!(test) { 8 } else { 1 << 20 };
/// How many rows, and how many bytes of them, are read in one go.
const READ_ROWS: usize = if cfg!(test) { 3 } else { 1 << 14 };
const READ_BYTES: usize = 4 * 1024 * 1024;
/// How many entries are written in one transaction: other writes wait for no longer than that takes.
pub(crate) const SLICE_ENTRIES: usize = 1_024;

/// The hash of a value, and the position of its row: the order of the index.
pub(crate) type Entry = (i64, u64);

/// Makes room for what is noted while columns are indexed. It is gone with the connection, as is every index under way.
pub(crate) fn prepare(connection: &Connection) -> Result<()> {
    let sql = "CREATE TEMP TABLE lookup_builds (project INTEGER, slot INTEGER, PRIMARY KEY (project, slot)) WITHOUT ROWID; \
               CREATE TEMP TABLE lookup_removed (project INTEGER, slot INTEGER, hash INTEGER, position INTEGER, \
               PRIMARY KEY (project, slot, hash, position)) WITHOUT ROWID";
    connection.execute_batch(sql).map_err(backend)
}

/// The columns of a project that are being indexed.
pub(crate) fn slots_under_way(connection: &Connection, project: i64) -> Result<Vec<Slot>> {
    lookups::slots_by(connection, project, "SELECT slot FROM lookup_builds WHERE project = ?1")
}

/// From now on every write keeps the index. Returns whether it is whole already.
pub(crate) fn begin(connection: &Connection, project: i64, slot: Slot) -> Result<bool> {
    if lookups::is_whole(connection, project, slot)? {
        return Ok(true);
    }
    run(
        connection,
        project,
        slot,
        &[
            "INSERT INTO lookup_columns (project, slot, next_position) VALUES (?1, ?2, 0) ON CONFLICT DO NOTHING",
            "INSERT INTO lookup_builds (project, slot) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
        ],
    )?;
    Ok(false)
}

fn run(connection: &Connection, project: i64, slot: Slot, statements: &[&str]) -> Result<()> {
    statements.iter().try_for_each(|sql| {
        let ran = connection.prepare_cached(sql).and_then(|mut statement| statement.execute((project, slot)));
        ran.map(|_| ()).map_err(backend)
    })
}

/// Notes what a write does to an index that is under way.
pub(crate) fn note(
    connection: &Connection,
    project: i64,
    slot: Slot,
    entry: Entry,
    is_there: bool,
) -> Result<()> {
    let sql = if is_there {
        "DELETE FROM lookup_removed WHERE project = ?1 AND slot = ?2 AND hash = ?3 AND position = ?4"
    } else {
        "INSERT INTO lookup_removed (project, slot, hash, position) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING"
    };
    let (hash, position) = entry;
    let noted =
        connection.prepare_cached(sql).and_then(|mut note| note.execute((project, slot, hash, position)));
    noted.map(|_| ()).map_err(backend)
}

/// The least entries of a column behind some entry: one pass over its rows.
#[derive(Debug, Default)]
pub(crate) struct Pass {
    behind: Option<Entry>,
    entries: Vec<Entry>,
    /// What comes behind this one is left to the next pass.
    last: Option<Entry>,
    /// Where reading goes on.
    next_position: u64,
}

impl Pass {
    pub(crate) fn behind(entry: Option<Entry>) -> Self {
        Self { behind: entry, ..Self::default() }
    }

    /// Reads some rows; returns whether more follow.
    pub(crate) fn read(&mut self, connection: &Connection, project: i64, slot: Slot) -> Result<bool> {
        let (start, end) = (key(project, self.next_position), *key_range(project).end());
        let mut rows = connection
            .prepare_cached("SELECT key, vals, wide FROM rows WHERE key BETWEEN ?1 AND ?2 ORDER BY key")
            .map_err(backend)?;
        let mut rows = rows.query((start, end)).map_err(backend)?;
        let (mut count, mut bytes) = (0, 0);
        let wanted = WantedSlots::only([lookup::column_of(slot)]);
        while let Some(row) = rows.next().map_err(backend)? {
            let row_key = row.get(0).map_err(backend)?;
            let (_, position) = split(row_key);
            if count == READ_ROWS || bytes >= READ_BYTES {
                self.next_position = position;
                return Ok(true);
            }
            let values = row.get_ref(1).and_then(|vals| Ok(vals.as_blob()?)).map_err(backend)?;
            let slots = wide_values::noted(row, 2)?;
            let joined = wide_values::join(connection, row_key, values, &slots, &wanted)?;
            (count, bytes) = (count + 1, bytes + joined.as_bytes().len());
            if let Some(hash) = lookup::hash_of(slot, &joined.cells()?) {
                self.take((hash, position));
            }
        }
        Ok(false)
    }

    fn take(&mut self, entry: Entry) {
        if self.behind.is_some_and(|behind| entry <= behind) || self.last.is_some_and(|last| entry > last) {
            return;
        }
        self.entries.push(entry);
        if self.entries.len() == 2 * ENTRIES_MAX {
            self.cut();
        }
    }

    /// Keeps the least entries.
    fn cut(&mut self) {
        if self.entries.len() > ENTRIES_MAX {
            let (_, last, _) = self.entries.select_nth_unstable(ENTRIES_MAX - 1);
            self.last = Some(*last);
            self.entries.truncate(ENTRIES_MAX);
        }
    }

    /// The entries in order, and behind which one the next pass begins, if there is more.
    pub(crate) fn finish(mut self) -> (Vec<Entry>, Option<Entry>) {
        self.cut();
        self.entries.sort_unstable();
        (self.entries, self.last)
    }
}

/// Writes some entries. Returns whether the index is still under way.
pub(crate) fn write(connection: &Connection, project: i64, slot: Slot, entries: &[Entry]) -> Result<bool> {
    if !slots_under_way(connection, project)?.contains(&slot) {
        return Ok(false);
    }
    let mut insert = connection
        .prepare_cached(
            "INSERT INTO lookups (project, slot, hash, position) SELECT ?1, ?2, ?3, ?4 WHERE NOT EXISTS \
             (SELECT 1 FROM lookup_removed WHERE project = ?1 AND slot = ?2 AND hash = ?3 AND position = ?4) \
             ON CONFLICT DO NOTHING",
        )
        .map_err(backend)?;
    for (hash, position) in entries {
        insert.execute((project, slot, hash, position)).map_err(backend)?;
    }
    Ok(true)
}

/// All entries are written.
pub(crate) fn end(connection: &Connection, project: i64, slot: Slot) -> Result<()> {
    let whole = "UPDATE lookup_columns SET next_position = NULL WHERE project = ?1 AND slot = ?2";
    run(connection, project, slot, &[whole])?;
    give_up(connection, project, slot)
}

/// Notes no more. An index that is not whole is still kept by every write, and begun anew with the next match.
pub(crate) fn give_up(connection: &Connection, project: i64, slot: Slot) -> Result<()> {
    run(
        connection,
        project,
        slot,
        &[
            "DELETE FROM lookup_builds WHERE project = ?1 AND slot = ?2",
            "DELETE FROM lookup_removed WHERE project = ?1 AND slot = ?2",
        ],
    )
}

/// Indexes a column in one transaction, unless it is indexed.
pub(crate) fn ensure(connection: &Connection, project: i64, slot: Slot) -> Result<()> {
    if begin(connection, project, slot)? {
        return Ok(());
    }
    let mut behind = None;
    loop {
        let mut pass = Pass::behind(behind);
        while pass.read(connection, project, slot)? {}
        let (entries, last) = pass.finish();
        write(connection, project, slot, &entries)?;
        behind = last;
        if behind.is_none() {
            return end(connection, project, slot);
        }
    }
}

#[cfg(test)]
mod tests {
    use rowmill_model::record::Record;

    use super::*;

    /// All entries of a list, pass by pass, read in the order given.
    fn passes(all: &[Entry]) -> (Vec<Entry>, usize) {
        let (mut found, mut behind, mut count) = (Vec::new(), None, 0);
        loop {
            let mut pass = Pass::behind(behind);
            for entry in all {
                pass.take(*entry);
            }
            let (entries, last) = pass.finish();
            assert!(entries.len() <= ENTRIES_MAX);
            (found, behind, count) = ([found, entries].concat(), last, count + 1);
            if behind.is_none() {
                return (found, count);
            }
        }
    }

    #[test]
    fn passes_have_every_entry_once_and_in_order() {
        assert_eq!(passes(&[]), (Vec::new(), 1));
        for (len, expected_passes) in [(1_u32, 1), (8, 1), (9, 2), (16, 2), (17, 3), (100, 13)] {
            // Many hashes, few, and one.
            for hashes in [1_000, 3, 1] {
                let list: Vec<Entry> =
                    (0..len).map(|n| (i64::from(n * 7_919 % hashes) - 2, u64::from(n))).collect();
                let mut ordered = list.clone();
                ordered.sort_unstable();
                assert_eq!(passes(&list), (ordered, expected_passes), "{len} entries, {hashes} hashes");
            }
        }
    }

    const PROJECT: i64 = 7;
    const SLOT: Slot = 3;

    fn put_row(connection: &Connection, position: u64, value: &str) -> Entry {
        let values = Record::pack([(SLOT, value)]);
        let row = (key(PROJECT, position), position.to_be_bytes(), values.as_bytes());
        connection.execute("INSERT OR REPLACE INTO rows (key, id, vals) VALUES (?1, ?2, ?3)", row).unwrap();
        (lookup::hash_of(SLOT, &values.cells().unwrap()).unwrap(), position)
    }

    fn entries(connection: &Connection) -> Vec<Entry> {
        let sql =
            "SELECT hash, position FROM lookups WHERE project = ?1 AND slot = ?2 ORDER BY hash, position";
        let mut query = connection.prepare(sql).unwrap();
        let found = query.query_map((PROJECT, SLOT), |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        found.collect::<rusqlite::Result<_>>().unwrap()
    }

    /// What a write does beside the row itself.
    fn change(connection: &Connection, entry: Entry, is_there: bool) {
        let sql = if is_there {
            "INSERT INTO lookups (project, slot, hash, position) VALUES (?1, ?2, ?3, ?4)"
        } else {
            "DELETE FROM lookups WHERE project = ?1 AND slot = ?2 AND hash = ?3 AND position = ?4"
        };
        connection.execute(sql, (PROJECT, SLOT, entry.0, entry.1)).unwrap();
        note(connection, PROJECT, SLOT, entry, is_there).unwrap();
    }

    #[test]
    fn rows_that_change_while_they_are_indexed_are_indexed_as_they_are_in_the_end() {
        let mut connection = Connection::open_in_memory().unwrap();
        crate::schema::migrate(&mut connection).unwrap();
        prepare(&connection).unwrap();
        let mut old: Vec<Entry> = (0..6).map(|position| put_row(&connection, position, "\"old\"")).collect();
        assert!(!begin(&connection, PROJECT, SLOT).unwrap());
        let mut pass = Pass::behind(None);
        while pass.read(&connection, PROJECT, SLOT).unwrap() {}
        // The second row gets another value, the third another and its old one again, and the last one comes late.
        let new = put_row(&connection, 1, "\"new\"");
        change(&connection, old[1], false);
        change(&connection, new, true);
        change(&connection, old[2], false);
        change(&connection, old[2], true);
        let late = put_row(&connection, 6, "\"late\"");
        change(&connection, late, true);
        let (read, last) = pass.finish();
        assert_eq!((&read, last), (&old, None));
        assert!(write(&connection, PROJECT, SLOT, &read).unwrap());
        end(&connection, PROJECT, SLOT).unwrap();
        old.remove(1);
        old.extend([new, late]);
        old.sort_unstable();
        assert_eq!(entries(&connection), old);
        assert!(begin(&connection, PROJECT, SLOT).unwrap());
        assert!(!write(&connection, PROJECT, SLOT, &read).unwrap());
        // In one transaction it comes to the same.
        connection.execute_batch("DELETE FROM lookups; DELETE FROM lookup_columns").unwrap();
        // One that was given up notes nothing.
        begin(&connection, PROJECT, SLOT).unwrap();
        note(&connection, PROJECT, SLOT, new, false).unwrap();
        give_up(&connection, PROJECT, SLOT).unwrap();
        assert!(slots_under_way(&connection, PROJECT).unwrap().is_empty());
        ensure(&connection, PROJECT, SLOT).unwrap();
        assert_eq!(entries(&connection), old);
    }
}

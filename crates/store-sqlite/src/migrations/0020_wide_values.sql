-- Values over a few kilobytes, each by itself, so that nobody reads or writes them for another cell of their row. A row
-- notes its slots in wide (four bytes each, in order), and in wide_bytes how many bytes its values take beyond those in
-- vals. Both are null where all values are in vals, as in rows that were written before this table.
-- key is the key of the row with its project's number positive, also while the row is in the trash.
-- Not WITHOUT ROWID: large values in the leaves of an index would leave room for few entries on a page.
CREATE TABLE wide_values (
    key   INTEGER NOT NULL,
    slot  INTEGER NOT NULL,
    value BLOB NOT NULL,
    PRIMARY KEY (key, slot)
);
ALTER TABLE rows ADD COLUMN wide BLOB;
ALTER TABLE rows ADD COLUMN wide_bytes INTEGER;

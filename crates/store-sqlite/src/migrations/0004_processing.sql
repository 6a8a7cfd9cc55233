-- A cell's status stands in its block; what else is known of it stays with its row.
ALTER TABLE rows RENAME COLUMN states TO details;

-- The marks of 256 rows each. key = project << 32 | block, block = position >> 8.
CREATE TABLE blocks (
    key   INTEGER PRIMARY KEY,
    marks BLOB NOT NULL
);

-- How many cells and rows of a project stand where.
CREATE TABLE tallies (
    project    INTEGER PRIMARY KEY,
    tally      TEXT NOT NULL,
    updated_at INTEGER NOT NULL
);

-- The blocks in which a column has cells that a worker may take.
CREATE TABLE ready (
    project INTEGER NOT NULL,
    slot    INTEGER NOT NULL,
    block   INTEGER NOT NULL,
    PRIMARY KEY (project, slot, block)
) WITHOUT ROWID;

-- Cells that wait for the time of their next try.
CREATE TABLE retries (
    at       INTEGER NOT NULL,
    project  INTEGER NOT NULL,
    slot     INTEGER NOT NULL,
    position INTEGER NOT NULL,
    PRIMARY KEY (at, project, slot, position)
) WITHOUT ROWID;

-- Who takes cells, and until when they are believed to live.
CREATE TABLE workers (
    id         BLOB PRIMARY KEY,
    expires_at INTEGER NOT NULL
) WITHOUT ROWID;

-- What they hold: cells of one column in one block, a bit each.
CREATE TABLE claims (
    token   INTEGER PRIMARY KEY AUTOINCREMENT,
    worker  BLOB NOT NULL,
    project INTEGER NOT NULL,
    slot    INTEGER NOT NULL,
    block   INTEGER NOT NULL,
    places  BLOB NOT NULL
);
CREATE INDEX claims_by_block ON claims (project, block, slot);
CREATE INDEX claims_by_worker ON claims (worker);

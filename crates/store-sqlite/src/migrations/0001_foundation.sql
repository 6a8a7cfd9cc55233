-- Teams and the keys that speak for them.
CREATE TABLE teams (
    id         BLOB PRIMARY KEY,
    slug       TEXT NOT NULL UNIQUE,
    name       TEXT NOT NULL,
    created_at INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE keys (
    id           BLOB PRIMARY KEY,
    team         BLOB NOT NULL,
    name         TEXT NOT NULL,
    hash         BLOB NOT NULL,
    created_at   INTEGER NOT NULL,
    last_used_at INTEGER
) WITHOUT ROWID;

-- A project is one document (columns and views included); what lists need stands beside it.
-- num is the project's short number: it leads the key of every row.
CREATE TABLE projects (
    num          INTEGER PRIMARY KEY AUTOINCREMENT,
    id           BLOB NOT NULL UNIQUE,
    team         BLOB NOT NULL,
    title        TEXT NOT NULL,
    autoplay     INTEGER NOT NULL,
    folder_id    TEXT,
    column_count INTEGER NOT NULL,
    created_at   INTEGER NOT NULL,
    version      INTEGER NOT NULL,
    document     TEXT NOT NULL,
    views        TEXT NOT NULL
);
CREATE INDEX projects_by_team ON projects (team, created_at, num);

-- What changes with every row, apart from the document, so that inserting does not rewrite it.
CREATE TABLE counters (
    project       INTEGER PRIMARY KEY,
    row_count     INTEGER NOT NULL,
    next_position INTEGER NOT NULL,
    change_seq    INTEGER NOT NULL
);

-- key = project << 40 | position: a project's rows lie together, in order of creation.
CREATE TABLE rows (
    key    INTEGER PRIMARY KEY,
    id     BLOB NOT NULL,
    vals   BLOB NOT NULL,
    states BLOB
);
CREATE UNIQUE INDEX rows_by_id ON rows (id);

-- How many rows are live in each run of 2^8 (level 0), 2^14 (level 1) and 2^20 (level 2) positions.
-- With it a page is found by arithmetic, wherever it starts and however much was deleted.
CREATE TABLE live (
    project INTEGER NOT NULL,
    level   INTEGER NOT NULL,
    segment INTEGER NOT NULL,
    count   INTEGER NOT NULL,
    PRIMARY KEY (project, level, segment)
) WITHOUT ROWID;

-- Columns that rows are matched on, and where each value stands.
CREATE TABLE lookup_columns (
    project INTEGER NOT NULL,
    slot    INTEGER NOT NULL,
    PRIMARY KEY (project, slot)
) WITHOUT ROWID;

CREATE TABLE lookups (
    project  INTEGER NOT NULL,
    slot     INTEGER NOT NULL,
    hash     INTEGER NOT NULL,
    position INTEGER NOT NULL,
    PRIMARY KEY (project, slot, hash, position)
) WITHOUT ROWID;

-- Answers kept for requests that carry an idempotency key.
CREATE TABLE receipts (
    name        BLOB PRIMARY KEY,
    fingerprint BLOB NOT NULL,
    outcome     TEXT NOT NULL,
    expires_at  INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX receipts_by_expiry ON receipts (expires_at);

-- Deleted projects whose rows are still being swept up.
CREATE TABLE graves (
    project INTEGER PRIMARY KEY
);

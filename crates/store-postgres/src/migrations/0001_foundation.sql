-- Teams and the keys that speak for them.
CREATE TABLE rowmill.teams (
    id         uuid PRIMARY KEY,
    slug       text NOT NULL UNIQUE,
    name       text NOT NULL,
    created_at int8 NOT NULL
);

CREATE TABLE rowmill.keys (
    id           uuid PRIMARY KEY,
    team         uuid NOT NULL,
    name         text NOT NULL,
    hash         bytea NOT NULL,
    created_at   int8 NOT NULL,
    last_used_at int8
);

-- What teams keep sealed: credentials and secrets. Only the holder of the sealing key can read the bytes.
CREATE TABLE rowmill.sealed (
    team       uuid NOT NULL,
    kind       text NOT NULL,
    name       text NOT NULL,
    bytes      bytea NOT NULL,
    updated_at int8 NOT NULL,
    PRIMARY KEY (team, kind, name)
);

-- Answers kept for requests that carry an idempotency key.
CREATE TABLE rowmill.receipts (
    name        bytea PRIMARY KEY,
    fingerprint bytea NOT NULL,
    outcome     text NOT NULL,
    expires_at  int8 NOT NULL
);
CREATE INDEX receipts_by_expiry ON rowmill.receipts (expires_at);

-- A project is one document (columns and views included); what lists need stands beside it.
-- project is its short number: it leads the key of everything a project has.
CREATE TABLE rowmill.projects (
    project      int8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id           uuid NOT NULL UNIQUE,
    team         uuid NOT NULL,
    title        text NOT NULL,
    autoplay     boolean NOT NULL,
    folder_id    text,
    column_count int8 NOT NULL,
    created_at   int8 NOT NULL,
    event_id     text,
    document     text NOT NULL,
    views        text NOT NULL
);
CREATE INDEX projects_by_team ON rowmill.projects (team, created_at, project);
CREATE INDEX projects_by_event ON rowmill.projects (team, event_id) WHERE event_id IS NOT NULL;

-- What changes with every row, apart from the document. Whoever changes anything of a project locks this
-- row first, and all it must know is in it: what a statement that waited for a lock sees of other tables
-- may be older than the lock. Room is left on each page so that an update stays on its page.
CREATE TABLE rowmill.counters (
    project       int8 PRIMARY KEY,
    id            uuid NOT NULL UNIQUE,
    version       int8 NOT NULL,
    row_count     int8 NOT NULL,
    next_position int8 NOT NULL,
    change_seq    int8 NOT NULL,
    -- The columns rows are matched on.
    lookup_slots  int8[] NOT NULL,
    -- How many cells and rows stand where, and when that last changed.
    tally         text,
    tallied_at    int8
) WITH (fillfactor = 40, autovacuum_vacuum_scale_factor = 0.02);

CREATE TABLE rowmill.rows (
    project  int8 NOT NULL,
    position int8 NOT NULL,
    id       uuid NOT NULL,
    vals     bytea NOT NULL,
    details  bytea,
    PRIMARY KEY (project, position)
) WITH (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.05);
CREATE UNIQUE INDEX rows_by_id ON rowmill.rows (project, id);

-- How many rows are live in each run of 2^8 (level 0), 2^14 (level 1) and 2^20 (level 2) positions.
CREATE TABLE rowmill.live (
    project int8 NOT NULL,
    level   int8 NOT NULL,
    segment int8 NOT NULL,
    count   int8 NOT NULL,
    PRIMARY KEY (project, level, segment)
) WITH (fillfactor = 70);

-- Where each value stands in the columns that rows are matched on.
CREATE TABLE rowmill.lookups (
    project  int8 NOT NULL,
    slot     int8 NOT NULL,
    hash     int8 NOT NULL,
    position int8 NOT NULL,
    PRIMARY KEY (project, slot, hash, position)
);

-- One row a guest and project, whoever comes first. event_at is the time of the last event taken.
CREATE TABLE rowmill.guests (
    project  int8 NOT NULL,
    guest_id text NOT NULL,
    position int8 NOT NULL,
    event_at int8 NOT NULL,
    PRIMARY KEY (project, guest_id)
);

-- Deleted projects whose rows are still being swept up.
CREATE TABLE rowmill.graves (
    project int8 PRIMARY KEY
);

-- The marks of 256 rows each: block = position >> 8.
CREATE TABLE rowmill.blocks (
    project int8 NOT NULL,
    block   int8 NOT NULL,
    marks   bytea NOT NULL,
    PRIMARY KEY (project, block)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);
-- Beside its key, not in a table apart: a block is read whole or not at all.
ALTER TABLE rowmill.blocks ALTER COLUMN marks SET STORAGE MAIN;

-- The blocks in which a column has cells that a worker may take.
CREATE TABLE rowmill.ready (
    project int8 NOT NULL,
    slot    int8 NOT NULL,
    block   int8 NOT NULL,
    PRIMARY KEY (project, slot, block)
) WITH (autovacuum_vacuum_scale_factor = 0.02);

-- Cells that wait for the time of their next try.
CREATE TABLE rowmill.retries (
    project  int8 NOT NULL,
    at       int8 NOT NULL,
    slot     int8 NOT NULL,
    position int8 NOT NULL,
    PRIMARY KEY (project, at, slot, position)
) WITH (autovacuum_vacuum_scale_factor = 0.02);

-- What workers hold: cells of one column in one block, a byte for each place. Tokens are handed out to
-- nodes a thousand at a time.
CREATE TABLE rowmill.claims (
    project int8 NOT NULL,
    token   int8 NOT NULL,
    worker  uuid NOT NULL,
    slot    int8 NOT NULL,
    block   int8 NOT NULL,
    places  bytea NOT NULL,
    PRIMARY KEY (project, token)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);
CREATE INDEX claims_by_block ON rowmill.claims (project, block);
CREATE INDEX claims_by_worker ON rowmill.claims (worker);
CREATE SEQUENCE rowmill.tokens INCREMENT BY 1000;

-- Who takes cells, and until when they are believed to live, by the database's clock.
CREATE TABLE rowmill.workers (
    id         uuid PRIMARY KEY,
    expires_at int8 NOT NULL
) WITH (fillfactor = 50);

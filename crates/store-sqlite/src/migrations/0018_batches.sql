-- Batches of cells that a provider works off. The id is also the worker that the cells are claimed by. holder looks after
-- the batch until held_until; record is JSON.
CREATE TABLE batches (
    id         BLOB PRIMARY KEY,
    team       BLOB NOT NULL,
    project    BLOB NOT NULL,
    slot       INTEGER NOT NULL,
    since      INTEGER NOT NULL,
    due_at     INTEGER NOT NULL,
    holder     BLOB NOT NULL,
    held_until INTEGER NOT NULL,
    record     TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX batches_of_project ON batches (project);
CREATE INDEX batches_by_time ON batches (due_at);

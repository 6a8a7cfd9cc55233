-- Imports that run in the background. A file is in import_parts, as it was sent, while has_file is 1.
-- status: receiving, queued, running, finished, failed, cancelled; dropped is one whose file did not come to its end.
CREATE TABLE imports (
    id          BLOB PRIMARY KEY,
    team        BLOB NOT NULL,
    project     BLOB NOT NULL,
    status      TEXT NOT NULL,
    request     TEXT NOT NULL,
    has_file    INTEGER NOT NULL DEFAULT 1,
    file_bytes  INTEGER NOT NULL DEFAULT 0,
    created_at  INTEGER NOT NULL,
    started_at  INTEGER,
    ended_at    INTEGER,
    holder      BLOB,
    lease_until INTEGER NOT NULL,
    claims      INTEGER NOT NULL DEFAULT 0,
    step        INTEGER NOT NULL DEFAULT 0,
    rows_read   INTEGER NOT NULL DEFAULT 0,
    bytes_read  INTEGER NOT NULL DEFAULT 0,
    inserted    INTEGER NOT NULL DEFAULT 0,
    updated     INTEGER NOT NULL DEFAULT 0,
    unchanged   INTEGER NOT NULL DEFAULT 0,
    rejected    INTEGER NOT NULL DEFAULT 0,
    fields      TEXT,
    outcome     TEXT
) WITHOUT ROWID;
CREATE INDEX imports_by_project ON imports (project, created_at);
CREATE INDEX imports_by_team ON imports (team, ended_at);
CREATE INDEX imports_open ON imports (created_at) WHERE ended_at IS NULL;
CREATE INDEX imports_by_end ON imports (ended_at) WHERE ended_at IS NOT NULL;

CREATE TABLE import_parts (
    import BLOB NOT NULL,
    number INTEGER NOT NULL,
    bytes  BLOB NOT NULL,
    PRIMARY KEY (import, number)
);

-- What was noted of rejected rows, by the step that it was noted with.
CREATE TABLE import_rejections (
    import BLOB NOT NULL,
    step   INTEGER NOT NULL,
    rows   TEXT NOT NULL,
    PRIMARY KEY (import, step)
);

-- Imports that run in the background. A file is in import_parts, as it was sent, while has_file is true.
-- status: receiving, queued, running, finished, failed, cancelled; dropped is one whose file did not come to its end.
CREATE TABLE rowmill.imports (
    id          uuid PRIMARY KEY,
    team        uuid NOT NULL,
    project     uuid NOT NULL,
    status      text NOT NULL,
    request     text NOT NULL,
    has_file    boolean NOT NULL DEFAULT true,
    file_bytes  int8 NOT NULL DEFAULT 0,
    created_at  int8 NOT NULL,
    started_at  int8,
    ended_at    int8,
    holder      uuid,
    lease_until int8 NOT NULL,
    claims      int8 NOT NULL DEFAULT 0,
    step        int8 NOT NULL DEFAULT 0,
    rows_read   int8 NOT NULL DEFAULT 0,
    bytes_read  int8 NOT NULL DEFAULT 0,
    inserted    int8 NOT NULL DEFAULT 0,
    updated     int8 NOT NULL DEFAULT 0,
    unchanged   int8 NOT NULL DEFAULT 0,
    rejected    int8 NOT NULL DEFAULT 0,
    fields      text,
    outcome     text
);
CREATE INDEX imports_by_project ON rowmill.imports (project, created_at);
CREATE INDEX imports_by_team ON rowmill.imports (team, ended_at);
CREATE INDEX imports_open ON rowmill.imports (created_at) WHERE ended_at IS NULL;
CREATE INDEX imports_by_end ON rowmill.imports (ended_at) WHERE ended_at IS NOT NULL;

CREATE TABLE rowmill.import_parts (
    import uuid NOT NULL,
    number int8 NOT NULL,
    bytes  bytea NOT NULL,
    PRIMARY KEY (import, number)
);
-- Files are often compressed already.
ALTER TABLE rowmill.import_parts ALTER COLUMN bytes SET STORAGE EXTERNAL;

-- What was noted of rejected rows, by the step that it was noted with.
CREATE TABLE rowmill.import_rejections (
    import uuid NOT NULL,
    step   int8 NOT NULL,
    rows   text NOT NULL,
    PRIMARY KEY (import, step)
);

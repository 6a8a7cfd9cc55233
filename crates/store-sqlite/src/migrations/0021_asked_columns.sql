-- Columns of projects that questions asked for, so that they can be loaded after a start before anybody asks. A hint, and
-- not data. asked_at is when this was last written. columns is JSON, the newest first.
CREATE TABLE asked_columns (
    project  INTEGER PRIMARY KEY,
    asked_at INTEGER NOT NULL,
    columns  TEXT NOT NULL
);

-- Browsers that are signed in. A session stands for a key, and ends with it.
CREATE TABLE sessions (
    id         BLOB PRIMARY KEY,
    team       BLOB NOT NULL,
    key        BLOB NOT NULL,
    browser    TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    seen_at    INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX sessions_by_team ON sessions (team, created_at);
CREATE INDEX sessions_by_expiry ON sessions (expires_at);

-- Browsers that are signed in. A session stands for a key, and ends with it.
CREATE TABLE rowmill.sessions (
    id         uuid PRIMARY KEY,
    team       uuid NOT NULL,
    key        uuid NOT NULL,
    browser    text NOT NULL,
    created_at int8 NOT NULL,
    seen_at    int8 NOT NULL,
    expires_at int8 NOT NULL
);
CREATE INDEX sessions_by_team ON rowmill.sessions (team, created_at);
CREATE INDEX sessions_by_expiry ON rowmill.sessions (expires_at);

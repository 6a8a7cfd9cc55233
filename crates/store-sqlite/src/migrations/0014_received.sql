-- What inbound webhooks received. hook and project are NULL for the event platform's webhook. bytes is what a delivery
-- counts. The body comes last, so that the rest is read without it.
CREATE TABLE received (
    num         INTEGER PRIMARY KEY AUTOINCREMENT,
    team        BLOB NOT NULL,
    hook        BLOB,
    project     BLOB,
    received_at INTEGER NOT NULL,
    status      INTEGER NOT NULL,
    bytes       INTEGER NOT NULL,
    body_bytes  INTEGER NOT NULL,
    head        TEXT NOT NULL,
    log         TEXT NOT NULL,
    body        BLOB NOT NULL
);
CREATE INDEX received_of ON received (team, num, bytes);
CREATE INDEX received_by_time ON received (received_at);

-- How much there is of each team, so that nothing must be summed up when more comes in.
CREATE TABLE received_totals (
    team  BLOB PRIMARY KEY,
    count INTEGER NOT NULL,
    bytes INTEGER NOT NULL
) WITHOUT ROWID;

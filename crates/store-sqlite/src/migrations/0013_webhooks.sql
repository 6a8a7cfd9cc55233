-- The outbound webhooks of each team, as one document; subscriptions is what writers must know of them, NULL if nobody is
-- to be told of anything.
CREATE TABLE webhooks (
    team          BLOB PRIMARY KEY,
    version       INTEGER NOT NULL,
    document      TEXT NOT NULL,
    subscriptions TEXT
) WITHOUT ROWID;

-- The outbox: a delivery is written in the transaction that it tells of. due_at is NULL once it is done; while a node is
-- at it, it is the end of the lease. The body comes last, so that the rest is read without it.
CREATE TABLE deliveries (
    num        INTEGER PRIMARY KEY AUTOINCREMENT,
    team       BLOB NOT NULL,
    webhook    BLOB NOT NULL,
    event      TEXT NOT NULL,
    project    BLOB,
    seq        INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    due_at     INTEGER,
    status     INTEGER NOT NULL DEFAULT 0,
    attempts   INTEGER NOT NULL DEFAULT 0,
    bytes      INTEGER NOT NULL,
    log        TEXT,
    body       TEXT NOT NULL
);
CREATE INDEX deliveries_due ON deliveries (webhook, due_at, num, bytes) WHERE due_at IS NOT NULL;
CREATE INDEX deliveries_of ON deliveries (webhook, num);

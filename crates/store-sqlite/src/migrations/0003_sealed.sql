-- What teams keep sealed: credentials and secrets. Only the holder of the sealing key can read the bytes.
CREATE TABLE sealed (
    team       BLOB NOT NULL,
    kind       TEXT NOT NULL,
    name       TEXT NOT NULL,
    bytes      BLOB NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (team, kind, name)
) WITHOUT ROWID;

-- What each team has set: its own prices, and its caps, as one document. run_caps is 1 once a run had a
-- cap of its own.
CREATE TABLE spending_settings (
    team     BLOB PRIMARY KEY,
    version  INTEGER NOT NULL,
    run_caps INTEGER NOT NULL DEFAULT 0,
    document TEXT NOT NULL
) WITHOUT ROWID;

-- What was used, in thousand-millionths of a dollar and of a credit; NULL if nobody told. A day is counted from 1970.
CREATE TABLE ledger (
    team          BLOB NOT NULL,
    day           INTEGER NOT NULL,
    project       BLOB NOT NULL,
    col           TEXT NOT NULL,
    provider      TEXT NOT NULL,
    person        TEXT NOT NULL,
    calls         INTEGER NOT NULL,
    input_tokens  INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    usd           INTEGER,
    credits       INTEGER,
    PRIMARY KEY (team, day, project, col, provider, person)
) WITHOUT ROWID;
CREATE INDEX ledger_of_column ON ledger (project, col, day);

-- What is set aside for the cells that a worker runs. It counts while the worker is known.
CREATE TABLE reservations (
    worker    BLOB NOT NULL,
    project   BLOB NOT NULL,
    slot      INTEGER NOT NULL,
    team      BLOB NOT NULL,
    providers TEXT NOT NULL,
    usd       INTEGER NOT NULL,
    credits   INTEGER NOT NULL,
    PRIMARY KEY (worker, project, slot)
) WITHOUT ROWID;
CREATE INDEX reservations_of_team ON reservations (team);

-- The cap of a project's run; only the last run's matters.
CREATE TABLE run_caps (
    project BLOB PRIMARY KEY,
    run     INTEGER NOT NULL,
    usd     INTEGER,
    credits INTEGER
) WITHOUT ROWID;

-- The caps that webhooks were told of, each once in its period.
CREATE TABLE spending_notices (
    team   BLOB NOT NULL,
    cap    TEXT NOT NULL,
    period TEXT NOT NULL,
    at     INTEGER NOT NULL,
    PRIMARY KEY (team, cap, period)
) WITHOUT ROWID;

-- What runs were estimated to take, to be compared with what they took.
CREATE TABLE run_estimates (
    project  BLOB NOT NULL,
    run      INTEGER NOT NULL,
    document TEXT NOT NULL,
    PRIMARY KEY (project, run)
) WITHOUT ROWID;

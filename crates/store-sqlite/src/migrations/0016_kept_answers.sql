-- Tries to fill a cell. NULL in lines of older versions, in which a call was a try.
ALTER TABLE ledger ADD COLUMN tries INTEGER;
-- Old lines are removed by day.
CREATE INDEX ledger_by_day ON ledger (day);

-- Answers of providers that are used again. at is when an answer was kept; the oldest go first.
CREATE TABLE kept_answers (
    name       BLOB PRIMARY KEY,
    team       BLOB NOT NULL,
    at         INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    bytes      INTEGER NOT NULL,
    answer     TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX kept_answers_of_team ON kept_answers (team, at, bytes);
CREATE INDEX kept_answers_by_expiry ON kept_answers (expires_at);

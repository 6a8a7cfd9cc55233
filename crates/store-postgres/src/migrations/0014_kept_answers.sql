-- Tries to fill a cell. NULL in lines of older versions, in which a call was a try.
ALTER TABLE rowmill.ledger ADD COLUMN tries int8;
-- Old lines are removed by day.
CREATE INDEX ledger_by_day ON rowmill.ledger (day);

-- Answers of providers that are used again. at is when an answer was kept; the oldest go first.
CREATE TABLE rowmill.kept_answers (
    name       bytea PRIMARY KEY,
    team       uuid NOT NULL,
    at         int8 NOT NULL,
    expires_at int8 NOT NULL,
    bytes      int8 NOT NULL,
    answer     text NOT NULL
);
CREATE INDEX kept_answers_of_team ON rowmill.kept_answers (team, at, bytes);
CREATE INDEX kept_answers_by_expiry ON rowmill.kept_answers (expires_at);

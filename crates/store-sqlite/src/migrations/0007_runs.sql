-- Runs that are over, by their number in the project. The present one stands with the counts.
CREATE TABLE runs (
    project  INTEGER NOT NULL,
    number   INTEGER NOT NULL,
    ended_at INTEGER NOT NULL,
    run      TEXT NOT NULL,
    PRIMARY KEY (project, number)
) WITHOUT ROWID;

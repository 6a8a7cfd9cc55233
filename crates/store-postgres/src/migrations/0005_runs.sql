-- Runs that are over, by their number in the project. The present one stands with the counters.
CREATE TABLE rowmill.runs (
    project  int8 NOT NULL,
    number   int8 NOT NULL,
    ended_at int8 NOT NULL,
    run      text NOT NULL,
    PRIMARY KEY (project, number)
);

-- What each team has set: its own prices, and its caps, as one document. run_caps is 1 once a run had a
-- cap of its own.
CREATE TABLE rowmill.spending_settings (
    team     uuid PRIMARY KEY,
    version  int8 NOT NULL,
    run_caps int8 NOT NULL DEFAULT 0,
    document text NOT NULL
);

-- What was used, in thousand-millionths of a dollar and of a credit; NULL if nobody told. A day is counted from 1970.
CREATE TABLE rowmill.ledger (
    team          uuid NOT NULL,
    day           int8 NOT NULL,
    project       uuid NOT NULL,
    col           text NOT NULL,
    provider      text NOT NULL,
    person        text NOT NULL,
    calls         int8 NOT NULL,
    input_tokens  int8 NOT NULL,
    output_tokens int8 NOT NULL,
    usd           int8,
    credits       int8,
    PRIMARY KEY (team, day, project, col, provider, person)
);
CREATE INDEX ledger_of_column ON rowmill.ledger (project, col, day);

-- What is set aside for the cells that a worker runs. It counts while the worker is known.
CREATE TABLE rowmill.reservations (
    worker    uuid NOT NULL,
    project   uuid NOT NULL,
    slot      int8 NOT NULL,
    team      uuid NOT NULL,
    providers text NOT NULL,
    usd       int8 NOT NULL,
    credits   int8 NOT NULL,
    PRIMARY KEY (worker, project, slot)
);
CREATE INDEX reservations_of_team ON rowmill.reservations (team);

-- The cap of a project's run; only the last run's matters.
CREATE TABLE rowmill.run_caps (
    project uuid PRIMARY KEY,
    run     int8 NOT NULL,
    usd     int8,
    credits int8
);

-- The caps that webhooks were told of, each once in its period.
CREATE TABLE rowmill.spending_notices (
    team   uuid NOT NULL,
    cap    text NOT NULL,
    period text NOT NULL,
    at     int8 NOT NULL,
    PRIMARY KEY (team, cap, period)
);

-- What runs were estimated to take, to be compared with what they took.
CREATE TABLE rowmill.run_estimates (
    project  uuid NOT NULL,
    run      int8 NOT NULL,
    document text NOT NULL,
    PRIMARY KEY (project, run)
);

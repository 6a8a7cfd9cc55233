-- Batches of cells that a provider works off. The id is also the worker that the cells are claimed by. holder looks after
-- the batch until held_until; record is JSON.
CREATE TABLE rowmill.batches (
    id         uuid PRIMARY KEY,
    team       uuid NOT NULL,
    project    uuid NOT NULL,
    slot       int8 NOT NULL,
    since      int8 NOT NULL,
    due_at     int8 NOT NULL,
    holder     uuid NOT NULL,
    held_until int8 NOT NULL,
    record     text NOT NULL
);
CREATE INDEX batches_of_project ON rowmill.batches (project);
CREATE INDEX batches_by_time ON rowmill.batches (due_at);

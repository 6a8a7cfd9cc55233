-- Columns of projects that questions asked for, so that they can be loaded after a start before anybody asks. A hint, and
-- not data. asked_at is when this was last written. columns is JSON, the newest first.
CREATE TABLE rowmill.asked_columns (
    project  int8 PRIMARY KEY,
    asked_at int8 NOT NULL,
    columns  text NOT NULL
);

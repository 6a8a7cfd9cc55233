-- Rows in the trash stay in `rows`, under their project's number turned negative, and the marks of their cells in `blocks`
-- likewise: they keep their position and are in nobody's way. Each entry here is what was deleted together of one block
-- of 256 positions; batch is the change sequence of the deletion. An entry that was emptied out has a negative project
-- and the time 0, until it is swept up.
CREATE TABLE rowmill.trash (
    project    int8 NOT NULL,
    batch      int8 NOT NULL,
    block      int8 NOT NULL,
    places     bytea NOT NULL,
    deleted_at int8 NOT NULL,
    deleted_by uuid,
    PRIMARY KEY (project, batch, block)
);
CREATE INDEX trash_by_block ON rowmill.trash (project, block);
CREATE INDEX trash_by_time ON rowmill.trash (deleted_at);

-- How many rows a project has in the trash.
ALTER TABLE rowmill.counters ADD COLUMN trashed_count int8 NOT NULL DEFAULT 0;

-- When the first of the columns and views in the trash was deleted, which are part of the document.
ALTER TABLE rowmill.projects ADD COLUMN trash_since int8;
CREATE INDEX projects_by_trash ON rowmill.projects (trash_since) WHERE trash_since IS NOT NULL;

-- Where the rows of guests lay that got other rows since.
CREATE TABLE rowmill.past_guests (
    project  int8 NOT NULL,
    position int8 NOT NULL,
    guest_id text NOT NULL,
    PRIMARY KEY (project, position)
);

-- Deleted projects that can be restored, as they were in `projects` and `counters`. Everything else of them stays where
-- it is.
CREATE TABLE rowmill.trashed_projects (
    project       int8 PRIMARY KEY,
    id            uuid NOT NULL UNIQUE,
    team          uuid NOT NULL,
    title         text NOT NULL,
    autoplay      boolean NOT NULL,
    folder_id     text,
    column_count  int8 NOT NULL,
    created_at    int8 NOT NULL,
    event_id      text,
    document      text NOT NULL,
    views         text NOT NULL,
    trash_since   int8,
    version       int8 NOT NULL,
    row_count     int8 NOT NULL,
    next_position int8 NOT NULL,
    change_seq    int8 NOT NULL,
    lookup_slots  int8[] NOT NULL,
    tally         text,
    tallied_at    int8,
    trashed_count int8 NOT NULL,
    value_bytes   int8 NOT NULL,
    value_bytes_before int8,
    deleted_at    int8 NOT NULL,
    deleted_by    uuid
);
CREATE INDEX trashed_projects_by_team ON rowmill.trashed_projects (team, deleted_at, project);
CREATE INDEX trashed_projects_by_time ON rowmill.trashed_projects (deleted_at);

-- Rows in the trash stay in `rows`, under the key of their project's number turned negative, and the marks of their cells in
-- `blocks` likewise: they keep their position and are in nobody's way. Each entry here is what was deleted together of
-- one block of 256 positions; batch is the change sequence of the deletion. An entry that was emptied out has a negative
-- project and the time 0, until it is swept up.
CREATE TABLE trash (
    project    INTEGER NOT NULL,
    batch      INTEGER NOT NULL,
    block      INTEGER NOT NULL,
    places     BLOB NOT NULL,
    deleted_at INTEGER NOT NULL,
    deleted_by BLOB,
    PRIMARY KEY (project, batch, block)
) WITHOUT ROWID;
CREATE INDEX trash_by_block ON trash (project, block);
CREATE INDEX trash_by_time ON trash (deleted_at);

-- How many rows a project has in the trash.
ALTER TABLE counters ADD COLUMN trashed_count INTEGER NOT NULL DEFAULT 0;

-- When the first of the columns and views in the trash was deleted, which are part of the document.
ALTER TABLE projects ADD COLUMN trash_since INTEGER;
CREATE INDEX projects_by_trash ON projects (trash_since) WHERE trash_since IS NOT NULL;

-- Where the rows of guests lay that got other rows since.
CREATE TABLE past_guests (
    project  INTEGER NOT NULL,
    position INTEGER NOT NULL,
    guest_id TEXT NOT NULL,
    PRIMARY KEY (project, position)
) WITHOUT ROWID;

-- Deleted projects that can be restored, as they were in `projects`. Everything else of them stays where it is.
CREATE TABLE trashed_projects (
    num          INTEGER PRIMARY KEY,
    id           BLOB NOT NULL UNIQUE,
    team         BLOB NOT NULL,
    title        TEXT NOT NULL,
    autoplay     INTEGER NOT NULL,
    folder_id    TEXT,
    column_count INTEGER NOT NULL,
    created_at   INTEGER NOT NULL,
    version      INTEGER NOT NULL,
    document     TEXT NOT NULL,
    views        TEXT NOT NULL,
    event_id     TEXT,
    trash_since  INTEGER,
    deleted_at   INTEGER NOT NULL,
    deleted_by   BLOB
);
CREATE INDEX trashed_projects_by_team ON trashed_projects (team, deleted_at, num);
CREATE INDEX trashed_projects_by_time ON trashed_projects (deleted_at);

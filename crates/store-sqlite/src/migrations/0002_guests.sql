-- The event a project follows, where webhooks are to be processed for it.
ALTER TABLE projects ADD COLUMN event_id TEXT;
CREATE INDEX projects_by_event ON projects (team, event_id) WHERE event_id IS NOT NULL;

-- One row a guest and project, whoever comes first. event_at is the time of the last event taken.
CREATE TABLE guests (
    project  INTEGER NOT NULL,
    guest_id TEXT NOT NULL,
    position INTEGER NOT NULL,
    event_at INTEGER NOT NULL,
    PRIMARY KEY (project, guest_id)
) WITHOUT ROWID;

-- How many bytes the values of a project's rows take: value_bytes counts since the column is there, and
-- value_bytes_before is what they took then. NULL is not counted yet.
ALTER TABLE counters ADD COLUMN value_bytes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE counters ADD COLUMN value_bytes_before INTEGER DEFAULT 0;
UPDATE counters SET value_bytes_before = NULL WHERE row_count > 0;

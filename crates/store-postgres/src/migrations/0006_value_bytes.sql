-- How many bytes the values of a project's rows take: value_bytes counts since the column is there, and
-- value_bytes_before is what they took then. NULL is not counted yet.
ALTER TABLE rowmill.counters ADD COLUMN value_bytes int8 NOT NULL DEFAULT 0;
ALTER TABLE rowmill.counters ADD COLUMN value_bytes_before int8 DEFAULT 0;
UPDATE rowmill.counters SET value_bytes_before = NULL WHERE row_count > 0;

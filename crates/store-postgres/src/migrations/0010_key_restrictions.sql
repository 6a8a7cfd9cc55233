-- What keys are restricted to (JSON; NULL: to nothing), when they expire, and from which address they were last used.
ALTER TABLE rowmill.keys ADD COLUMN restrictions text;
ALTER TABLE rowmill.keys ADD COLUMN expires_at int8;
ALTER TABLE rowmill.keys ADD COLUMN last_used_from text;

-- What keys are restricted to (JSON; NULL: to nothing), when they expire, and from which address they were last used.
ALTER TABLE keys ADD COLUMN restrictions TEXT;
ALTER TABLE keys ADD COLUMN expires_at INTEGER;
ALTER TABLE keys ADD COLUMN last_used_from TEXT;

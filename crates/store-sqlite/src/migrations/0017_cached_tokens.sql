-- Of the input: the tokens that came from a server's cache, and those that it put there.
ALTER TABLE ledger ADD COLUMN cached_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE ledger ADD COLUMN cache_written_tokens INTEGER NOT NULL DEFAULT 0;

-- Of the input: the tokens that came from a server's cache, and those that it put there.
ALTER TABLE rowmill.ledger ADD COLUMN cached_tokens int8 NOT NULL DEFAULT 0;
ALTER TABLE rowmill.ledger ADD COLUMN cache_written_tokens int8 NOT NULL DEFAULT 0;

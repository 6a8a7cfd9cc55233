-- How often something is done by all nodes together: a credential asked, a caller let in. due holds, for
-- each rate, when the next one is due; times are nanoseconds of the database's clock. After a crash of the
-- server it is as if nothing had been done for a while.
CREATE UNLOGGED TABLE rowmill.turns (
    key         uuid PRIMARY KEY,
    due         bytea NOT NULL DEFAULT '',
    rests_until int8 NOT NULL DEFAULT 0,
    -- When nothing of the past matters any more.
    fresh_at    int8 NOT NULL DEFAULT 0
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);

-- Values over a few kilobytes, each by itself, so that nobody reads or writes them for another cell of their row. A row
-- notes its slots in wide (four bytes each, in order), and in wide_bytes how many bytes its values take beyond those in
-- vals. Both are null where all values are in vals, as in rows that were written before this table.
-- project and position are those of the row, with the project's number positive also while the row is in the trash.
CREATE TABLE rowmill.wide_values (
    project  int8 NOT NULL,
    position int8 NOT NULL,
    slot     int8 NOT NULL,
    value    bytea NOT NULL,
    PRIMARY KEY (project, position, slot)
);
ALTER TABLE rowmill.rows ADD COLUMN wide bytea, ADD COLUMN wide_bytes int8;

-- What a row notes, and behind it its wide values in these slots, each behind the eight bytes of its slot. Without slots,
-- all of them.
CREATE FUNCTION rowmill.wide_of(of_project int8, of_position int8, note bytea, slots int8[]) RETURNS bytea[]
LANGUAGE sql STABLE AS $$
    SELECT ARRAY[note] || ARRAY(
        SELECT int8send(w.slot) || w.value FROM rowmill.wide_values w
        WHERE w.project = abs(of_project) AND w.position = of_position AND (slots IS NULL OR w.slot = ANY(slots))
        ORDER BY w.slot
    )
$$;

-- How many bytes the wide values of a row take in these slots; without slots, what the row notes.
CREATE FUNCTION rowmill.wide_bytes_of(of_project int8, of_position int8, noted int8, slots int8[]) RETURNS int8
LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN slots IS NULL THEN noted ELSE (
        SELECT coalesce(sum(octet_length(w.value)), 0) FROM rowmill.wide_values w
        WHERE w.project = abs(of_project) AND w.position = of_position AND w.slot = ANY(slots)
    ) END
$$;

-- Rows are written again and again as their columns fill. With room for a second version of every row on its page,
-- a row stays on its page and no index hears of it. Pages that are full already stay as they are.
ALTER TABLE rowmill.rows SET (fillfactor = 45);

-- Ends a transaction that wrote over rows which are not as it knew them; it is tried again.
CREATE FUNCTION rowmill.moved_on() RETURNS int8 LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'rows have changed meanwhile' USING ERRCODE = 'serialization_failure';
END
$$;

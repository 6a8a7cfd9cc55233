-- Where indexing a column goes on. Null: all rows are indexed.
ALTER TABLE lookup_columns ADD COLUMN next_position INTEGER;

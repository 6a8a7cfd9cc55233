-- Values now match by their text, under other hashes. The first match on a column indexes it anew.
DELETE FROM lookups;
DELETE FROM lookup_columns;

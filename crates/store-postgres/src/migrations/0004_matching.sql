-- Values now match by their text, under other hashes. The first match on a column indexes it anew.
TRUNCATE rowmill.lookups;
UPDATE rowmill.counters SET lookup_slots = '{}' WHERE lookup_slots <> '{}';

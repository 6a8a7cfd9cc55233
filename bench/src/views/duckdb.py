"""Asks DuckDB what the service is asked: a page of 100 rows and the total, from a table in memory."""

import json
import sys
import time

import duckdb

table, cities, parts = sys.argv[1:]
connection = duckdb.connect()
connection.execute("CREATE TABLE t AS SELECT * FROM read_csv(?, header = true)", [table])


def ask(condition, direction, value):
    start = time.perf_counter()
    connection.execute(f"SELECT count(*) FROM t WHERE {condition}", [value]).fetchall()
    connection.execute(
        f"SELECT * FROM t WHERE {condition} ORDER BY lower(name) {direction}, id LIMIT 100", [value]
    ).fetchall()
    return (time.perf_counter() - start) * 1000


ask("lower(city) <> ?", "asc", "warm")
print(json.dumps({
    "most": [ask("lower(city) <> ?", "asc", city) for city in cities.split(",")],
    "few": [ask("contains(lower(company), ?)", "desc", part) for part in parts.split(",")],
}))

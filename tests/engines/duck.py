"""DuckDB alone, with what the rules of a log ask of an engine."""

from uuid import uuid4

import pyarrow as pa

from kip848_records.queries.duck import _database
from kip848_records.queries.tables import named_rows
from kip848_records.queries.texts import plain


class DuckEngine:
    name = "duckdb"

    def __init__(self):
        self._connection = _database().cursor()

    def relation(self, rows):
        return rows

    def columns(self, rows):
        return rows.schema.names

    def sql(self, text, **relations):
        names = {}
        for name, rows in relations.items():
            names[name] = f"t{uuid4().hex}"
            self._connection.register(names[name], rows)
        return self._connection.execute(plain(text).format(**names)).to_arrow_table()

    def map(self, work, rows, schema):
        return pa.Table.from_batches(
            [b.cast(schema) if b.schema != schema else b for b in work(rows.to_batches(max_chunksize=100))], schema
        )

    def map_sorted(self, work, rows, schema, *, key, order):
        return self.map(work, rows.sort_by([(name, "ascending") for name in (*key, *order)]), schema)

    def observed(self, rows, aggregate):
        text = f"SELECT {aggregate} AS found FROM {{rows}}"  # noqa: S608 - ours
        return rows, lambda: int(self.sql(text, rows=rows)["found"][0].as_py())

    def collect(self, rows):
        return named_rows(rows)

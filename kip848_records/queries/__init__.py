"""The reading side: questions are SQL over an audit's tables, one text each, which DuckDB and Spark both understand.

Rules for such a text:

- Functions have Spark's names. `duck.py` adds the missing ones to DuckDB: a new one is one line there.
- No lambdas and no `LATERAL VIEW`: write `explode` in its own SELECT.
- No function of both engines makes a list of structs: number the rows, and group them in Python.
- `ORDER BY` names enough columns for a total order. Nulls come first in ascending order, last in descending order.
- Division of integers gives a fraction.
- Write `offset` and `group` with the name of their table: `q.offset`.
- `concat` with a null is null in Spark, and skips it in DuckDB: where a part may be null, write `||`, which is null.
- A literal contains no quote: Spark and DuckDB escape it in different ways. Percentiles are rounded.
- Parameters are `:name`, and `CAST(:name AS type)` if the context does not give their type.
"""

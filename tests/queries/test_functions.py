"""Functions of SQL texts say what those of Python say; `test_both_engines.py` asks Spark for the same."""

import duckdb
import pytest

from kip848_records.queries.texts import plain
from kip848_records.text import count_text

NUMBERS = [
    0,
    1,
    2,
    999,
    1_000,
    1_001,
    20_034,
    999_999,
    1_000_000,
    1_234_567,
    27_194_001,
    10**9,
    10**12 + 5,
    2**52,
    2**63 - 1,
]


@pytest.mark.parametrize("number", NUMBERS)
def test_a_count_has_its_thousands_apart(number):
    query = f"SELECT {plain('counted(n, offset)')} FROM (SELECT {number}::bigint AS n)"  # noqa: S608 - ours
    ((said,),) = duckdb.sql(query).fetchall()
    assert said == count_text(number, "offset")

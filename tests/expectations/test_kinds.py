"""Expectations about single kinds of groups: which rows violate them, which do not, and which do not show it."""

from functools import cache

import pytest

from kip848_records.expectations import EXPECTATIONS
from kip848_records.queries.duck import DuckTables
from tests.expectations.cases import KINDS
from tests.expectations.evaluated import evaluated
from tests.expectations.kinds_cases import CASES
from tests.expectations.logs import VIOLATION

_BY_NAME = {each.name: each for each in EXPECTATIONS}


@pytest.fixture(scope="module")
def rows_of(made_kinds, settings):
    """The rows of a rule, of all groups: each is evaluated once."""
    tables = DuckTables(str(made_kinds))
    return cache(lambda rule: evaluated(tables, _BY_NAME[rule], settings[rule], cluster=KINDS))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_what_becomes_of_a_group(rows_of, case):
    found = [row for row in rows_of(case.rule) if row.group_id == case.group]
    if case.verdict == VIOLATION:
        assert case.found in [row.message for row in found if row.verdict == VIOLATION]
    else:
        assert {row.verdict for row in found} == {case.verdict} - {None}

"""Expectations about single kinds of groups: which rows violate them, which do not, and which do not show it."""

import pytest

from kip848_records.expectations import EXPECTATIONS
from kip848_records.queries.duck import DuckTables
from tests.expectations.conftest import KINDS
from tests.expectations.evaluated import evaluated
from tests.expectations.kinds_cases import CASES
from tests.expectations.logs import VIOLATION

_BY_NAME = {each.name: each for each in EXPECTATIONS}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_what_becomes_of_a_group(made_kinds, settings, case):
    rows = evaluated(DuckTables(str(made_kinds)), _BY_NAME[case.rule], settings[case.rule], cluster=KINDS)
    found = [row for row in rows if row.group_id == case.group]
    if case.verdict == VIOLATION:
        assert case.found in [row.message for row in found if row.verdict == VIOLATION]
    else:
        assert {row.verdict for row in found} == {case.verdict}

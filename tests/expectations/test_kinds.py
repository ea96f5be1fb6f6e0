"""Expectations about single kinds of groups: which rows violate them, which do not, and which do not show it."""

from functools import cache

import pytest

from kip848_records.check import check
from kip848_records.expectations import EXPECTATIONS
from kip848_records.expectations.results import NOT_APPLICABLE
from kip848_records.queries.duck import DuckTables
from kip848_records.queries.tables import Part
from tests.expectations.cases import CLUSTER, KINDS
from tests.expectations.evaluated import evaluated, noted
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


class Emptied(DuckTables):
    """Tables of which one has no rows."""

    def __init__(self, location, name):
        super().__init__(location)
        self._emptied = name

    def _parts(self, text, cluster):
        parts = super()._parts(text, cluster)
        return parts | {name: [Part(["none"], None)] for name in parts.keys() & {self._emptied}}


@pytest.mark.parametrize("rule", [each.name for each in EXPECTATIONS if each.rows_of is not None])
def test_without_rows_of_its_table_a_text_finds_nothing(made_kinds, audited, settings, rule):
    """So it need not be run."""
    found = []
    for folder, cluster in ((made_kinds, KINDS), (audited[0], CLUSTER)):
        asked = _BY_NAME[rule], settings[rule]
        found += evaluated(DuckTables(str(folder)), *asked, cluster=cluster)
        assert evaluated(Emptied(str(folder), _BY_NAME[rule].rows_of), *asked, cluster=cluster) == []
    assert found, "no log has what it looks for"


def test_a_text_is_not_run_without_rows_of_its_table(audited, settings):
    out, _ = audited
    tables = DuckTables(str(out))
    asked = noted(tables)
    of_kinds = [each for each in EXPECTATIONS if each.name in {"connect_delay", "unowned_time"}]
    unowned, connect = check(tables, settings, expectations=of_kinds, cluster=CLUSTER).results
    assert (unowned.name, connect.status, bool(unowned.passed + unowned.errors)) == (
        "unowned_time",
        NOT_APPLICABLE,
        True,
    )
    assert len(asked) == 1

"""What becomes of the logs in the dialect of the proposal's draft."""

import pytest

from kip848_records.check import check
from kip848_records.config import load_settings
from kip848_records.expectations import EXPECTATIONS
from kip848_records.queries.duck import DuckTables
from tests.expectations.cases import EARLY
from tests.expectations.early_cases import CASES, LOST
from tests.expectations.logs import GARBAGE, UNKNOWN, VIOLATION, line


@pytest.fixture(scope="module")
def results(audited):
    out, _ = audited
    rules = {rule for rule, _ in CASES}
    wanted = [each for each in EXPECTATIONS if each.name in rules]
    found = check(DuckTables(str(out)), load_settings(), expectations=wanted, cluster=EARLY)
    return {result.name: result for result in found.results}


@pytest.mark.parametrize(("rule", "group"), CASES)
def test_what_becomes_of_a_group(results, rule, group):
    verdict, _, found = CASES[rule, group]
    violations = [line(each) for each in results[rule].violations if each.group_id == group]
    unknown = [line(each) for each in results[rule].unknown if each.group_id == group]
    assert violations == ([found] if verdict == VIOLATION else [])
    assert unknown == ([found] if verdict == UNKNOWN else [])


def test_what_passes_has_been_looked_at(results):
    """Every group whose member decodes passes, unless something is wrong with the member."""
    members = [log for (_, log, _) in CASES.values() if log[0][0] == 5 and log[0][1] != GARBAGE]
    assert results["names_or_regex"].passed == len(members) - 1
    wrong = [
        found for (rule, _), (_, _, found) in CASES.items() if rule == "assignor_versions" and found not in (None, LOST)
    ]
    assert len(results["assignor_versions"].violations) == len(wrong)
    assert results["assignor_versions"].passed == len(members) - len(wrong)

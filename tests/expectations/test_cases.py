"""Every expectation has logs that violate it, that do not, and of which nobody can tell."""

import pytest

from kip848_records.expectations import EXPECTATIONS
from kip848_records.expectations.patterns import PATTERNS
from tests.expectations.cases import CASES
from tests.expectations.early_cases import CASES as EARLY_CASES
from tests.expectations.kinds_cases import CASES as KINDS_CASES
from tests.expectations.kinds_cases import OF_THE_LOG
from tests.expectations.logs import PASS, UNKNOWN, VIOLATION, line


@pytest.mark.parametrize("case", CASES, ids=str)
def test_what_becomes_of_a_group(checked, case):
    violations, unknown, passed = checked.of(case)
    assert all(each.partition == checked.partitions[case.group] for each in (*violations, *unknown, *passed))
    if case.verdict == VIOLATION:
        said = list(map(line, violations))
        assert (said[: len(case.found) - 1] if case.found[-1] == "..." else said) == [
            x for x in case.found if x != "..."
        ]
    elif case.verdict == PASS:
        assert passed
        assert not violations
        assert not unknown
    else:
        assert not violations
        assert set(case.found) <= set(map(line, unknown))
        assert unknown


def test_every_expectation_has_all_three():
    shown = {(case.rule, case.verdict) for case in CASES}
    shown |= {(rule, verdict) for (rule, _), (verdict, *_) in EARLY_CASES.items()}
    shown |= {(case.rule, case.verdict) for case in KINDS_CASES}
    # Groups in their partitions: see test_partitions.
    assert {(each.name, verdict) for each in EXPECTATIONS for verdict in (PASS, VIOLATION, UNKNOWN)} - shown == {
        # Whether an audit is recent, what is of no single group, what commits show: see test_rules, test_commits.
        *(
            (rule, verdict)
            for rule in (
                *("audit_is_recent", "hanging_transaction"),
                *("owned_not_consumed", "blocked_by_transaction", "offsets_lost"),
                *(each.name for each in PATTERNS if each.needs),
                *("moved_back", "moved_ahead", "repeat_at_handover"),
            )
            for verdict in (PASS, VIOLATION, UNKNOWN)
        ),
    } | {
        (rule, verdict)
        for rule in ("compaction_alive", "commit_rate", "dead_offsets", "group_in_its_partition", *OF_THE_LOG)
        for verdict in (PASS, VIOLATION, UNKNOWN)
    }

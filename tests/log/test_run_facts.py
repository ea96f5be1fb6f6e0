"""The facts about runs in tables from before a fact was added."""

from kip848_records.log.runs import RunInfo, facts

ADDED = ("limits", "offsets_retention_ms")
INFO = RunInfo(1, is_copy=True, sources=("s",), version="1", dialect="kafka", offset_commits=True, read_ms=9)


def test_a_fact_that_the_tables_do_not_have_is_not_known():
    """`kip848 maintain --dry-run` adds no columns."""
    old = {name: value for name, value in facts(INFO).items() if name not in ADDED}
    assert RunInfo.of(1, old) == INFO
    assert RunInfo.of(1, facts(INFO)) == INFO

"""Each rule of causes, lags and handovers in a story of a few lines, told by Spark and by the plain replay alike."""

from typing import Any

import pytest

from tests.timeline.member_stories import STORIES
from tests.timeline.spark_rows import Rows
from tests.timeline.stories import START, Story, dash, in_story_time

Row = dict[str, Any]
Told = dict[str, dict[str, list[str]]]


@pytest.fixture(scope="module")
def lines(told_stories: dict[str, Rows]) -> Told:
    return lines_of(told_stories["member stories"])


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.name)
def test_story(story: Story, lines: Told) -> None:
    expected = {"causes": story.causes, "lags": story.lags, "handovers": story.handovers}
    for table, rows in expected.items():
        assert rows is None or lines.get(story.name, {}).get(table, []) == list(rows)


def lines_of(rows: dict[str, list[Row]]) -> Told:
    lines: Told = {}
    sources = (
        ("causes", "epoch_timeline", _cause),
        ("lags", "rebalance_lag", _lag),
        ("handovers", "partition_handover", _handover),
    )
    for table, source, line in sources:
        for row in sorted(
            in_story_time(rows[source]), key=lambda row: row.get("acquired_offset") or row["group_epoch"]
        ):
            lines.setdefault(row["group_id"], {}).setdefault(table, []).append(line(row))
    return {group: {table: _sorted(table, found) for table, found in tables.items()} for group, tables in lines.items()}


def _sorted(table: str, lines: list[str]) -> list[str]:
    """Handovers stay in order of time within their partition."""
    return sorted(lines, key=lambda line: line.split()[0]) if table == "handovers" else sorted(lines)


def _cause(row: Row) -> str:
    return f"{row['group_epoch']} {row['cause']}, {dash(row['partitions_moved'])} moved"


def _lag(row: Row) -> str:
    late = " superseded" if row["superseded"] else ""
    parts = [f"{row['group_epoch']} {row['member_id']} {row['status']} in {dash(row['lag_ms'])}{late}"]
    parts += [f"revoked {row['revoke_ms']}"] if row["revoke_ms"] else []
    waited = " ".join([f"waited {row['wait_ms']}", *(["for", *row["blocked_by"]] if row["blocked_by"] else [])])
    parts += [waited] if row["wait_ms"] else []
    parts += [f"awaits {number} of {dash(owner)}{_free(since)}" for _, _, number, owner, since in row["awaited"] or ()]
    return ", ".join([*parts, *([] if row["history"] == "observed" else [row["history"]])])


def _free(since: int | None) -> str:
    return "" if since is None else f" since {since - START}"


def _handover(row: Row) -> str:
    free = "" if row["from_member"] is None else f" after {dash(row['unowned_ms'])}"
    marks = [*(["wanted"] if row["wanted"] else []), *([] if row["history"] == "observed" else [row["history"]])]
    marks += ["clock skew"] if row["clock_skew"] else []
    owners = f"{dash(row['from_member'])} to {row['to_member']}"
    return " ".join([f"{row['partition']} {owners} at {row['acquired_at']}{free}", *marks])

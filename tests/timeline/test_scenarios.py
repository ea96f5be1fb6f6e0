"""Each rule of epochs and states in a story of a few lines, told by Spark and by the plain replay alike."""

from typing import Any

import pytest

from tests.timeline.epoch_stories import STORIES
from tests.timeline.spark_rows import Rows
from tests.timeline.stories import Story, dash, in_story_time

Row = dict[str, Any]
Told = tuple[list[tuple[str, str]], list[tuple[str, str]]]


@pytest.fixture(scope="module")
def lines(told_stories: dict[str, Rows]) -> Told:
    return lines_of(told_stories["epoch stories"])


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.name)
def test_story(story: Story, lines: Told) -> None:
    epochs, lasts = lines
    assert [line for group, line in epochs if group == story.name] == list(story.epochs)
    assert [line for group, line in lasts if group == story.name] == ([] if story.last == "gone" else [story.last])


def lines_of(rows: dict[str, list[Row]]) -> Told:
    return told_epochs(in_story_time(rows["epoch_timeline"])), told_lasts(in_story_time(rows["group_state"]))


def told_epochs(rows: list[Row]) -> list[tuple[str, str]]:
    lines = []
    for row in sorted(rows, key=lambda row: (row["group_id"], row["incarnation"], row["group_epoch"])):
        times = " ".join(f"{name} {dash(row[f'{name}_at'])}" for name in ("bumped", "assigned", "converged"))
        by = "" if row["superseded_by"] is None else f" by {row['superseded_by']}"
        skew = ", clock skew" if row["clock_skew"] else ""
        epoch = f"{row['incarnation']}/{row['group_epoch']}"
        lines.append((row["group_id"], f"{epoch} {times} {row['status']}{by}, {row['members']} members{skew}"))
    return lines


def told_lasts(rows: list[Row]) -> list[tuple[str, str]]:
    lines = []
    for row in rows:
        consumer = f"{dash(row['group_epoch'])}/{dash(row['assignment_epoch'])}"
        epochs = consumer if row["generation"] is None else f"generation {row['generation']}"
        away = f", {row['members_away']} away" if row["members_away"] else ""
        state = f"{row['group_type']} {row['state']} {epochs}, {row['members']} members{away} since {row['since']}"
        lines.append((row["group_id"], state))
    return lines

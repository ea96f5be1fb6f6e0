"""Each rule in a story of a few lines."""

import pytest

from tests.replay import (
    epoch_stories,
    history_stories,
    member_stories,
    rebalance_stories,
    share_stories,
    streams_stories,
)
from tests.replay.lines import TABLES, last_line, lines_of
from tests.replay.stories import Story

STORIES = (
    *epoch_stories.STORIES,
    *member_stories.STORIES,
    *rebalance_stories.STORIES,
    *history_stories.STORIES,
    *share_stories.STORIES,
    *streams_stories.STORIES,
)


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.name)
def test_story(story: Story) -> None:
    rows = story.replay()
    expected = {name: lines for name in TABLES if (lines := getattr(story, name)) is not None}
    assert {name: lines_of(rows, name) for name in expected} == {name: list(lines) for name, lines in expected.items()}
    if story.last is not None:
        assert last_line(rows) == story.last
    is_known = all(row.state != "unknown" for row in rows["GroupStateInterval"])
    for row in rows["Rebalance"]:
        if row.duration_is_minimum:
            continue
        if is_known and row.history in {"observed", "right_censored"} and not row.clock_skew:
            assert row.assigning_ms + row.late_ms + row.not_ready_ms == row.duration_ms


def test_names_are_unique() -> None:
    assert len({story.name for story in STORIES}) == len(STORIES)

"""The stays of partitions: who owned which one, from where to where in the log."""

import pytest

from tests.replay.owned import lines
from tests.replay.stories import Story, complete_between

CONSUMER = """
    10: 5 a @i, 3 2, 7 a +0+1, 6 2, 8 a 2 +0+1
    ..
    20: 5 b, 3 3, 7 b +1, 7 a +0, 6 3, 8 b 3 2
    30: 8 a 2 1 +0 !1
    40: 8 a 3 +0
    50: 8 b 3 +1
"""

STORIES = (
    Story(
        "a member keeps a partition through epochs, and owns one that it revokes until it has released it",
        CONSUMER,
        owned=(
            "0 consumer t0-0 a 4 at 10 to -, right_censored",
            "0 consumer t0-1 a 4 at 10 to 14 at 40",
            "0 consumer t0-1 b 15 at 50 to -, right_censored",
        ),
    ),
    Story(
        "the acquisition lies before the history is complete: by the last record that shows it",
        CONSUMER,
        coverage=complete_between((14, 1000)),
        owned=(
            "0 consumer t0-0 a 13 at 30 to -, censored",
            "0 consumer t0-1 a 13 at 30 to 14 at 40, left_censored",
            "0 consumer t0-1 b 15 at 50 to -, right_censored",
        ),
    ),
)


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.name)
def test_the_stays(story: Story) -> None:
    assert lines(story.replay()) == story.owned

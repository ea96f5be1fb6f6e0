"""A rebalance in which more members come and go than are kept."""

import pytest

from kip848_records.replay.modern.timelines import open_rebalance
from tests.replay.stories import Story


def test_a_member_that_is_there_is_not_dropped_with_those_that_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_rebalance, "MANY", 2)
    monkeypatch.setattr(open_rebalance, "WORST", 2)
    story = Story(
        "a is late for 10 ms, not late while three others leave, and late again",
        """
        0: 5 a, 5 b, 5 c, 5 d, 5 e, 3 1, 6 1
        10: 8 a 1
        100: 5 b x, 3 2, 6 2, 8 a 2
        200: 5 c x, 3 3, 6 3, 8 a 3
        300: 5 d x, 3 4, 6 4, 8 a 4
        400: 3 5, 6 5
        900: 8 a 5
        910: 8 e 5
        """,
    )
    (rebalance,) = story.replay()["Rebalance"]
    assert [(each.member_id, each.late_ms) for each in rebalance.blockers] == [("e", 910), ("a", 510)]
    assert rebalance.blockers_count == 5

"""Rows in files come back as they went in, in their order; and sets of ids that do not grow with them."""

import random
from typing import Any

import pytest

from kip848_records.replay.group import spill
from kip848_records.replay.group.spill import IdSet, QueueFile, SpillingQueue


def test_a_queue_yields_what_was_appended() -> None:
    file = QueueFile()
    queue = SpillingQueue(file)
    rows: list[tuple[Any, ...]] = []
    for nth in range(100):
        row = (f"id-{nth % 3}", None, (nth, True), ())
        rows.append(row)
        queue.append(row)
        if nth % 30 == 29:
            file.spill([queue])
    assert file.count == 10
    assert [*queue.take()] == rows
    assert file.count == 0
    assert not queue
    file.close()


@pytest.mark.parametrize("seed", range(20))
def test_queues_in_one_file_are_as_lists(seed: int) -> None:
    rng = random.Random(seed)  # noqa: S311 - no secret
    file = QueueFile()
    queues = [SpillingQueue(file) for _ in range(3)]
    lists: list[list[tuple[int, str]]] = [[], [], []]
    for nth in range(400):
        place = rng.randrange(3)
        queue, rows = queues[place], lists[place]
        match rng.choice(["append", "append", "append", "take", "spill", "first"]):
            case "append":
                queue.append((nth, "row"))
                rows.append((nth, "row"))
            case "take":
                up_to = rng.choice([nth, nth - rng.randrange(60)])
                assert [*queue.take(up_to)] == [row for row in rows if row[0] <= up_to]
                lists[place] = [row for row in rows if row[0] > up_to]
            case "spill":
                file.spill([*queues, None])
                assert file.count == 0
            case "first" if rows:
                assert queue.first() == rows[0]
        assert bool(queue) == bool(lists[place])
    file.close()


def test_ids_are_known_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spill, "LIMIT", 10)
    ids = IdSet()
    for nth in range(500):
        ids.add(f"member-{nth}")
        ids.add(f"member-{nth // 2}")
    assert ids.count == 500
    assert all(f"member-{nth}" in ids for nth in range(500))
    assert not any(f"stranger-{nth}" in ids for nth in range(500))
    assert len(ids._runs) < 10

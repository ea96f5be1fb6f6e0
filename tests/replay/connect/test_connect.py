"""A Connect cluster of two workers, one of which is killed: what the replay makes of the real broker's log."""

import struct
from typing import Any

import pytest

from kip848_records.replay.connect.workers import read_assignment, read_subscription
from kip848_records.replay.numbers import PartitionNumbers
from tests.replay.classic_logs import rows_of

NAME, CLUSTER = "connect", "connect-cluster"
KILLED_AT = 1_795_249_697_068
"""The end of the join phase without the killed worker; its record was written 4 ms later."""


def test_causes_and_units_of_the_generations() -> None:
    rows = rows_of(NAME, "classic_generation", CLUSTER, "generation", "offset", "cause", "mode", "units", "moved")
    assert rows == [
        (0, 0, "created", None, 0, 0),
        (1, 1, "member_joined", "cooperative", 0, 0),
        (2, 2, "member_joined", "cooperative", 0, 0),
        *[(n, n, "config_changed", "cooperative", n - 2, 0) for n in range(3, 10)],
        (10, 10, "config_changed", "cooperative", 9, 0),
        (11, 11, "member_left", "cooperative", 4, 0),
    ]


def running(generation: int) -> dict[str, list[tuple[str, list[int]]]]:
    columns = ("generation", "worker_url", "running", "version", "quarantine_reason")
    rows = rows_of(NAME, "connect_assignment", CLUSTER, *columns)
    assert {row[3:] for row in rows} == {(2, None)}
    return {
        url: [(each["connector"], each["tasks"]) for each in units]
        for number, url, units, *_ in rows
        if number == generation
    }


def test_what_the_workers_run_is_what_their_rest_interface_said() -> None:
    first, second = "http://127.0.0.1:19602/", "http://127.0.0.1:19603/"
    stays = [("src1", [-1, 0]), ("src3", [-1, 0])]
    assert running(10) == {first: stays, second: [("sink1", [-1, 0, 1]), ("src2", [-1, 0])]}
    assert running(11) == {first: stays}


def test_units_of_the_killed_worker_run_nowhere_while_the_leader_waits() -> None:
    columns = ("connector", "task", "reason", "status", "released_at", "to_member", "expected_at", "epoch", "history")
    rows = sorted(rows_of(NAME, "task_handover", CLUSTER, *columns))
    waits = ("worker_left", "open", KILLED_AT, None, KILLED_AT + 4 + 8000, 11, "right_censored")
    assert rows == [
        ("sink1", -1, *waits),
        ("sink1", 0, *waits),
        ("sink1", 1, *waits),
        ("src2", -1, *waits),
        ("src2", 0, *waits),
    ]


def test_the_last_rebalance_is_open_until_the_delay_is_over() -> None:
    columns = ("first_epoch", "outcome", "delay_ms", "expected_at", "revoked", "history")
    rows = rows_of(NAME, "rebalance", CLUSTER, *columns)
    assert len(rows) == 11
    assert rows[-2:] == [
        (10, "converged", 0, None, 0, "observed"),
        (11, "open", 8000, KILLED_AT + 4 + 8000, 0, "right_censored"),
    ]


def test_the_consumers_of_a_sink_are_a_group_of_their_own() -> None:
    rows = rows_of(NAME, "classic_generation", "connect-sink1", "offset", "cause", "sync_ms", "units")
    assert rows == [(0, "created", None, 0), (1, "member_joined", 11, 2), (4, "emptied", None, 0)]


def _text(text: str) -> bytes:
    return struct.pack(">h", len(text)) + text.encode()


def _units(**units: list[int]) -> bytes:
    parts = [_text(name) + struct.pack(f">i{len(tasks)}i", len(tasks), *tasks) for name, tasks in units.items()]
    return struct.pack(">i", len(parts)) + b"".join(parts)


HEAD = _text("leader") + _text("http://leader/") + struct.pack(">q", 7)


def _named(numbers: PartitionNumbers, units: Any) -> list[tuple[str, int]]:
    return sorted(numbers.name(unit) for unit in units)


def test_version_0_has_no_revocations() -> None:
    numbers = PartitionNumbers()
    found = read_assignment(struct.pack(">hh", 0, 1) + HEAD + _units(a=[0]), numbers)
    assert (found.version, found.error, found.config_offset) == (0, 1, 7)
    assert _named(numbers, found.assigned) == [("a", 0)]
    assert (found.revoked, found.delay_ms) == (frozenset(), 0)
    said = read_subscription(struct.pack(">h", 0) + _text("http://w/") + struct.pack(">q", 5), numbers)
    assert said == (None, frozenset(), "http://w/", 5)


def test_version_1_has_revocations_and_a_delay_which_may_be_missing() -> None:
    numbers = PartitionNumbers()
    whole = struct.pack(">hh", 1, 0) + HEAD + _units(a=[0, 1]) + _units(b=[-1]) + struct.pack(">i", 300)
    found = read_assignment(whole, numbers)
    assert (_named(numbers, found.assigned), found.delay_ms) == ([("a", 0), ("a", 1)], 300)
    assert _named(numbers, found.revoked) == [("b", -1)]
    assert read_assignment(whole[:-4], numbers) == found._replace(delay_ms=0)
    owned = struct.pack(">i", len(whole)) + whole
    said = read_subscription(struct.pack(">h", 2) + _text("u") + struct.pack(">q", 5) + owned, numbers)
    assert said.owned == found.assigned


@pytest.mark.parametrize("damage", [lambda data: data[:-1], lambda data: data + b"\0"])
def test_bytes_that_are_not_consumed_exactly_are_refused(damage: Any) -> None:
    whole = struct.pack(">hh", 2, 0) + HEAD + _units(a=[0]) + _units() + struct.pack(">i", 0)
    with pytest.raises(ValueError, match="bytes"):
        read_assignment(damage(whole), PartitionNumbers())

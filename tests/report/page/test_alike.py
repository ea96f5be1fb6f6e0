"""Stuck groups with one client, or one silent coordinator, are one row, which names them."""

import pytest

from kip848_records.report.page.alike import SILENT, alike
from kip848_records.report.page.phrases import alike_text, blocker_text


def group(group_id, client="app", host="/10.0.0.1", topics=("orders",), *, partition=3, **others):
    blocker = {"client_id": client, "client_host": host, "topics": topics, "doing": "revoking", "pattern": None}
    return {"group_id": group_id, "blocker": blocker | others, "partition": partition}


def ids(clusters):
    return [[each["group_id"] for each in cluster.groups] for cluster in clusters]


def test_clients_behind_one_address_are_not_folded():
    stuck = [group("a", "one"), group("b", "two"), group("c", "three"), group("d", "two")]
    assert ids(alike(stuck)) == [["b", "d"], ["a"], ["c"]]


def test_a_client_is_named_with_its_host_or_how_many_it_has():
    one, two = alike([group("a"), group("b"), group("c", "other", "/h1", ("x",)), group("d", "other", "/h2", ("y",))])
    assert alike_text(one) == "app @ 10.0.0.1, revoking; all wait for orders"
    assert alike_text(two) == "other @ 2 hosts, revoking"


def test_groups_without_a_known_client_are_not_folded():
    assert ids(alike([group("a", None, None, ()), group("b", None, None, ())])) == [["a"], ["b"]]


def test_the_groups_of_a_silent_coordinator_are_one_row_a_partition_and_no_client_is_blamed():
    silent = {"pattern": SILENT}
    stuck = [group("a", "one", **silent), group("b", "two", **silent), group("c", "one", partition=4, **silent)]
    both, alone = alike([*stuck, group("d", "one")])[:2]
    assert (ids([both]), both.silent, alone.silent) == ([["a", "b"]], 3, 4)
    assert alike_text(both) == "the coordinator of partition 3, which is silent, or its copy is old"


@pytest.mark.parametrize(
    ("pattern", "says"),
    [
        ("not_ready", "no member: the topology is not validated"),
        ("worker_delay", "a worker that left"),
        ("next_round", "members that have not joined the next generation"),
    ],
)
def test_groups_that_wait_for_no_member_say_for_what(pattern, says):
    assert blocker_text({"who": None, "pattern": pattern, "doing": None, "state_ms": None}).startswith(says)

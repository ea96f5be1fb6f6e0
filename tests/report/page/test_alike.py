"""Stuck groups that share a blocker, a topic or a start minute are one cluster."""

import pytest

from kip848_records.report.page.alike import CLIENT, HOST, MINUTE, TOPIC, alike
from kip848_records.report.page.phrases import alike_text

MINUTE_MS = 60_000


def group(group_id, client="app", host="/10.0.0.1", topics=("orders",), since_ms=0):
    blocker = {"client_id": client, "client_host": host, "topics": list(topics)}
    return {"group_id": group_id, "blocker": blocker, "since_ms": since_ms}


def ids(clusters):
    return [[each["group_id"] for each in cluster.groups] for cluster in clusters]


def test_each_group_is_in_one_cluster_and_single_ones_come_last():
    stuck = [
        group("a", "one", "/h1", since_ms=1 * MINUTE_MS),
        group("b", "alone", "/h9", topics=["other"], since_ms=9 * MINUTE_MS),
        group("c", "two", "/h1", since_ms=2 * MINUTE_MS),
        group("d", "three", "/h1", since_ms=3 * MINUTE_MS),
    ]
    clusters = alike(stuck)
    assert ids(clusters) == [["a", "c", "d"], ["b"]]
    assert (clusters[0].named(HOST), clusters[0].named(CLIENT), clusters[0].different(CLIENT)) == ("h1", None, 3)
    assert (clusters[0].named(TOPIC), clusters[0].named(MINUTE)) == ("orders", None)


def test_who_blocks_counts_before_what_is_waited_for_and_since_when():
    stuck = [
        group("a", "one", "/h1", ["x"]),
        group("b", "one", "/h2", ["x"]),
        group("c", "two", "/h3", ["x"]),
        group("d", "three", "/h4", ["x"]),
        group("e", "four", "/h5", ["y"], since_ms=5 * MINUTE_MS),
        group("f", "five", "/h6", ["z"], since_ms=5 * MINUTE_MS + 1),
    ]
    assert ids(alike(stuck)) == [["a", "b"], ["c", "d"], ["e", "f"]]


def test_what_is_unknown_is_not_shared():
    stuck = [group("a", None, None, (), None), group("b", None, None, (), None)]
    assert ids(alike(stuck)) == [["a"], ["b"]]


@pytest.mark.parametrize(
    ("patterns", "says"),
    [
        (("not_ready", "not_ready"), "no member: the topology is not validated"),
        (("worker_delay", "worker_delay"), "a worker that left"),
        (("next_round", "next_round"), "members that have not joined the next generation"),
        (("not_ready", "worker_delay"), "the log does not show which member"),
    ],
)
def test_groups_of_other_kinds_that_began_together_are_named_by_what_they_wait_for(patterns, says):
    blockers = [
        {"who": None, "pattern": each, "client_id": None, "client_host": None, "topics": []} for each in patterns
    ]
    groups = [{"since_ms": 0, "blocker": each | {"doing": None, "state_ms": None}} for each in blockers]
    (cluster,) = alike(groups)
    assert alike_text(cluster).startswith(says)

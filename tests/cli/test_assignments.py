"""What an operator reads of reasons that stand in assignments of classic groups: Connect, Streams, Schema Registry.

All stories are groups of one log, which ends at one time. Each trouble has a healthy neighbour.
"""

import json
import struct

import pytest

from kip848_records import cli
from tests.audits import audit_rows, table_rows
from tests.classic_log import Consumer, Worker, at, generation, rows
from tests.report.fitted import flat

ALL, HALF, REST = {"orders": [0, 1, 2, 3]}, {"orders": [0, 1]}, {"orders": [2, 3]}
NO_TIME = 2**63 - 1
MINUTES = 60


# --- Kafka Streams ---


def told(active=(), standby=(), next_rebalance=NO_TIME, error=0, version=11):
    """`AssignmentInfo` of version 11: tasks of subtopology 0."""

    def tasks(numbers, partitions=b""):
        each = [struct.pack(">iii", 0, number, 0) + partitions for number in numbers]
        return struct.pack(">i", len(each)) + b"".join(each)

    nothing = struct.pack(">i", 0)
    data = tasks(active) + tasks(standby, nothing) + 3 * nothing
    return struct.pack(">ii", version, 11) + data + struct.pack(">iq", error, next_rebalance)


def thread(name, has, data, host, owned=None):
    client = f"app-{name}-StreamThread-1-consumer"
    return Consumer(client, has, has if owned is None else owned, host=host, assignment_data=data)


def streams(*rounds):
    """Generations of threads, each with the seconds before the end."""
    return [
        (before, generation(number, members, protocol="stream")) for number, (before, members) in enumerate(rounds, 1)
    ]


def probing(count, every=10 * MINUTES, version=11):
    """The threads `a` and `b` have all tasks; `c` joins, and one generation asks for the next, so many times."""
    first = every * count + 60

    def members(before):
        data = {"version": version}
        return [
            thread("a", HALF, told([0, 1], next_rebalance=at(before) + 1000 * every, **data), "/10.0.0.1"),
            thread("b", REST, told([2, 3], **data), "/10.0.0.2"),
            thread("c", {}, told([], [0], **data), "/10.0.0.3"),
        ]

    start = [thread("a", HALF, told([0, 1]), "/10.0.0.1", {}), thread("b", REST, told([2, 3]), "/10.0.0.2", {})]
    times = [first - every * n for n in range(count)]
    return [(first + 900, start), *((before, members(before)) for before in times)]


ENDLESS = probing(12)
FAST = probing(240, MINUTES)
SHORT = probing(4)
# The copy got ready a minute ago: the probing rebalance moves the task.
READY = probing(3)
READY = [
    *READY,
    (
        60,
        [
            thread("a", {"orders": [1]}, told([1], next_rebalance=0), "/10.0.0.1", HALF),
            thread("b", REST, told([2, 3]), "/10.0.0.2"),
            thread("c", {}, told([], [0]), "/10.0.0.3"),
        ],
    ),
    (
        59,
        [
            thread("a", {"orders": [1]}, told([1]), "/10.0.0.1"),
            thread("b", REST, told([2, 3]), "/10.0.0.2"),
            thread("c", {"orders": [0]}, told([0]), "/10.0.0.3", {}),
        ],
    ),
]
UNREAD = probing(240, MINUTES, version=12)
REPLICAS = [
    (8 * 3600, [thread("a", ALL, told([0, 1, 2, 3]), "/10.0.0.1", {})]),
    (
        7 * 3600,
        [
            thread("a", ALL, told([0, 1, 2, 3]), "/10.0.0.1"),
            thread("c", {}, told([], [0, 1, 2, 3]), "/10.0.0.3"),
        ],
    ),
]


def failed(error):
    return [
        (900, [thread("a", ALL, told([0, 1, 2, 3]), "/10.0.0.1", {})]),
        (60, [thread("a", {}, told([], error=error), "/10.0.0.1"), thread("b", {}, told(error=error), "/10.0.0.2")]),
    ]


# --- Connect ---

JDBC = frozenset({("jdbc", -1), ("jdbc", 0)})
S3 = frozenset({("s3", -1), ("s3", 0)})


def workers(*rounds):
    return [
        (before, generation(number, members, protocol="sessioned", kind="connect"))
        for number, (before, members) in enumerate(rounds, 1)
    ]


def a(name="a", **more):
    return Worker(name, "http://a:8083/", host="/10.0.0.1", knows=42, **{"leads_to": 42} | more)


def z(**more):
    return Worker("z", "http://z:8083/", host="/10.0.0.9", knows=17, **{"leads_to": 42} | more)


FOREVER = 1_000
"""Generations of a loop."""
TWO_CLUSTERS = workers(
    (7200, [a(assigned=JDBC | S3)]),
    (FOREVER + 1200, [a(owned=JDBC | S3), z()]),
    (FOREVER + 1100, [z(assigned=frozenset({("mongo", 0)}), leads_to=17)]),
    *((FOREVER - n, [z(owned=frozenset({("mongo", 0)}), error=1), a("a2", error=1)]) for n in range(FOREVER)),
)
STAYS_BEHIND = workers(
    (7200, [a(assigned=JDBC | S3)]), *((60 * (30 - n), [a(owned=JDBC | S3), z()]) for n in range(30))
)
CATCHES_UP = workers(
    (7200, [a(assigned=JDBC | S3)]),
    (600, [z(error=1), a(owned=JDBC | S3, error=1)]),
    (599, [z(error=1), a(owned=JDBC | S3, error=1)]),
    (598, [Worker("z", "http://z:8083/", frozenset(), host="/10.0.0.9", knows=42, leads_to=42), a(owned=JDBC | S3)]),
)


# --- Schema Registry ---


class Registry:
    """An instance of Schema Registry in a generation."""

    rebalance_seconds = 300

    def __init__(self, name, host, error=0, assignment=None):
        self.name, self.host = name, f"/{name}"
        identity = {"host": host, "port": 8081, "master_eligibility": True, "scheme": "http", "version": 1}
        given = {"error": error, "master": f"{name}-id", "master_identity": identity, "version": 1}
        self.payloads = {
            "subscription": json.dumps(identity).encode(),
            "assignment": json.dumps(given).encode() if assignment is None else assignment,
        }


def registry(*rounds):
    return [
        (before, generation(number, members, protocol="v0", kind="sr"))
        for number, (before, members) in enumerate(rounds, 1)
    ]


STORIES = {
    "endless": streams(*ENDLESS),
    "fast": streams(*FAST),
    "short": streams(*SHORT),
    "ready": streams(*READY),
    "unread": streams(*UNREAD),
    "replicas": streams(*REPLICAS),
    "no-topic": streams(*failed(1)),
    "versions": streams(*failed(2)),
    "shutdown": streams(*failed(4)),
    "two-clusters": TWO_CLUSTERS,
    "stays-behind": STAYS_BEHIND,
    "catches-up": CATCHES_UP,
    "one-url": registry((900, [Registry("n1", "sr")]), (60, [Registry("n1", "sr", 1), Registry("n2", "sr", 1)])),
    "two-urls": registry((900, [Registry("n1", "sr1")]), (60, [Registry("n1", "sr1"), Registry("n2", "sr2")])),
    "no-json": registry((60, [Registry("n1", "sr1", assignment=b"{not json")])),
}


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    out = tmp_path_factory.mktemp("assignments") / "out"
    logs = (rows(*values, group=name, partition=number) for number, (name, values) in enumerate(STORIES.items()))
    audit_rows(out, "c", [row for log in logs for row in log])
    return out


@pytest.fixture(scope="module")
def explained(out):
    """What `explain` says of a group; each is asked once."""
    known = {}

    def run(capsys, group):
        if group not in known:
            cli.main(["explain", str(out), "--group", group])
            known[group] = flat(capsys.readouterr().out)
        return known[group]

    cli.main(["explain", str(out), "--group", "no-json"])  # what is imported then is no case's work
    return run


@pytest.fixture(scope="module")
def troubles(out):
    """The pattern, cause, severity and count of each group's troubles; what explains itself is left out."""
    found = {}
    for row in table_rows(out, "diagnosis", "c"):
        if row["group_id"] is not None and row["explained_by"] is None and row["severity"] != "info":
            found.setdefault(row["group_id"], []).append((row["pattern"], row["probable_cause"], row["is_present"]))
    return found


def test_only_what_is_wrong_is_told(troubles):
    assert troubles == {
        "endless": [("endless_warm_ups", None, True)],
        "fast": [("endless_warm_ups", None, True)],
        "unread": [("storm", "rejoined", True)],
        "no-topic": [("assignment_error", "source_topic_missing", True)],
        "shutdown": [("assignment_error", "shutdown_requested", True)],
        "two-clusters": [("configurations_differ", "two_config_topics", True)],
        "stays-behind": [("configurations_differ", "worker_stays_behind", True)],
        "one-url": [("assignment_error", "duplicate_urls", True)],
    }


@pytest.mark.slow
def test_copies_that_never_get_ready_are_named_with_their_client(explained, capsys):
    told = explained(capsys, "endless")
    assert (
        "app-c-StreamThread-1-consumer @ 10.0.0.3 has been restoring a copy of task 0_0, to take it over, from "
        "2026-11-27 09:45:40 UTC on, for 2 h 59 s: 11 probing rebalances, one about every 10 min, found it not ready."
    ) in told
    assert "acceptable.recovery.lag (10,000 by default)" in told
    assert "max.warmup.replicas" in told
    assert "probing.rebalance.interval.ms" not in told, "it has its default"
    assert "standby tasks 0_0" in told
    assert "cause not in the log" not in told
    assert "Raise probing.rebalance.interval.ms: it is about 1 min" in explained(capsys, "fast")


@pytest.mark.slow
def test_a_probing_rebalance_is_no_trouble_by_itself(out, explained, capsys):
    causes = {
        group: [row["cause"] for row in table_rows(out, "classic_generation", "c") if row["group_id"] == group][2:]
        for group in ("short", "ready", "fast")
    }
    assert causes["short"] == ["member_joined", *["probing"] * 3]
    assert causes["ready"] == ["member_joined", *["probing"] * 3, "follow_up"]
    assert {*causes["fast"][1:]} == {"probing"}
    assert "Healthy" in explained(capsys, "short")
    assert "Healthy" in explained(capsys, "ready")


def test_members_with_standby_tasks_are_no_spares(explained, capsys):
    told = explained(capsys, "replicas")
    assert "standby tasks 0_0, 0_1, 0_2, 0_3" in told
    assert "has had no partition" not in told


@pytest.mark.slow
def test_an_assignment_that_does_not_decode_is_said_to_be_so(explained, capsys):
    told = explained(capsys, "unread")
    reason = "the data of the assignor of Kafka Streams does not decode (version 12 is not one of 1 to 11)"
    assert f"The reason may stand in data that could not be read: {reason}." in told
    assert f"orders 0-1; could not be read: {reason}" in told
    assert "could not be read: the assignment is not JSON" in explained(capsys, "no-json")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("group", "sentence"),
    [
        ("no-topic", "because a source topic of this application of Kafka Streams is missing."),
        ("shutdown", "because a client of this application of Kafka Streams asked for the shutdown of all."),
        ("one-url", "several instances of Schema Registry announce one URL: http://sr:8081 by n1, n2."),
    ],
)
def test_errors_of_the_leader_are_told(explained, capsys, group, sentence):
    told = explained(capsys, group)
    assert sentence in told
    assert "answered all members with an error at 2026-11-27 11:45:40 UTC" in told


def test_two_clusters_with_one_group_id_are_told_once(explained, capsys):
    told = explained(capsys, "two-clusters")
    assert (
        "They have read them to different offsets: http://z:8083/ to 17; http://a:8083/ to 42. The leader cannot read "
        "as far as another worker, so it assigns nothing (error 1). The leader's configuration went back at 2026-11-27 "
        "11:11:40 UTC, from offset 42 to 17: the leaders read different config topics, so two Connect clusters use one "
        "group id, or the topic was made anew."
    ) in told
    assert "change it for http://z:8083/, and restart these workers." in told
    assert 'explained by "configurations differ" above' in told
    assert "joined again" not in told
    assert "why it joins again" not in told


def test_units_that_another_configuration_does_not_know_run_nowhere(out, explained, capsys):
    found = [row for row in table_rows(out, "task_handover", "c") if row["group_id"] == "two-clusters"]
    lost = {(row["connector"], row["task"]): row["status"] for row in found if row["reason"] == "worker_left"}
    assert lost == dict.fromkeys(JDBC | S3, "open")
    assert "Connectors and tasks without a worker:" in explained(capsys, "two-clusters")


@pytest.mark.slow
def test_a_worker_that_stays_behind_alone_may_read_another_topic_or_none(explained, capsys):
    told = explained(capsys, "stays-behind")
    assert "A worker that stays behind reads another config topic, or cannot read its own to the end." in told
    assert "two Connect clusters use one group id" not in told
    assert "Healthy" in explained(capsys, "catches-up")


@pytest.mark.slow
def test_a_check_has_one_row_for_each_of_them(out, tmp_path):
    report = tmp_path / "check.json"
    cli.main(["check", str(out), "--json", str(report)])
    results = {each["name"]: each for each in json.loads(report.read_text(encoding="utf-8"))["expectations"]}
    found = {
        name: sorted(each["group_id"] for each in results[name]["violations"])
        for name in ("configurations_differ", "endless_warm_ups", "assignment_error", "connect_config_lag")
    }
    assert found == {
        "configurations_differ": ["stays-behind", "two-clusters"],
        "endless_warm_ups": ["endless", "fast"],
        "assignment_error": ["no-topic", "one-url", "shutdown"],
        "connect_config_lag": ["catches-up", "stays-behind", "two-clusters"],
    }

"""Why a committed offset was removed: of a deleted topic all groups lose theirs, in whichever partitions they are."""

import pytest
from deltalake import DeltaTable

from kip848_records.pipeline.audit import run_audit
from kip848_records.pipeline.options import AuditOptions
from kip848_records.protocol.encode import encode_key, encode_message
from kip848_records.protocol.messages import RECORDS
from tests import reported
from tests.classic_log import Consumer, generation
from tests.cli.offsets_log import NEW, OLD, START, Row, commit, write
from tests.progress import Watcher

DAY = 86_400

LOGS = {
    # All groups lose it within ten seconds, in whichever partitions of the log they are.
    "at-once": (({"g": [(1, 5), (8, None)], "other": [(1, 5), (18, None)]}), {"topic_deleted"}),
    # The first one is removed while another group keeps its own.
    "one-after-the-other": (
        {"g": [(1, 5), (8, None)], "other": [(1, 5), (19, None)]},
        {"deleted", "deleted_or_topic_deleted"},
    ),
    "kept-by-another": ({"g": [(1, 5), (8, None)], "other": [(1, 5)]}, {"deleted"}),
    "kept-elsewhere": ({"g": [(1, 5), (8, None), (1, 7, {"partition": 1})]}, {"deleted"}),
    "lost-by-two-kept-by-a-third": ({"g": [(1, 5), (8, None)], "h": [(1, 5), (9, None)], "i": [(1, 5)]}, {"deleted"}),
    "alone": ({"g": [(1, 5), (8, None)]}, {"deleted_or_topic_deleted"}),
    # A topic that is made anew has another id.
    "same-id-later": (
        {"g": [(1, 5, {"topic_id": OLD}), (8, None)], "other": [(90, 5, {"topic_id": OLD})]},
        {"deleted"},
    ),
    "other-id-later": (
        {"g": [(1, 5, {"topic_id": OLD}), (8, None)], "other": [(90, 5, {"topic_id": NEW})]},
        {"topic_deleted"},
    ),
    "no-id-later": ({"g": [(1, 5), (8, None)], "other": [(90, 5)]}, {"deleted_or_topic_deleted"}),
    # Brokers keep an offset for seven days.
    "old": ({"g": [(1, 5), (8 * DAY, None)]}, {"expired"}),
    "old-of-two": (
        {"g": [(1, 5), (8 * DAY, None)], "other": [(1, 5), (8 * DAY + 1, None)]},
        {"expired_or_topic_deleted"},
    ),
    # What a client asked for decides alone.
    "own-retention": ({"g": [(1, 5, {"retention_s": 100}), (102, None)], "other": [(1, 5)]}, {"expired"}),
    "own-retention-of-two": (
        {"g": [(1, 5, {"retention_s": 100}), (102, None)], "other": [(1, 5, {"retention_s": 100}), (102, None)]},
        {"expired"},
    ),
    "longer-retention": ({"g": [(1, 5, {"retention_s": 9 * DAY}), (8 * DAY, None)], "other": [(1, 5)]}, {"deleted"}),
}
"""By topic: what its groups commit, as seconds and offset, and the causes of what they lose."""


@pytest.fixture(scope="module")
def losses(tmp_path_factory):
    """By topic: the rows of its losses."""
    folder = tmp_path_factory.mktemp("causes")
    rows = [[], [commit(9 * DAY, 1, group="last", topic="last")]]
    for topic, (groups, _) in LOGS.items():
        for number, (group, commits) in enumerate(groups.items()):
            named = {"group": f"{topic}-{group}", "topic": topic}
            rows[number % 2] += [commit(*each[:2], **named, **(each[2] if each[2:] else {})) for each in commits]
    for partition, of_partition in enumerate(rows):
        write(folder / "log", *sorted(of_partition, key=lambda row: row.seconds), partition=partition)
    run_audit(None, AuditOptions((str(folder / "log"),), str(folder / "out"), offset_commits=True), Watcher())
    jumps = DeltaTable(folder / "out" / "commit_jump").to_pyarrow_table().to_pylist()
    return {topic: [row for row in jumps if row["kind"] == "lost" and row["topic"] == topic] for topic in LOGS}


@pytest.mark.parametrize("topic", LOGS)
def test_why_offsets_were_removed(losses, topic):
    _, expected = LOGS[topic]
    assert {row["cause"] for row in losses[topic]} == expected


@pytest.mark.parametrize("topic", LOGS)
def test_what_was_judged_by_an_assumed_retention_says_so(losses, topic):
    """The audit was not told how long the brokers keep offsets; what a client asked for is in its commits."""
    is_asked = topic in {"own-retention", "own-retention-of-two", "longer-retention"}
    assert {row["assumed_retention_ms"] for row in losses[topic]} == {None if is_asked else 7 * DAY * 1000}


@pytest.fixture(scope="module")
def by_a_tool(tmp_path_factory):
    return reported.audited("delete-offsets-of-a-live-group", tmp_path_factory.mktemp("by-a-tool"))


@pytest.fixture(scope="module")
def by_retention(tmp_path_factory):
    return reported.audited("commits-with-a-retention", tmp_path_factory.mktemp("by-retention"))


@pytest.mark.slow
def test_a_tool_may_remove_offsets_of_a_live_group(by_a_tool, capsys):
    """Two of four groups lost those of refunds, to which they do not subscribe; the others keep theirs."""
    tables = reported.tables_of(by_a_tool)
    jumps = tables.rows("SELECT * FROM commit_jump", "c")
    assert {(row.group_id, row.topic, row.kind, row.cause) for row in jumps} == {
        (group, "refunds", "lost", "deleted") for group in ("billing-consumer", "billing-classic")
    }
    troubles = {row.group_id: row for row in tables.rows("SELECT * FROM diagnosis", "c") if row.severity != "info"}
    assert {group: (row.pattern, row.probable_cause, row.is_present) for group, row in troubles.items()} == {
        "billing-consumer": ("offsets_lost", "deleted", False),
        "billing-classic": ("offsets_lost", "deleted", False),
    }
    said = reported.printed(capsys, "explain", by_a_tool, "--group", "billing-consumer")
    assert (
        "Committed offsets of 2 partitions of refunds were removed at 2026-11-25 11:46:40 UTC, presumably because a "
        "tool did it, and Kafka lets it, because no member subscribes to the topic: the topic is still there, as other "
        "offsets of it were not removed, or members go on to own it; this assumes that brokers keep offsets for 7 d "
        "(--offsets-retention)."
    ) in said
    assert "presumably a tool removed it (assumed: brokers keep offsets for 7 d)" in said
    assert "the topic was deleted" not in said


def test_the_offsets_of_before_are_a_file(by_a_tool, capsys):
    said = reported.printed(
        capsys, "offsets", by_a_tool, "--group", "billing-classic", "--at", "2026-11-25T11:50:00Z", "--quiet"
    )
    assert "refunds,0,1600 refunds,1,1600" in said


@pytest.mark.slow
def test_a_client_that_sets_the_retention_is_named(by_retention, capsys):
    tables = reported.tables_of(by_retention)
    lost = [row for row in tables.rows("SELECT * FROM commit_jump", "c") if row.kind == "lost"]
    assert {row.group_id: (row.cause, row.retention_ms, row.before_offset) for row in lost} == {
        "ism": ("expired", 100_000, 1253),
        "ism-alone": ("group_expired", 100_000, 1253),
    }
    rows = [row for row in tables.rows("SELECT * FROM diagnosis", "c") if row.pattern == "client_retention"]
    assert {(row.group_id, row.severity, row.is_present, row.subject["client_id"]) for row in rows} == {
        ("ism", "warning", True, "samsa"),
        ("ism-alone", "warning", True, "samsa"),
    }
    said = reported.printed(capsys, "explain", by_retention, "--group", "ism")
    assert (
        "samsa @ 10.0.0.31 asks the broker to keep commits of user-notification-events 0 for 1 min 40 s only: a pause "
        "of the group that is longer removes them"
    ) in said
    assert "because their client had asked the broker to keep them for 1 min 40 s only" in said
    assert "a tool" not in said


def test_a_topic_without_a_retention_of_its_own_is_not_named(by_retention):
    rows = reported.tables_of(by_retention).rows("SELECT * FROM commit_progress", "c")
    assert {(row.topic, row.retention_ms) for row in rows if row.commits} == {
        ("audit-events", None),
        ("user-notification-events", 100_000),
    }


def generation_at(seconds, number, group, topic, *partitions):
    """A member of a classic group has partitions of a topic; without partitions the group is empty."""
    members = [Consumer("reader", {topic: partitions}, topics=(topic,))] if partitions else []
    value = {"currentStateTimestamp": START + 1000 * seconds, **generation(number, members)}
    return Row(seconds, encode_key(RECORDS[2], {"group": group}), encode_message(RECORDS[2].value_layouts(3)[0], value))


@pytest.fixture(scope="module")
def owned(tmp_path_factory):
    """The causes of what a group without members lost, by topics that members of other groups have without a commit."""
    folder = tmp_path_factory.mktemp("owned")
    rows = [commit(2000, 1, group="last", topic="last")]
    for topic, until in {"has it": None, "let it go": 300, "got it later": None}.items():
        rows += [commit(1, 5, topic=topic, group="loses"), commit(8, None, topic=topic, group="loses")]
        rows.append(generation_at(20 if topic == "got it later" else 0, 1, topic, topic, 0))
        rows += [] if until is None else [generation_at(until, 2, topic, topic)]
    # A topic that is deleted takes the offsets of those who own it along.
    rows += [generation_at(0, 1, "loses too", "deleted", 0), commit(2, 5, topic="deleted", group="loses too")]
    rows += [commit(9, None, topic="deleted", group="loses too")]
    rows += [commit(1, 5, topic="deleted", group="loses"), commit(8, None, topic="deleted", group="loses")]
    write(folder / "log", *sorted(rows, key=lambda row: row.seconds))
    run_audit(None, AuditOptions((str(folder / "log"),), str(folder / "out"), offset_commits=True), Watcher())
    found = DeltaTable(folder / "out" / "commit_jump").to_pyarrow_table().to_pylist()
    return {row["topic"]: row["cause"] for row in found if row["kind"] == "lost" and row["group_id"] == "loses"}


def test_members_that_go_on_to_own_a_topic_show_that_it_is_there(owned):
    assert owned == {
        "has it": "deleted",
        "let it go": "deleted_or_topic_deleted",
        "got it later": "deleted_or_topic_deleted",
        "deleted": "topic_deleted",
    }

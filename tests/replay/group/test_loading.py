"""Which records a coordinator refuses to load, by the answers of the coordinators of Kafka's releases."""

from types import SimpleNamespace

import pyarrow as pa
import pytest

from kip848_records.kinds import SHARE, Role
from kip848_records.replay import refusals
from kip848_records.replay.decode.grouped_rows import LOG_SCHEMA
from kip848_records.replay.group.loading import Loading, LoadingRules
from kip848_records.replay.refusals import RELEASES, releases_text
from tests.replay.classic_logs import Tables, tables_of
from tests.replay.loadable_logs import loadable_log, loadable_logs

# The replay does not read offset commits, of which the version is wrong here.
COMMITS = {"commit-type-0-version-1", "value-version-5-of-1"}
# A value of a version that no release knows may be of a newer broker.
NEWER = {"value-version-1-of-3", "value-version-5-of-2"}
# 3.9 reads such a value by the highest version that it knows.
READ_BY_3_9 = {"value_unknown_version", "value_negative_version"}
# The decoder does not know whether Kafka reads these.
MAY_LOAD = ("unknown_version", "trailing", "invalid_utf8", "tag_size")


def releases_of(text: str) -> set[str]:
    first, *_, last = text.split(" ") * 2
    return {release for release in RELEASES if first <= release <= last}


def refused(tables: Tables, release: str) -> int | None:
    """The first record that a release refuses, as the tables say."""
    rows = [row for row in tables["anomaly"] if row["kind"] == "record_not_loadable"]
    offsets = [row["offset"] for row in rows if release in releases_of(row["releases"])]
    offsets += [
        row["offset"] for row in tables["quarantine"] if not any(each in row["error_code"] for each in MAY_LOAD)
    ]
    return min(offsets, default=None)


@pytest.mark.slow
@pytest.mark.parametrize("release", sorted(RELEASES))
def test_no_release_loads_what_the_tables_say_it_refuses(release: str) -> None:
    claimed = 0
    for log in loadable_logs():
        found, answer = refused(log.tables(), release), log.refused[release]
        if found is not None:
            assert answer is not None, log.name
            # A record before it may be refused in an order that no coordinator writes.
            assert answer == found or (answer < found and log.name.startswith("r")), log.name
            claimed += 1
    assert claimed > 50


@pytest.mark.slow
@pytest.mark.parametrize("release", ["4.2.0", "4.2.1", "4.3.1", "4.4.0"])
def test_these_releases_refuse_nothing_else(release: str) -> None:
    silent = {log.name for log in loadable_logs() if refused(log.tables(), release) != log.refused[release]}
    assert silent == COMMITS | NEWER


def first_refused(tables: Tables, release: str) -> int | None:
    """The first record that a release refuses, by `refused_record` and by what does not decode."""
    offsets = [row["offset"] for row in tables["refused_record"] if release in row["refused_by"]]
    for row in tables["quarantine"]:
        is_ignored = row["key_type"] is not None and release not in refusals.knowing(row["key_type"])
        if is_ignored or any(each in row["error_code"] for each in MAY_LOAD[1:]):
            continue
        if release != "3.9.1" or row["error_code"] not in READ_BY_3_9:
            offsets.append(row["offset"])
    return min(offsets, default=None)


@pytest.mark.slow
@pytest.mark.parametrize("release", refusals.LOADERS)
def test_each_release_refuses_the_record_that_its_coordinator_refused(release: str) -> None:
    compared = 0
    for log in loadable_logs():
        if release in log.refused and log.name not in COMMITS:
            assert first_refused(log.tables(), release) == log.refused[release], log.name
            compared += 1
    assert compared > 100 or release in {"4.0.1", "4.0.2", "4.1.2"}


@pytest.mark.parametrize(
    ("name", "release", "offset"),
    [
        ("share", "3.9.1", None),
        ("share", "4.0.0", 1),
        ("share", "4.1.1", None),
        ("share-of-4.0", "4.0.2", None),
        ("share-of-4.0", "4.2.0", 2),
        ("kafka-20254-behind-commits", "4.0.0", None),
        ("kafka-20254-behind-commits", "4.1.1", 1),
        ("kafka-17306-other-order", "3.9.1", 2),
        ("kafka-17306-other-order", "3.9.1-old", None),
        ("kafka-17306-other-order", "4.0.0", None),
        ("kafka-19862-partition-taken-early", "4.0.1", 8),
        ("kafka-19862-partition-taken-early", "4.0.2", None),
        ("kafka-19862-partition-taken-early", "4.1.2", None),
        ("streams-tombstones-behind-classic", "4.0.0", None),
        ("streams-tombstones-behind-classic", "4.2.0", 7),
        ("streams-tombstones-behind-classic", "4.2.1", None),
    ],
)
def test_the_first_record_that_a_release_refuses(name: str, release: str, offset: int | None) -> None:
    assert first_refused(loadable_log(name).tables(), release) == offset


def test_each_known_bug_has_a_log_that_triggers_it() -> None:
    names = [log.name for log in loadable_logs()]
    for bug in refusals.KNOWN_BUGS.values():
        assert set(bug.has) <= set(refusals.LOADERS)
        assert not set(bug.has) & set(bug.fixed_in)
        for prefix in bug.log:
            assert any(name.startswith(prefix) for name in names), prefix
        assert bug.log or not bug.ends_load


@pytest.mark.parametrize(
    ("asked", "judged_by"),
    [
        ("4.4.0", "4.4.0"),
        ("3.9.1-old", "3.9.1-old"),
        ("4.1.0", "4.1.1"),
        ("4.0.3", "4.0.2"),
        ("4.1", "4.1.2"),
        ("5.0.0", "4.4.0"),
        ("3.7.2", "3.9.1-old"),
        ("4.10.0", "4.4.0"),
        ("3.5.0", "3.9.1-old"),
        ("3.4.0", None),
        ("3.4", None),
        ("latest", None),
        ("4", None),
    ],
)
def test_the_release_that_another_one_is_judged_by(asked: str, judged_by: str | None) -> None:
    assert refusals.loader(asked) == judged_by


@pytest.mark.slow
def test_without_the_offset_commits_the_groups_that_they_make_are_unknown() -> None:
    unread = {log.name for log in loadable_logs() if log.tables() != log.tables(with_commits=False)}
    assert {name for name in unread if not name.startswith("r")} == {
        "share-behind-commits",
        "kafka-17306-behind-commits",
        "kafka-20254-behind-commits",
        "streams-behind-commits-and-others",
    }
    for log in loadable_logs():
        if log.name in unread:
            assert refused(log.tables(with_commits=False), "4.4.0") in {None, log.refused["4.4.0"]}


@pytest.mark.slow
def test_what_is_proven_is_refused_by_every_release_that_knows_the_records() -> None:
    for log in loadable_logs():
        for row in log.tables()["anomaly"]:
            if row["kind"] == "record_not_loadable" and row["is_proven"]:
                assert all(log.refused[release] is not None for release in releases_of(row["releases"])), log.name
                assert log.refused["4.4.0"] is not None, log.name


@pytest.mark.nightly
def test_a_part_of_a_log_proves_nothing_that_the_whole_log_contradicts() -> None:
    proven = 0
    for log in loadable_logs():
        if log.name.startswith("r"):
            continue
        rows = sorted((row for row in log.rows if row["group_id"] is not None), key=lambda row: row["offset"])
        rows = [row for row in rows if row["key"][:2] not in {b"\0\0", b"\0\1"}]
        for start in range(1, len(rows)):
            kept = sorted(rows[start:], key=lambda row: (row["group_id"], row["offset"]))
            tables = tables_of(pa.RecordBatch.from_pylist(kept, LOG_SCHEMA), complete_from=rows[start]["offset"])
            for row in tables["anomaly"]:
                if row["kind"] == "record_not_loadable" and row["is_proven"]:
                    refusal = log.refused["4.4.0"]
                    assert refusal is not None, (log.name, start, row)
                    assert refusal <= row["offset"], (log.name, start, row)
                    proven += 1
    assert proven > 20


@pytest.mark.parametrize(
    ("name", "seen", "releases", "known_bug", "is_proven"),
    [
        ("emptied-then-consumer-records", "the group is a classic one", "4.0.0 to 4.4.0", "KAFKA-21117", True),
        ("kafka-21117-tombstones-behind-classic", "the group is a classic one", "4.0.0 to 4.4.0", "KAFKA-21117", True),
        (
            "created-then-streams-records",
            "the group is a classic one that never had a member",
            "4.1.1 to 4.2.0",
            "KAFKA-20254",
            False,
        ),
        (
            "kafka-19862-partition-taken-early",
            "another member still has the partition, at an earlier epoch",
            "4.0.0 to 4.1.1",
            "KAFKA-19862",
            False,
        ),
        ("kafka-19862-task-taken-early", "another member still has the active task", "4.1.1", "KAFKA-19862", False),
        (
            "two-owners-same-epoch",
            "another member has the partition at the same epoch or a later one",
            "4.0.0 to 4.4.0",
            None,
            True,
        ),
        ("convert-duplicate-instance", "two members have the same instance id", "4.0.0 to 4.4.0", None, True),
        ("share-behind-commits", "the group is a classic one that never had a member", "4.1.1 to 4.4.0", None, False),
        ("share-of-4.0", "the value has the layout of Kafka 4.0", "4.1.1 to 4.4.0", None, False),
        ("value target-topic-twice", "a topic occurs twice", "4.0.0 to 4.4.0", None, True),
        ("value current-topic-twice", "a topic occurs twice", "4.0.0 to 4.2.1", None, False),
        ("value topology-twice", "a subtopology occurs twice", "4.1.1 to 4.4.0", None, True),
        ("value epoch-6--2", "the assignment epoch is below -1", "4.3.1 to 4.4.0", None, False),
        ("value timestamp-20--1", "the time of the assignment is negative", "4.3.1 to 4.4.0", None, False),
        (
            "value metadata-nameless",
            "a topic has no id, no name, or a negative number of partitions",
            "4.0.0",
            None,
            False,
        ),
        ("streams-record-behind-consumer", "the group is of another type", "4.1.1 to 4.4.0", None, True),
    ],
)
def test_the_reason(name: str, seen: str, releases: str, known_bug: str | None, is_proven: object) -> None:
    rows = [row for row in loadable_log(name).tables()["anomaly"] if row["kind"] == "record_not_loadable"]
    assert [tuple(row[key] for key in ("seen", "releases", "known_bug", "is_proven")) for row in rows[:1]] == [
        (seen, releases, known_bug, is_proven)
    ]


@pytest.mark.parametrize("name", ["created-then-consumer-records", "downgraded", "upgraded", "streams-deleted"])
def test_a_partition_that_every_release_loads(name: str) -> None:
    assert not [row for row in loadable_log(name).tables()["anomaly"] if row["kind"] == "record_not_loadable"]


def test_a_record_that_only_some_releases_write_leaves_of_the_writers_those_that_write_all() -> None:
    context = SimpleNamespace(dialect="kafka", writers=refusals.FROM_4_1, incarnation=0)
    old = refusals.Refusal("the value has the layout of Kafka 4.0", refusals.FROM_4_1, writers=refusals.ONLY_4_0)
    record = SimpleNamespace(
        role=Role.SHARE_STATE,
        kind=SHARE,
        key_type=15,
        member_id=None,
        value=1,
        refusal=old,
        offset=7,
        commit_before=None,
    )
    Loading(context, lambda _: LoadingRules()).replay(record)  # type: ignore[arg-type]
    assert not context.writers


def test_releases_are_in_the_order_of_their_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    assert releases_text({"4.10.0", "4.2.0", "4.3.1"}) == "4.2.0 to 4.10.0"
    monkeypatch.setattr(refusals, "RELEASES", frozenset({"4.0.0", "4.2.0", "4.10.0"}))
    assert refusals.since.__wrapped__("4.2") == {"4.2.0", "4.10.0"}

"""A live topic without Spark: what is fetched is what the broker's own files hold, night after night."""

import re
import time
from contextlib import ExitStack, closing
from datetime import UTC, datetime

import pytest
from deltalake import DeltaTable

from kip848_records.cli import main
from kip848_records.protocol.group_partition import offsets_partition
from kip848_records.sources.topic import client
from kip848_records.sources.topic.address import open_topic
from kip848_records.sources.topic.client import READ_UNCOMMITTED, Brokers
from tests.audits import table_rows
from tests.broker import offsets_topic
from tests.broker.clients import commit, commit_in_transaction, consumer, make_topic, open_transaction
from tests.broker.lookup import look_up
from tests.broker.requests import delete_group, wait_for_state
from tests.broker.settings import PARTITIONS
from tests.live.as_files import CLUSTER, assert_as_files, audit, fill

SUBJECT = "fetched"


@pytest.fixture(scope="module")
def url(broker):
    """The topic of a broker in which groups of two protocols live, with transactions of each outcome."""
    fill(broker, SUBJECT)
    for protocol in ("consumer", "classic"):
        for number in range(2):
            with consumer(broker, f"{protocol}-{number}", [SUBJECT], protocol=protocol) as member:
                member.wait_for(4)
    return f"kafka://{broker.bootstrap}"


@pytest.mark.usefixtures("url")
@pytest.mark.parametrize("commits", [True, False])
def test_all_tables_are_those_of_the_brokers_own_files(broker, tmp_path, commits):
    with open_transaction(broker, "commits-3", {(SUBJECT, 2): 9}) as producer:
        assert_as_files(broker, tmp_path, offset_commits=commits)
        producer.abort_transaction(20)
    assert len(table_rows(tmp_path / "live", "open_transaction", CLUSTER)) == commits
    contents = table_rows(tmp_path / "live", "partition_content", CLUSTER)
    assert [row["open_groups"] for row in contents if row["open_transactions"]] == [["commits-3"]]
    (run,) = table_rows(tmp_path / "live", "audit_runs", CLUSTER)
    assert (run["topic_content"], run["max_message_bytes"]) == (True, 1_048_588)


def test_what_is_in_a_topic_that_is_read_twice_is_not_known(broker, url, tmp_path):
    audit(url, tmp_path / "out", topic_content=True)
    assert table_rows(tmp_path / "out", "topic_content", CLUSTER)
    commit(broker, "commits-0", {(SUBJECT, 0): 99})
    audit(url, tmp_path / "out", topic_content=True)
    assert not table_rows(tmp_path / "out", "topic_content", CLUSTER)
    assert [row["topic_content"] for row in table_rows(tmp_path / "out", "audit_runs", CLUSTER)][-1] is False


@pytest.mark.parametrize("ends_with", ["commit", "abort"])
@pytest.mark.parametrize("commits", [True])
def test_a_transaction_that_ends_between_two_runs(broker, url, tmp_path, ends_with, commits):
    group = f"between-{ends_with}"
    with open_transaction(broker, group, {(SUBJECT, 2): 7}) as producer:
        audit(url, tmp_path / "nights", offset_commits=commits)
        (found,) = table_rows(tmp_path / "nights", "open_transaction", CLUSTER)
        assert found["group_ids"] == [group]
        getattr(producer, f"{ends_with}_transaction")(20)
    later = audit(url, tmp_path / "nights", offset_commits=commits)
    assert not table_rows(tmp_path / "nights", "open_transaction", CLUSTER)
    once = audit(url, tmp_path / "once", offset_commits=commits, captured_at=None)
    for table in ("latest_state", "commit_progress", "commit_jump", "group_state_timeline", "epoch_timeline"):
        nights, at_once = (
            {tuple(sorted((k, repr(v)) for k, v in row.items() if "captured" not in k and not k.endswith("_ms")))
             for row in table_rows(tmp_path / of, table, CLUSTER)} for of in ("nights", "once")
        )  # fmt: skip
        assert nights == at_once, table
    assert later.run == 2
    assert once.run == 1


def lost_offsets(out):
    """By partition the first and the last offset that was lost."""
    known = {row["partition"]: row for row in table_rows(out, "partition_history", CLUSTER)}
    lost = {place: (row["first_lost_offset"], row["last_lost_offset"]) for place, row in known.items()}
    return {place: offsets for place, offsets in lost.items() if offsets != (None, None)}


def test_a_batch_that_the_cleaner_took_between_two_requests_is_not_lost(broker, url, tmp_path, monkeypatch):
    group = offsets_topic.group_in(1, "cleaned")
    commit(broker, group, {(SUBJECT, 0): 1}, times=6)
    taken = offsets_topic.ends(broker)[1][1] - 3
    fetch, asked = Brokers.fetch, []

    def without_batch(self, ranges, write):
        asked.append({*ranges})

        def written(partition, content, _):
            found = [batch for at, batch in offsets_topic.batches(bytes(content)) if (partition, at) != (1, taken)]
            if found:
                write(partition, memoryview(b"".join(found)), sum(map(len, found[:-1])))

        fetch(self, ranges, written if len(asked) == 1 else write)

    monkeypatch.setattr(Brokers, "fetch", without_batch)
    found = audit(url, tmp_path, offset_commits=True)
    assert asked == [asked[0], {1}]
    assert not lost_offsets(tmp_path)
    assert all(read.is_gapless for read in found.reads if read.partition == 1)


def test_a_batch_that_the_broker_lost_is_lost_as_in_its_files(broker, url, tmp_path):
    group = offsets_topic.group_in(1, "torn")
    commit(broker, group, {(SUBJECT, 0): 1}, times=6)
    lost = offsets_topic.ends(broker)[1][1] - 3
    offsets_topic.lose_batch(broker, 1, lost)
    assert_as_files(broker, tmp_path, offset_commits=False)
    assert lost_offsets(tmp_path / "live") == lost_offsets(tmp_path / "files") == {1: (lost, lost)}
    # The next night finds nothing new, and does not forget it.
    audit(url, tmp_path / "live", offset_commits=False)
    assert lost_offsets(tmp_path / "live") == {1: (lost, lost)}


def test_a_second_run_reads_only_what_is_new(broker, url, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    first = audit(url, "relative")
    commit(broker, "commits-0", {(SUBJECT, 0): 1})
    second = audit(url, "relative")
    (grown,) = [read for read in second.reads if read.from_offset != read.until_offset]
    assert grown.partition == offsets_partition("commits-0", PARTITIONS)
    assert {r.partition: r.from_offset for r in second.reads} == {r.partition: r.until_offset for r in first.reads}
    assert all(read.is_gapless and read.note is None for read in second.reads)
    assert sum(second.records.values()) == 1


@pytest.mark.parametrize("command", ["run_audit", "audit", "explain", "inspect"])
def test_a_command_connects_once_to_each_broker(url, tmp_path, monkeypatch, command):
    places = []
    connect = client._Connection.__init__

    def counted(self, place, *more):
        places.append(place)
        connect(self, place, *more)

    monkeypatch.setattr(client._Connection, "__init__", counted)
    if command == "run_audit":
        audit(url, tmp_path, offset_commits=True)
    else:
        assert (
            main([command, url, *(["--out", str(tmp_path)] if command == "audit" else ["--group", "consumer-0"])]) == 0
        )
    assert len(places) == len({*places}) == 1


def test_one_group_is_answered_from_its_partition(broker, url, capsys):
    assert main(["explain", url, "--group", "consumer-0"]) == 0
    said = capsys.readouterr()
    assert "Group consumer-0 of cluster default" in said.out
    assert f"Not looked at: this read one partition of {PARTITIONS}." in said.out
    assert f"reading {url}, 1 of {PARTITIONS} partitions" in " ".join(said.err.split())
    assert main(["explain", "--bootstrap-server", broker.bootstrap, "consumer-0", "--offset-commits"]) == 0
    assert f"reading {url}, 1 of {PARTITIONS} partitions" in capsys.readouterr().err


def test_a_check_of_one_group_and_its_offsets_read_its_partition(url, capsys):
    assert main(["check", url, "--group", "consumer-0"]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("Group consumer-0 only\n")
    assert f"Not looked at: this read one partition of {PARTITIONS}." in said.out
    assert f"reading {url}, 1 of {PARTITIONS} partitions" in " ".join(said.err.split())
    assert main(["offsets", url, "--group", "commits-0"]) in {0, 1}
    said = " ".join(capsys.readouterr().err.split())
    assert f"1 of {PARTITIONS} partitions" in said
    assert f"not looked at: this read one partition of {PARTITIONS};" in said


def test_a_group_that_is_not_in_its_partition_is_searched_in_all(broker, url, capsys):
    """The topic may have been given more partitions since; the one of the group may have no record."""
    make_topic(broker, "empty.__consumer_offsets", 3)
    assert main(["explain", f"{url}/empty.__consumer_offsets", "--group", "g"]) == 2
    assert capsys.readouterr().err.endswith("hint: if that is expected, pass --allow-empty to kip848 audit\n")
    assert main(["explain", url, "--group", "consumer-9"]) == 2
    said = capsys.readouterr().err
    assert f"{PARTITIONS} partitions\n" in said
    assert "similar: consumer-0" in said.replace("\n", " ") or "consumer-1" in said


def test_the_brokers_own_word_is_beside_the_log_s(broker, url, capsys):
    """A classic group has begun to rebalance, which no record shows."""
    group = "own-word"
    with consumer(broker, group, [SUBJECT], protocol="classic", holds=True) as first:
        first.wait_for(4)
        with consumer(broker, group, [SUBJECT], protocol="classic"):
            first.wait_until_asked()
            assert main(["explain", url, "--group", group]) == 0
            said = " ".join(capsys.readouterr().out.split())
            assert f"Group {group} of cluster" in said
            assert re.search(r"The group's coordinator says at [-\d :]+ UTC: PreparingRebalance with 2 members\.", said)
            first.release()
    with closing(Brokers.of(open_topic(url, None))) as brokers:
        assert brokers.group_now("nobody") is None
    assert main(["explain", url, "--group", group, "--no-describe"]) == 0
    assert "coordinator says" not in capsys.readouterr().out


@pytest.mark.parametrize(
    "command",
    ["check", "topic", "inspect --limit 3", "offsets --group commits-0", "query --sql=SELECT\u00a01", "report --out r"],
)
def test_commands_take_a_topic_as_they_take_a_copy(url, capsys, command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    name, *more = command.split(" ")
    assert main([name, url, *more]) in {0, 1}
    said = capsys.readouterr()
    assert said.out
    assert "Spark" not in said.err


def test_compacted_and_gone_on_with_a_clean_end(broker, url, tmp_path):
    """The cleaner leaves gaps: exact in the batches, so that a range goes on behind markers, and not behind a gap.

    It leaves some records of the batch in which the first of two records of one key was.
    """
    with consumer(broker, offsets_topic.group_in(0, "cleaned-members"), [SUBJECT]) as member:
        member.wait_for(4)
    audit(url, tmp_path / "nights", offset_commits=True)
    commit_in_transaction(broker, "commits-1", {(SUBJECT, 1): 8})
    marked = audit(url, tmp_path / "nights", offset_commits=True)
    assert all(read.range_from == 0 and read.note is None for read in marked.reads)
    commit(broker, offsets_topic.group_in(0, "cleaned"), {(SUBJECT, 0): 1}, times=5)
    offsets_topic.compact(broker, [0])
    compacted = {read.partition: read for read in audit(url, tmp_path / "nights", offset_commits=True).reads}
    assert "compacted since it was read" in str(compacted[0].note)
    assert all(compacted[partition].note is None for partition in (1, 2, 3))
    fresh = {read.partition: read for read in audit(url, tmp_path / "fresh").reads}
    assert not fresh[0].is_gapless
    assert fresh[1].is_gapless


def test_a_copy_is_dated_and_a_topic_is_known_to_the_time_of_the_question(url, tmp_path):
    before = datetime.now(UTC)
    found = audit(url, tmp_path, offset_commits=True)
    assert before <= found.captured_at <= datetime.now(UTC)
    ends = look_up(open_topic(url, None), isolation=READ_UNCOMMITTED)
    assert {read.partition: read.until_offset for read in found.reads} == ends.high_watermarks
    assert all(read.is_read_to_end for read in found.reads)


def test_a_broker_that_stops_is_said_in_seconds(broker, url, tmp_path):
    with ExitStack() as stack:
        broker.stop()
        stack.callback(broker.start)
        began = time.monotonic()
        code = main(["audit", url, "--out", str(tmp_path / "out")])
        assert time.monotonic() - began < 10
    assert code == 2
    assert not (tmp_path / "out").exists()


def test_what_was_deleted_unseen_is_inferred(broker, url, tmp_path):
    """A group was deleted, and the cleaner has removed its tombstones before the next run."""
    with consumer(broker, "soon-gone", [SUBJECT]) as member:
        member.wait_for(4)
    audit(url, tmp_path)
    wait_for_state(broker, "soon-gone", "Empty")
    delete_group(broker, "soon-gone")
    offsets_topic._configure(broker, {"delete.retention.ms": "0"})
    offsets_topic.compact(broker)
    offsets_topic._configure(broker, {"delete.retention.ms": "0"})
    partition = offsets_topic.partition_of("soon-gone")
    reads = {read.partition: read for read in audit(url, tmp_path).reads}
    offsets_topic._configure(broker, {"delete.retention.ms": None})
    assert "keys are gone" in reads[partition].note
    assert "soon-gone" not in {row["group_id"] for row in table_rows(tmp_path, "group_state", CLUSTER)}
    deletions = [row for row in table_rows(tmp_path, "log", CLUSTER) if row["is_inferred"]]
    assert "soon-gone" in {row["group_id"] for row in deletions}
    assert all(row["value"] is None for row in deletions)


def test_partitions_that_are_added_and_a_topic_that_is_made_anew(broker, url, tmp_path):
    audit(url, tmp_path)
    before = {row["group_id"]: row["state"] for row in table_rows(tmp_path, "group_state", CLUSTER)}
    offsets_topic.add_partitions(broker, PARTITIONS + 1)
    reads = {read.partition: read for read in audit(url, tmp_path).reads}
    assert reads[PARTITIONS].note == "added since the previous run"
    offsets_topic.make_anew(broker)
    with consumer(broker, "new", [SUBJECT]) as member:
        member.wait_for(4)
        audit(url, tmp_path)
    assert {row["group_id"] for row in table_rows(tmp_path, "group_state", CLUSTER)} == {"new"}
    runs = DeltaTable(tmp_path / "audit_runs").to_pyarrow_table().to_pylist()
    (aside,) = {row["cluster"] for row in runs if row["is_archived"]}
    kept = {row["group_id"]: row["state"] for row in table_rows(tmp_path, "group_state", aside)}
    assert kept == before

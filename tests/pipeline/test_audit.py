"""The audit of every capture, against what Kafka's own tools said of the same groups; and what a run leaves behind."""

import json
import shutil
from collections import Counter, defaultdict
from dataclasses import replace
from datetime import UTC, datetime

import pyarrow.compute as pc
import pytest
from deltalake import DeltaTable

from kip848_records.errors import InputError
from kip848_records.pipeline import rebuild as rebuild_module
from kip848_records.pipeline.audit import run_audit
from kip848_records.pipeline.options import AuditOptions
from kip848_records.queries.duck import DuckTables
from kip848_records.report.summary import summary
from tests.audits import CLUSTERS, capture_options, dumped, table_rows
from tests.described import described_rows
from tests.dump_log import read_dump_logs
from tests.equal_rows import Rows
from tests.progress import Watcher
from tests.protocol.segment_writer import plain_batch

# The log itself is kept of a live topic only.
DESCRIBED = ["kafka-4.0.0-zstd", "kafka-4.3.1"]
# Its assignment was finished between the copy and the description.
CHANGED_AFTER_THE_COPY = {("kafka-4.0.0-zstd", "churn")}


@pytest.mark.parametrize("capture", DESCRIBED)
def test_group_states_are_what_kafka_described(audits, captures, capture):
    described = {
        row["GROUP"]: (row["STATE"], row["GROUP-EPOCH"], row["TARGET-ASSIGNMENT-EPOCH"], int(row["#MEMBERS"]))
        for row in described_rows((captures / capture / "oracle" / "describe-state.txt").read_text())
    }
    ours = {
        row["group_id"]: (row["state"], shown(row["group_epoch"]), shown(row["assignment_epoch"]), row["members"])
        for row in audits.rows(capture, "group_state")
    }
    assert ours.keys() == described.keys()
    compared = [group for group in ours if (capture, group) not in CHANGED_AFTER_THE_COPY]
    assert len(compared) >= 8
    assert {group: ours[group] for group in compared} == {group: described[group] for group in compared}


@pytest.mark.parametrize("capture", DESCRIBED)
def test_members_and_their_assignments_are_what_kafka_described(audits, captures, capture):
    described = {
        (row["GROUP"], row["CONSUMER-ID"]): {
            "host": row["HOST"],
            "client": row["CLIENT-ID"],
            "instance": row.get("GROUP-INSTANCE-ID", ""),
            "epochs": (row["CURRENT-EPOCH"], row["TARGET-EPOCH"]),
            "current": partitions_of(row["CURRENT-ASSIGNMENT"]),
            "target": partitions_of(row["TARGET-ASSIGNMENT"]),
        }
        for row in described_rows((captures / capture / "oracle" / "describe-members.txt").read_text())
    }
    names = json.loads((captures / capture / "topics.json").read_text())
    # A 4.0 broker describes a member without the partitions that it has yet to give up.
    pending_too = capture != "kafka-4.0.0-zstd"
    ours = members_of(audits.rows(capture, "latest_state"), names, pending_too=pending_too)
    in_play = {key for key in described.keys() | ours.keys() if (capture, key[0]) not in CHANGED_AFTER_THE_COPY}
    assert len(in_play) > 10
    assert {key: ours.get(key) for key in in_play} == {key: described.get(key) for key in in_play}


def partitions_of(text):
    """Of `a:0,1;b:2`, the set of (topic, partition)."""
    topics = [topic.rpartition(":") for topic in text.split(";") if topic not in ("", "-")]
    return {(name, int(number)) for name, _, numbers in topics for number in numbers.split(",")}


def members_of(state, names, *, pending_too):
    records = defaultdict(dict)
    for row in state:
        records[row["key_type"]][row["group_id"], row["member_id"]] = json.loads(row["value"])

    def partitions(topics):
        return {(names[topic["topicId"]], number) for topic in topics for number in topic["partitions"]}

    members = {}
    for (group, member), value in records[5].items():
        current, target = records[8].get((group, member)), records[7].get((group, member))
        owned = current["assignedPartitions"] + (current["partitionsPendingRevocation"] if pending_too else [])
        members[group, member] = {
            "host": value["clientHost"],
            "client": value["clientId"],
            "instance": value["instanceId"] or "",
            "epochs": (str(current["memberEpoch"]), str(records[6][group, None]["assignmentEpoch"])),
            "current": partitions(owned),
            "target": partitions(target["topicPartitions"]) if target else set(),
        }
    for (group, _), value in records[2].items():
        for member in value["members"]:
            assigned = member["assignment"]["assignedPartitions"]
            members[group, member["memberId"]] = {
                "host": member["clientHost"],
                "client": member["clientId"],
                "instance": member["groupInstanceId"] or "",
                "epochs": ("-", "-"),
                "current": {(topic["topic"], number) for topic in assigned for number in topic["partitions"]},
                "target": set(),
            }
    return members


def shown(epoch):
    return "-" if epoch is None else str(epoch)


def test_records_are_counted_by_type_as_kafka_printed_them(audits, capture):
    audit = audits.audits[capture.name]
    assert audit.records == Counter(record["type"] for record in dumped(capture))
    assert audit.aborted > 0


def test_the_newest_time_of_the_log_is_its_capture(audits, capture):
    # Those of aborted transactions included.
    newest = max(record["timestamp"] for record in read_dump_logs(capture / "oracle" / "dump-log", aborted=True))
    assert audits.audits[capture.name].captured_at.timestamp() * 1000 == pytest.approx(newest, abs=0.5)


def test_topic_names_come_from_the_file_first(audits, captures):
    names = json.loads((captures / "kafka-4.0.0-zstd" / "topics.json").read_text())
    rows = audits.rows("kafka-4.0.0-zstd", "topic_name")
    assert {row["topic_id"]: row["topic"] for row in rows if row["source"] == "topics_file"} == names


def test_the_phases_of_an_audit_are_said(audits, capture):
    assert audits.said[capture.name].phases == ["reading", "replaying", "writing tables"]


def test_the_rows_of_the_phases_are_said(audits, capture):
    records = Counter(record["type"] for record in dumped(capture))
    of_groups = sum(count for key_type, count in records.items() if key_type > 1)
    assert 0 < of_groups < sum(records.values())
    assert audits.said[capture.name].rows == {"reading": sum(records.values()), "replaying": of_groups}


def test_a_run_names_the_version_of_each_of_its_tables(audits):
    """The last capture's audit was the last to write."""
    (run,) = audits.rows(max(CLUSTERS), "audit_runs")
    versions = dict(run["table_versions"])
    assert versions.keys() >= {"log", "rebalance", "group_state", "latest_state"}
    assert versions == {name: DeltaTable(audits.out / name).version() for name in versions}


class TestRuns:
    """Runs over tables that are there already; all of them work on one copy of the shared audits."""

    @pytest.fixture(autouse=True)
    def copy(self, audits, tmp_path):
        self.out = tmp_path / "out"
        shutil.copytree(audits.out, self.out)

    def tables(self):
        rows = {name: DeltaTable(self.out / name).to_pyarrow_table() for name in self.there()}
        return {
            (name, cluster): Rows(found.filter(pc.equal(found["cluster"], cluster)).to_pylist())
            for name, found in rows.items()
            for cluster in CLUSTERS.values()
        }

    def versions(self):
        return {name: DeltaTable(self.out / name).version() for name in self.there()}

    def there(self):
        return sorted(path.name for path in self.out.iterdir())

    @pytest.mark.slow
    def test_running_again_with_a_dump_beside_the_segments_leaves_equal_tables(self, captures):
        """Rows of the Kafka source are a copy of the log like any other, and other clusters are left alone."""
        before, versions = self.tables(), self.versions()
        capture = captures / "kafka-4.3.1-all-types"
        sources = (str(capture / "segments"), str(capture / "kafka-source.parquet"))
        run_audit(None, replace(capture_options(capture, self.out), sources=sources), Watcher())
        after = self.tables()
        copies = [row["copy"] for row in table_rows(self.out, "partition_history", CLUSTERS[capture.name])]
        assert Counter(copies) == dict.fromkeys(sources, 4)
        assert {table for table in before if before[table] != after[table]} == {
            ("log", CLUSTERS[capture.name]),
            ("partition_history", CLUSTERS[capture.name]),
            ("audit_runs", CLUSTERS[capture.name]),
        }
        assert self.versions() != versions
        runs = table_rows(self.out, "audit_runs", CLUSTERS[capture.name])
        assert {row["run"]: row["sources"] for row in runs} == {1: list(sources[:1]), 2: list(sources)}

    @pytest.mark.slow
    def test_a_write_that_fails_is_repaired_by_the_next_run(self, captures, monkeypatch):
        before = self.tables()
        replace_rows = rebuild_module._replace

        def fails(log, name, rows):
            if name == "latest_state":
                raise OSError("no space left")
            replace_rows(log, name, rows)

        options = capture_options(captures / "kafka-4.0.0-zstd", self.out)
        with monkeypatch.context() as patch:
            patch.setattr(rebuild_module, "_replace", fails)
            with pytest.raises(OSError, match="no space left"):
                run_audit(None, options, Watcher())
        unfinished = self.tables()
        cluster = CLUSTERS["kafka-4.0.0-zstd"]
        assert {table for table, of in before if before[table, of] != unfinished[table, of]} == {"log"}
        assert run_audit(None, options, Watcher()).resumed
        after = self.tables()
        changed = {table for table in before if before[table] != after[table]}
        assert changed == {("log", cluster), ("audit_runs", cluster)}

    def test_a_source_that_fails_half_way_changes_nothing(self, captures, tmp_path):
        versions = self.versions()
        dump = tmp_path / "dump"
        shutil.copytree(captures / "kafka-4.3.1-all-types" / "kafka-source.parquet", dump)
        files = sorted(dump.glob("*.parquet"))
        files[-1].write_bytes(b"PAR1" + files[-1].read_bytes()[:1000])
        options = AuditOptions(sources=(str(dump),), out=str(self.out), cluster=CLUSTERS["kafka-4.3.1"])
        with pytest.raises(InputError, match="cannot be read"):
            run_audit(None, options, Watcher())
        assert self.versions() == versions


@pytest.fixture
def empty_source(tmp_path):
    folder = tmp_path / "in" / "__consumer_offsets-0"
    folder.mkdir(parents=True)
    (folder / f"{0:020}.log").touch()
    return str(tmp_path / "in")


def test_no_rows_are_an_error(tmp_path, empty_source):
    out = tmp_path / "out"
    with pytest.raises(InputError, match=r"no record could be read from .*; .*pass --allow-empty to kip848 audit"):
        run_audit(None, AuditOptions((empty_source,), str(out)), Watcher())
    assert list(out.iterdir()) == []


def test_another_topic_is_refused_before_anything_is_written(tmp_path):
    segment = tmp_path / "orders" / "__consumer_offsets-0" / f"{0:020}.log"
    segment.parent.mkdir(parents=True)
    segment.write_bytes(plain_batch(0))
    options = AuditOptions((str(tmp_path / "orders"),), str(tmp_path / "out"))
    with pytest.raises(InputError, match=r"/orders has no record .*; check that it is `__consumer_offsets`"):
        run_audit(None, options, Watcher())
    assert not (tmp_path / "out").exists()


def test_no_rows_can_be_allowed(tmp_path, empty_source):
    out = tmp_path / "a b \N{SNAKE}, c"
    audit = run_audit(None, AuditOptions((empty_source,), str(out), allow_empty=True), Watcher())
    assert (audit.records, audit.captured_at) == ({}, None)
    rows = {path.name: table_rows(out, path.name, "default") for path in out.iterdir()}
    assert {name for name, found in rows.items() if found} <= {"audit_runs", "log", "partition_history"}


def test_a_partition_without_records_counts(captures, tmp_path):
    """A complete copy of five partitions says so, though groups have written into three of them only."""
    source = tmp_path / "in"
    shutil.copytree(captures / "kafka-4.0.0-zstd" / "segments", source)
    for partition in (3, 4):
        (source / f"__consumer_offsets-{partition}").mkdir()
        (source / f"__consumer_offsets-{partition}" / f"{0:020}.log").touch()
    options = AuditOptions((str(source),), str(tmp_path / "out"))
    audit = run_audit(None, options, Watcher())
    (data,) = [line for line in map(str, summary(DuckTables(options.out), audit)) if line.startswith("Data")]
    assert data.endswith("0 of 5 partitions incomplete")


def test_only_errors_are_no_records_and_the_first_is_told(tmp_path):
    folder = tmp_path / "in" / "__consumer_offsets-0"
    folder.mkdir(parents=True)
    (folder / f"{0:020}.log").write_bytes(b"garbage " * 20)
    with pytest.raises(InputError, match=rf"no record could be read from .*: .*{0:020}\.log: "):
        run_audit(None, AuditOptions((str(tmp_path / "in"),), str(tmp_path / "out")), Watcher())


def test_a_garbage_file_beside_good_ones_is_quarantined_by_name(captures, tmp_path):
    source = tmp_path / "in"
    shutil.copytree(
        captures / "kafka-4.0.0-zstd" / "segments" / "__consumer_offsets-0", source / "__consumer_offsets-0"
    )
    (source / "__consumer_offsets-1").mkdir()
    (source / "__consumer_offsets-1" / f"{7:020}.log").write_bytes(b"garbage " * 20)
    audit = run_audit(None, AuditOptions((str(source),), str(tmp_path / "out")), Watcher())
    assert sum(audit.records.values()) > 100
    ((partition, code, reason),) = [
        (row["partition"], row["error_code"], row["reason"])
        for row in table_rows(tmp_path / "out", "quarantine", "default")
    ]
    assert (partition, code) == (1, "not_a_segment")
    assert f"/__consumer_offsets-1/{7:020}.log: " in reason


@pytest.mark.parametrize("place", ["file", "file/below", "/proc/kip848"])
def test_an_output_folder_that_cannot_be_written_is_the_user_s_to_mend(captures, tmp_path, place):
    (tmp_path / "file").touch()
    source = str(captures / "kafka-4.0.0-zstd" / "segments")
    with pytest.raises(InputError, match=r"nothing can be written to .*; pass a folder"):
        run_audit(None, AuditOptions((source,), str(tmp_path / place)), Watcher())


@pytest.mark.parametrize("out", ["{}/dump", "{}/link/out", "file:{}/dump/out"])
def test_tables_are_not_written_among_the_files_of_a_dump(captures, tmp_path, out):
    shutil.copytree(captures / "kafka-4.3.1-all-types" / "kafka-source.parquet", tmp_path / "dump")
    (tmp_path / "link").symlink_to("dump")
    there = sorted((tmp_path / "dump").iterdir())
    with pytest.raises(InputError, match=r"--out .* (is|lies in) the source .*/dump; pass a folder"):
        run_audit(None, AuditOptions((str(tmp_path / "dump"),), out.format(tmp_path)), Watcher())
    assert sorted((tmp_path / "dump").iterdir()) == there


def test_a_log_was_not_copied_before_its_newest_record(captures, tmp_path):
    source = str(captures / "kafka-4.0.0-zstd" / "segments")
    before = datetime(2020, 1, 1, tzinfo=UTC)
    with pytest.raises(InputError, match=r"not copied at 2020-01-01.* newest record is from 20"):
        run_audit(None, AuditOptions((source,), str(tmp_path / "out"), captured_at=before), Watcher())
    assert not (tmp_path / "out").exists() or not any((tmp_path / "out").iterdir())


def test_a_cluster_needs_a_name(tmp_path):
    with pytest.raises(InputError, match="name of the cluster is empty"):
        run_audit(None, AuditOptions((str(tmp_path),), str(tmp_path), cluster=""), Watcher())

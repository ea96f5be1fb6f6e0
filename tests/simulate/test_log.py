"""A simulated log is one that Kafka could have written: its bytes, its places, its invariants."""

import json
import struct
from collections import Counter, defaultdict
from itertools import groupby

import pyarrow.parquet as pq
import pytest

from kip848_records.protocol.encode import encode_key, encode_message
from kip848_records.protocol.messages import RECORDS
from kip848_records.simulate import Simulation, simulate
from kip848_records.simulate.broker.cluster import offsets_partition
from tests.simulate.decoded import OFFSET_COMMIT, decoded, records_of, rows_of

SPEC = {"groups": 16, "members": 3, "hours": 0.3, "happening_s": 30, "seed": 16, "commit_interval_ms": 20_000}


@pytest.fixture(scope="module")
def releases(tmp_path_factory):
    folder = tmp_path_factory.mktemp("simulated")
    return {release: simulate(Simulation(**SPEC, release=release), folder / release) for release in ("4.0", "4.3")}


@pytest.fixture(scope="module", params=["4.0", "4.3"])
def simulated(request, releases):
    return releases[request.param]


@pytest.fixture(scope="module")
def records(simulated):
    return records_of(simulated.log)


def files(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_one_seed_is_one_log_however_many_processes_write_it(tmp_path):
    spec = Simulation(groups=8, hours=0.1, happening_s=20, seed=3, partitions=3, compacted=True)
    simulate(spec, tmp_path / "once")
    simulate(spec, tmp_path / "again", processes=2)
    assert files(tmp_path / "once") == files(tmp_path / "again")
    simulate(Simulation(groups=8, hours=0.1, happening_s=20, seed=4, partitions=3, compacted=True), tmp_path / "other")
    assert files(tmp_path / "once") != files(tmp_path / "other")


def test_a_group_does_the_same_whichever_others_there_are(tmp_path):
    alone, among_others = (
        records_of(simulate(Simulation(groups=groups, hours=0.2, happening_s=30, seed=1), tmp_path / str(groups)).log)
        for groups in (1, 9)
    )
    (group_id,) = {record["key"]["groupId"] for record in alone}
    assert without_offsets(alone) == without_offsets(r for r in among_others if r["key"].get("groupId") == group_id)


def without_offsets(records):
    return [(record["timestamp"], record["type"], record["key"], record["value"]) for record in records]


def test_every_byte_is_what_the_encoder_writes(simulated):
    rows = rows_of(simulated.log)
    commits = [row for row in rows if row["key"][1] == OFFSET_COMMIT]
    others = [row for row in rows if row["key"][1] != OFFSET_COMMIT]
    for row in [*others, *commits[::50]]:
        record = decoded(row)
        kind = RECORDS[record["type"]]
        if record["type"] == 5 and record["value"]:
            record["value"].setdefault("classicMemberMetadata", None)  # brokers write out that there is none
        assert encode_key(kind, record["key"]) == row["key"]
        if row["value"] is not None:
            (version,) = struct.unpack(">h", row["value"][:2])
            assert encode_message(kind.value_layouts(version)[0], record["value"]) == row["value"]


def test_all_record_types_of_consumer_groups_are_written(simulated, records):
    written = {(record["type"], record["value"] is None) for record in records}
    types = {2, 3, 5, 6, 7, 8, 16}
    assert written >= {(key_type, tombstone) for key_type in types for tombstone in (False, True)}
    partition_metadata = {tombstone for key_type, tombstone in written if key_type == 4}
    release = "4.0" if False in partition_metadata else "4.3"
    assert partition_metadata == ({False, True} if release == "4.0" else {True})
    assert OFFSET_COMMIT in {row["key"][1] for row in rows_of(simulated.log)}


def test_rows_are_those_of_the_kafka_source(simulated):
    for path in simulated.log.iterdir():
        table = pq.read_table(path)
        columns = {"key", "value", "topic", "partition", "offset", "timestamp", "timestampType"}
        assert set(table.column_names) == columns
        offsets = table["offset"].to_pylist()
        assert offsets == sorted(set(offsets))
        assert set(table["topic"].to_pylist()) == {"__consumer_offsets"}
    newest = max(row["timestamp"].timestamp() for row in rows_of(simulated.log))
    assert round(newest * 1000) == simulated.captured_at


def test_aborted_transactions_and_markers_leave_gaps(simulated):
    partitions = pq.read_table(simulated.truth / "log_partition.parquet").to_pylist()
    assert sum(row["rows"] for row in partitions) == simulated.rows == len(rows_of(simulated.log))
    assert sum(row["end_offset"] for row in partitions) > simulated.rows
    assert {row["cleaned_to"] for row in partitions} == {0}


def test_topics_have_their_names(simulated, records):
    names = json.loads(simulated.topics.read_text())
    assigned = {part["topicId"] for record in records if record["type"] == 7 for part in topic_partitions(record)}
    assert assigned <= names.keys()


def topic_partitions(record):
    return record["value"]["topicPartitions"] if record["value"] else []


def test_records_are_in_the_partition_of_their_group(simulated):
    for row in rows_of(simulated.log):
        (length,) = struct.unpack(">h", row["key"][2:4])
        assert row["partition"] == offsets_partition(row["key"][4 : 4 + length].decode())


@pytest.mark.parametrize(
    ("group_id", "partition"),
    # What String.hashCode gives: 0, 99162322, -2147483648, 1772899.
    [("", 0), ("hello", 22), ("polygenelubricants", 0), ("\U0001f600", 49)],
)
def test_the_partition_of_a_group(group_id, partition):
    assert offsets_partition(group_id) == partition


def test_the_partition_of_a_group_is_where_brokers_put_it(captures):
    rows = pq.read_table(captures / "kafka-4.3.1-all-types" / "kafka-source.parquet").to_pylist()
    groups = {(decoded(row)["key"]["groupId"], row["partition"]) for row in rows if row["key"][1] in {3, 5, 8}}
    assert groups
    assert all(offsets_partition(group_id, partitions=4) == partition for group_id, partition in groups)


def test_operations_look_like_those_of_a_broker(captures, releases):
    rows = pq.read_table(captures / "kafka-4.3.1-all-types" / "kafka-source.parquet").to_pylist()
    written = [decoded(row) for row in rows if row["key"][1] in {2, 3, 4, 5, 6, 7, 8, 16}]
    assert shapes(written).keys() - shapes(records_of(releases["4.3"].log)).keys() == set()


def shapes(records):
    """How often a run of records of one group was written at once, by its key types, which repeat; - is a tombstone."""
    found = Counter()
    place = None
    operation = []
    for record in sorted(records, key=lambda r: (r["partition"], r["offset"])):
        group = record["key"].get("groupId", record["key"].get("group"))
        if place != (record["partition"], record["offset"] - 1, record["timestamp"], group):
            found[tuple(name for name, _ in groupby(operation))] += 1
            operation = []
        operation.append(f"{record['type']}{'' if record['value'] else '-'}")
        place = (record["partition"], record["offset"], record["timestamp"], group)
    found[tuple(name for name, _ in groupby(operation))] += 1
    return found


def test_a_partition_has_one_owner_and_epochs_are_in_order(records):
    """KIP-848's invariants, looked at after every operation of a group."""
    groups = defaultdict(list)
    for record in records:
        if record["type"] in {3, 5, 6, 8}:
            groups[record["key"]["groupId"]].append(record)
    for log in groups.values():
        epochs = {}
        current = {}
        for record, following in zip(log, [*log[1:], None], strict=True):
            key_type, value = record["type"], record["value"]
            if key_type == 8:
                current[record["key"]["memberId"]] = value
            elif key_type in {3, 6}:
                epochs[key_type] = None if value is None else next(iter(value.values()))
            if following is None or following["timestamp"] != record["timestamp"]:
                check({member: value for member, value in current.items() if value}, epochs.get(3), epochs.get(6))


def check(current, group_epoch, assignment_epoch):
    owned = Counter(
        (part["topicId"], number)
        for value in current.values()
        for part in [*value["assignedPartitions"], *value["partitionsPendingRevocation"]]
        for number in part["partitions"]
    )
    assert set(owned.values()) <= {1}
    for value in current.values():
        assert max(value["memberEpoch"], value["previousMemberEpoch"]) <= (assignment_epoch or 1) <= (group_epoch or 1)

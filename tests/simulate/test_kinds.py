"""A simulated log with groups of every kind: what the replay makes of it, against the files of the truth."""

import pytest

from kip848_records.errors import InputError
from kip848_records.protocol.group_partition import offsets_partition
from kip848_records.simulate.run import topic_names
from tests.replay.classic_logs import tables_of
from tests.replay.log_batches import group_of_key, group_rows, log_batch
from tests.simulate import test_classic_groups, test_connect_groups, test_share_groups, test_streams_groups
from tests.simulator.decoded import in_ms, rows_of
from tests.simulator.run import Simulation, simulate
from tests.simulator.walked import assert_same

OTHERS = {"classic_groups": 3, "connect_groups": 3, "share_groups": 3, "streams_groups": 3}
SPEC = {"hours": 0.35, "partitions": 3, "seed": 5, "happening_s": 15, "members": 3, "commit_interval_ms": 60_000}
SIMULATION = Simulation(groups=4, **OTHERS, **SPEC)
COLUMNS = {
    "classic-group": test_classic_groups.COLUMNS,
    "connect-cluster": test_connect_groups.COLUMNS,
    "share-group": test_share_groups.COLUMNS,
    "streams-group": test_streams_groups.COLUMNS,
}


def kafka_rows(simulated):
    """The rows of the log, with times in ms."""
    return [{**row, "timestamp": in_ms(row["timestamp"])} for row in rows_of(simulated.log)]


@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    return simulate(SIMULATION, tmp_path_factory.mktemp("kinds") / "out")


@pytest.fixture(scope="module")
def tables(simulated):
    return tables_of(log_batch(group_rows(kafka_rows(simulated))), captured_at=simulated.captured_at)


def of_kind(rows, prefix):
    return [row for row in rows if row["group_id"].startswith(prefix)]


@pytest.mark.parametrize(("prefix", "table"), [(prefix, table) for prefix, found in COLUMNS.items() for table in found])
def test_the_replay_finds_what_is_true(simulated, tables, prefix, table):
    columns = ["group_id", *COLUMNS[prefix][table]]
    assert_same(of_kind(tables[table], prefix), of_kind(simulated.truth[table], prefix), columns, at_least=3)


def test_nothing_contradicts_the_protocol(tables):
    assert [row for row in tables["anomaly"] if row["is_proven"]] == []
    assert tables["quarantine"] == []


def test_the_log_ends_with_the_simulation_and_each_group_is_in_its_partition(simulated):
    rows = kafka_rows(simulated)
    assert max(row["timestamp"] for row in rows) == simulated.captured_at
    assert {row["partition"] for row in rows} == {0, 1, 2}
    groups = {(group_of_key(row["key"]), row["partition"]) for row in rows}
    assert len(groups) == 16
    assert all(offsets_partition(group_id, 3) == partition for group_id, partition in groups)


def test_topics_of_share_groups_have_their_names(tables):
    names = topic_names(SIMULATION)
    shown = {(row["topic_id"], row["topic"]) for row in tables["share_partition_state"]}
    assert shown
    assert shown <= names.items()


def test_consumer_groups_do_the_same_whichever_others_there_are(tmp_path):
    spec = SPEC | {"hours": 0.1}
    alone = simulate(Simulation(groups=2, **spec), tmp_path / "alone")
    among = simulate(Simulation(groups=2, **OTHERS, **spec), tmp_path / "among")
    ids = {group_of_key(row["key"]) for row in kafka_rows(alone)}
    assert len(ids) == 2
    ours, theirs = (
        [(row["timestamp"], row["key"], row["value"]) for row in kafka_rows(each) if group_of_key(row["key"]) in ids]
        for each in (alone, among)
    )
    assert ours == theirs


def test_a_log_may_have_no_consumer_groups(tmp_path):
    spec = Simulation(groups=0, connect_groups=1, hours=0.2, happening_s=10, compacted=True)
    simulated = simulate(spec, tmp_path / "out")
    again = simulate(spec, tmp_path / "again")
    rows = kafka_rows(simulated)
    assert rows == kafka_rows(again)
    assert {group_of_key(row["key"]) for row in rows} == {"connect-cluster-00000", "simple-consumer"}
    assert max(row["timestamp"] for row in rows) == simulated.captured_at
    assert len(simulated.truth["connect_assignment"]) > 10
    assert "epoch_timeline" not in simulated.truth


def test_share_and_streams_groups_need_the_newest_release():
    Simulation(groups=1, classic_groups=1, connect_groups=1, release="4.0")
    for name in ("share_groups", "streams_groups"):
        with pytest.raises(InputError, match=r"share groups and streams groups cannot be simulated with release 4\.0"):
            Simulation(groups=1, **{name: 1}, release="4.0")

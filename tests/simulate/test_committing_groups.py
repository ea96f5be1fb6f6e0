"""Groups that commit what they have read, nobody stuck: the log against what the clients did."""

import itertools
from collections import defaultdict

import pyarrow.parquet as pq
import pytest

from kip848_records.errors import InputError
from kip848_records.simulate import Simulation, simulate
from tests.simulate.decoded import OFFSET_COMMIT, decoded, in_ms, rows_of

SPEC = {"groups": 0, "hours": 1.2, "seed": 2, "partitions": 4}


@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    return simulate(Simulation(committing_groups=30, **SPEC), tmp_path_factory.mktemp("committing") / "out")


@pytest.fixture(scope="module")
def commits(simulated):
    return commits_of(simulated)


@pytest.fixture(scope="module")
def readings(simulated):
    found = defaultdict(list)
    for row in map(in_ms, pq.read_table(simulated.truth / "reading.parquet").to_pylist()):
        found[row["group_id"], row["topic"], row["partition"]].append(row)
    return {key: sorted(rows, key=lambda row: row["from_at"]) for key, rows in found.items()}


@pytest.fixture(scope="module")
def ends(simulated):
    lines = (simulated.out / "end-offsets.txt").read_text(encoding="utf-8").splitlines()
    parts = [line.rsplit(":", 2) for line in lines]
    return {(topic, int(partition)): int(end) for topic, partition, end in parts}


def commits_of(simulated):
    """The commits of each partition in the order of the log."""
    found = defaultdict(list)
    for row in rows_of(simulated.log):
        if row["key"][1] == OFFSET_COMMIT and b"simple-consumer" not in row["key"]:
            record = decoded(row)
            found[tuple(record["key"].values())].append((record["timestamp"], record["value"]))
    return found


def test_each_message_is_read_and_committed_in_the_end(commits, readings, ends):
    for key, rows in readings.items():
        last = rows[-1]
        assert last["next_position"] <= ends[key[1:]]
        written = [value["offset"] for _, value in commits[key]]
        assert written == sorted(written)
        assert not written or written[-1] <= last["next_position"]
    live = [rows[-1] for rows in readings.values() if rows[-1]["to_at"] is None]
    assert len(live) > 0.9 * len(readings)
    # Only what came in the last moments is not read yet.
    rest = sum(row["next_position"] < ends[row["topic"], row["partition"]] for row in live)
    assert rest < len(live) / 2


def test_every_new_owner_goes_on_where_the_last_one_committed(commits, readings):
    handovers = 0
    for key, rows in readings.items():
        for before, after in itertools.pairwise(rows):
            committed = [value["offset"] for at, value in commits[key] if at <= after["from_at"]]
            if committed:
                assert after["first_position"] == committed[-1]
                assert after["first_position"] <= before["next_position"]
                handovers += after["member_id"] != before["member_id"]
    assert handovers > 20


def test_java_repeats_a_position_and_librdkafka_does_not(commits):
    repeated = {"java": 0, "librdkafka": 0}
    for (group_id, *_), values in commits.items():
        style = group_id.split("-")[1]
        if style in repeated:
            offsets = [value["offset"] for _, value in values]
            repeated[style] += sum(a == b for a, b in itertools.pairwise(offsets))
    assert repeated["librdkafka"] == 0
    assert repeated["java"] > 1_000


def test_nothing_is_wrong_with_them(simulated):
    for fact in ("stall", "offset_change", "transaction"):
        assert pq.read_metadata(simulated.truth / f"{fact}.parquet").num_rows == 0


def test_a_group_does_the_same_whichever_others_there_are(commits, tmp_path):
    fewer = commits_of(simulate(Simulation(committing_groups=3, **SPEC), tmp_path / "out"))
    assert len({key[0] for key in fewer}) == 3
    assert fewer == {key: commits[key] for key in fewer}


def test_stalled_groups_come_with_their_followers_and_with_the_reason(tmp_path):
    simulated = simulate(Simulation(groups=0, stalled_groups=50, hours=2.5, partitions=4), tmp_path / "out")
    stalls = pq.read_table(simulated.truth / "stall.parquet").to_pylist()
    assert {row["why"] for row in stalls if row["to_at"] is None} == {"paused", "worker_dead"}
    reading = pq.read_table(simulated.truth / "reading.parquet").to_pylist()
    groups = {row["group_id"] for row in reading}
    assert {row["group_id"] + "-follower" for row in stalls if "alone" not in row["group_id"]} <= groups
    assert len(groups) > 80
    topics = {line.split(":")[0] for line in (simulated.out / "end-offsets.txt").read_text().splitlines()}
    assert topics <= {row["topic"] for row in reading}


def test_a_stall_takes_hours():
    with pytest.raises(InputError, match="cannot simulate hours = 2"):
        Simulation(0, hours=2, stalled_groups=1)

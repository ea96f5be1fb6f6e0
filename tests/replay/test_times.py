"""Records without timestamps, and clocks that go back: what the replay then does not claim."""

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from kip848_records.replay.decode.grouped_rows import LOG_SCHEMA
from tests.replay.captures import FOLDER
from tests.replay.coordinator.steps import operations
from tests.replay.logs import Rows, inputs_of
from tests.replay.segment_copies import captured_at, group_batch, replayed_batch, replayed_copy

COPY = FOLDER / "kafka-4.4.0-coordinator"
OF_ONE_RECORD = {"ClassicMember", "ConnectAssignment", "RegexResolution"}


@pytest.fixture(scope="module")
def untimed() -> Rows:
    batch = group_batch(COPY)
    times = LOG_SCHEMA.get_field_index("timestamp")
    batch = batch.set_column(times, LOG_SCHEMA.field(times), pa.nulls(batch.num_rows, LOG_SCHEMA.field(times).type))
    return replayed_batch(batch, inputs_of(dict.fromkeys(range(4), 0), None))


def test_a_log_without_times_is_not_observed(untimed: Rows) -> None:
    """It is unknown which records are one operation."""
    for name, rows in untimed.items():
        assert name in OF_ONE_RECORD or not any(getattr(row, "history", None) == "observed" for row in rows), name
    assert not any(row.is_proven for row in untimed["Anomaly"])
    assert not any(row.has_full_history for row in untimed["GroupState"])


def test_the_present_state_of_a_log_without_times_is_known(untimed: Rows) -> None:
    columns = ("group_id", "group_type", "state", "group_epoch", "assignment_epoch", "generation", "members")
    timed = replayed_copy(COPY)["GroupState"]
    now = [[getattr(row, name) for name in columns] for row in (*untimed["GroupState"], *timed)]
    assert now[: len(timed)] == now[len(timed) :]


def test_a_time_in_some_target_is_not_longer_than_the_gap_or_the_clock_is_skewed() -> None:
    rows = replayed_copy(COPY)
    gaps = [row for name in ("PartitionHandover", "TaskHandover") for row in rows[name] if row.wanted_ms is not None]
    assert len(gaps) > 100
    assert all(row.wanted_ms <= row.unowned_ms or row.clock_skew for row in gaps)
    early = replayed_batch(group_batch(COPY), inputs_of(dict.fromkeys(range(4), 0), captured_at(COPY) - 100_000))
    assert all(row.wanted_ms <= row.unowned_ms or row.clock_skew for row in early["PartitionHandover"] if row.wanted_ms)


@pytest.mark.slow
def test_what_is_observed_stays_when_the_log_goes_on() -> None:
    """Each observed row of a log that ends earlier is a row of the whole log, too."""
    batch, inputs = group_batch(COPY), inputs_of(dict.fromkeys(range(4), 0), captured_at(COPY))
    replayed = replayed_batch(batch, inputs)
    whole = {name: set(map(repr, rows)) for name, rows in replayed.items()}
    # Whether a member came back is told when it is known.
    for unknown in ({"returned": None}, {"returned": None, "away_ms": None}):
        whole["Membership"] |= {repr(row._replace(**unknown)) for row in replayed["Membership"]}
    lines = list(operations(COPY))
    for count in range(40, len(lines), 60):
        ends = {line["p"]: line["last"] for line in lines[:count]}
        last = pa.array([ends.get(partition, -1) for partition in batch["partition"].to_pylist()])
        head = batch.filter(pc.less_equal(batch["offset"], last))
        for name, rows in replayed_batch(head, inputs).items():
            seen = [row for row in rows if getattr(row, "history", None) == "observed"]
            # The members and the end of a generation are in later records.
            if name != "ClassicGeneration":
                assert [row for row in seen if repr(row) not in whole[name]] == [], name

"""What a log of one kind of groups makes Python import."""

import subprocess
import sys

import pyarrow as pa
import pytest

from kip848_records.kinds import KINDS
from tests.protocol.samples import read_capture
from tests.replay.log_batches import CAPTURES, group_rows, log_batch
from tests.simulator.walked import written
from tests.simulator.walks.observed_walks import OBSERVED_WALKS

ALSO = {"classic"}
"""Any group id may have a classic group, and a cluster of Connect workers is one."""
CONSUMER_TYPES = (3, 4, 5, 6, 7, 8, 16)

SCRIPT = """
import sys
import pyarrow as pa
from kip848_records.replay.inputs import PartitionCoverage, ReplayInputs
from kip848_records.replay.worker import replay_batches

with pa.ipc.open_file(sys.argv[1]) as file:
    batches = [file.get_batch(number) for number in range(file.num_record_batches)]
inputs = ReplayInputs("kafka", None, {0: PartitionCoverage(((0, 1 << 40),))})
rows = sum(batch.num_rows for _, batch in replay_batches(inputs, batches))
assert rows > 100, rows
print(*sorted(name.split(".")[2] for name in sys.modules if name.startswith("kip848_records.replay.")))
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", sorted({"consumer", *OBSERVED_WALKS}))
@pytest.mark.process
def test_no_other_kind_is_imported(kind, tmp_path):
    batch = log_batch(_consumer_rows() if kind == "consumer" else written(OBSERVED_WALKS[kind](1), 500)[0])
    path = tmp_path / "rows.arrow"
    with pa.ipc.new_file(path, batch.schema) as file:
        file.write_batch(batch)
    done = subprocess.run([sys.executable, "-c", SCRIPT, path], check=True, capture_output=True, text=True)
    imported = KINDS.keys() & set(done.stdout.split())
    assert imported == {kind} | ALSO


def _consumer_rows():
    rows = (row for capture in CAPTURES for row in read_capture(capture))
    return group_rows(row | {"partition": 0} for row in rows if int.from_bytes(row["key"][:2], "big") in CONSUMER_TYPES)

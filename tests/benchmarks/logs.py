"""The simulated logs that are measured: made once, and kept in the user's cache folder from one run to the next.

They have the mix of a large company's: sizes of groups by a power law, one hot group with about a tenth of all rows,
and 95 % offset commits.
"""

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq

import kip848_records.simulate
from kip848_records.simulate import Simulation, simulate
from tests.benchmarks.segment_files import write_segments
from tests.downloads import kept

SPECS = {
    1: Simulation(groups=50, largest=100, happening_s=200, seed=9),
    10: Simulation(groups=500, largest=1_000, happening_s=200, seed=9),
    50: Simulation(groups=2_500, largest=5_000, happening_s=200, seed=9),
}
"""By about how many million rows come of them."""


@dataclass(frozen=True)
class Log:
    """A simulated log; `bytes` are those of all keys and values."""

    folder: Path
    rows: int
    bytes: int

    @property
    def parquet(self) -> Path:
        """The folder of its rows as Spark's Kafka source has them."""
        return self.folder / "log"

    def segments(self, codec: str = "none") -> Path:
        """Return the folder of its segment files."""

        def write(work: Path) -> Path:
            write_segments(self.parquet, work / "segments", codec)
            return work / "segments"

        return kept("bench", f"{self.folder.name}-{codec}", write)


def log_of(millions: int) -> Log:
    """Return the log of about so many million rows."""
    spec = SPECS[millions]

    def make(work: Path) -> Path:
        simulated = simulate(spec, work / "simulated", os.cpu_count() or 1)
        sizes = {"rows": simulated.rows, "bytes": _bytes(simulated.log)}
        (simulated.out / "sizes.json").write_text(json.dumps(sizes), encoding="utf-8")
        return simulated.out

    folder = kept("bench", f"{millions}-million-{_fingerprint(spec)}", make)
    return Log(folder, **json.loads((folder / "sizes.json").read_text(encoding="utf-8")))


def _bytes(log: Path) -> int:
    total = 0
    for file in log.glob("*.parquet"):
        with pq.ParquetFile(file) as rows:
            for batch in rows.iter_batches(columns=["key", "value"]):
                total += sum(pc.sum(pc.binary_length(column)).as_py() or 0 for column in batch.columns)
    return total


def _fingerprint(spec: Simulation) -> str:
    """Return what differs if the simulation is another, or what simulates."""
    told = hashlib.sha256(repr(spec).encode())
    for file in sorted(Path(kip848_records.simulate.__path__[0]).rglob("*.py")):
        told.update(file.read_bytes())
    return told.hexdigest()[:8]

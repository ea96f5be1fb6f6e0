"""Copies of a log that is large enough for worker processes of the embedded engine."""

import shutil
from pathlib import Path

from kip848_records.simulate import Simulation, simulate
from tests.benchmarks.segment_files import write_segments

LOG = Simulation(groups=20, members=6, hours=0.8, happening_s=35, commit_interval_ms=7_000)
"""200,000 rows, 26,000 of them records of groups."""


def make(folder: Path) -> list[Path]:
    """Make two copies; the second one lacks a partition."""
    write_segments(simulate(LOG, folder / "simulated").log, folder / "whole")
    shutil.copytree(folder / "whole", folder / "part")
    shutil.rmtree(max((folder / "part").iterdir()))
    return [folder / "whole", folder / "part"]

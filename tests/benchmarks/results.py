"""What a benchmark tells, as one table and as JSON."""

import json
import os
import platform
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import psutil

HEAD = f"{'':44}{'rows':>12}{'seconds':>9}{'rows/s':>12}{'MB/s':>7}{'JVM MB':>8}{'Python MB':>10}  times as fast as"


@dataclass(frozen=True)
class Measure:
    """What took how long. `rows` and `bytes` went in; a memory is the most in use, of the JVM and of Python's workers.

    `ratios`: how many times as fast that is as what each is named after, in the same run: the higher the better.
    """

    what: str
    seconds: float
    rows: int | None = None
    bytes: int | None = None
    jvm_bytes: int | None = None
    worker_bytes: int | None = None
    ratios: dict[str, float] = field(default_factory=dict)

    def line(self) -> str:
        """Return it as a line below `HEAD`."""
        rate = None if self.rows is None else self.rows / self.seconds
        megabytes = None if self.bytes is None else self.bytes / self.seconds / 1e6
        memory = [None if size is None else size / 1e6 for size in (self.jvm_bytes, self.worker_bytes)]
        seconds = f"{self.seconds:9.4f}" if self.seconds < 1 else f"{self.seconds:9.1f}"
        columns = zip((rate, megabytes, *memory), (12, 7, 8, 10), strict=True)
        numbers = "".join(f"{'' if number is None else f'{number:,.0f}':>{width}}" for number, width in columns)
        ratios = ", ".join(f"{ratio:.3g} {name}" for name, ratio in self.ratios.items())
        return f"{self.what:44}{'' if self.rows is None else f'{self.rows:,}':>12}{seconds}{numbers}  {ratios}".rstrip()


def machine() -> dict[str, str | int]:
    """Return what the numbers depend on."""
    packages = {name: version(name) for name in ("pyspark", "delta-spark", "pyarrow", "numpy")}
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "cores": os.cpu_count() or 1,
        "memory_gib": round(psutil.virtual_memory().total / 2**30),
        "processor": _processor(),
        "python": platform.python_version(),
        **packages,
    }


def write_json(path: Path, measures: list[Measure]) -> None:
    """Write all that was measured, and where."""
    told = {"machine": machine(), "measures": [asdict(measure) for measure in measures]}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")


def _processor() -> str:
    known = Path("/proc/cpuinfo")
    if not known.exists():
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in known.read_text().splitlines() if line.startswith("model name")]
    return names[0] if names else platform.machine()

"""The memory and the cores that DuckDB and the embedded engine may use, of the machine or of its control group."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

WORKER_BYTES: Final = 300 << 20
"""The memory of a worker process: Python and Arrow, the rows that wait for their file, and the state of a group."""

_SMALLEST: Final = 256 << 20
"""DuckDB sorts and spills with this much."""

_MEMINFO: Final = Path("/proc/meminfo")
_CGROUPS: Final = Path("/sys/fs/cgroup")
_OWN_CGROUPS: Final = Path("/proc/self/cgroup")
_NO_LIMIT: Final = 1 << 60
"""Version 1 of cgroups writes a number of about 2**63 if there is no limit."""


@dataclass(frozen=True)
class Budget:
    """`memory`: how many bytes DuckDB and the worker processes may use together; `cores`: for both."""

    memory: int
    cores: int

    @classmethod
    def of_machine(cls) -> Budget:
        """Return half of the memory that is free now, and all cores that this process may use."""
        return cls(free_memory() // 2, usable_cores())

    @property
    def database(self) -> int:
        """The limit of DuckDB, in bytes."""
        return max(_SMALLEST, self.memory // 2)

    @property
    def workers(self) -> int:
        """How many worker processes fit; with fewer than two, this process does the work."""
        return min(self.cores, (self.memory - self.database) // WORKER_BYTES)


def free_memory() -> int:
    """Return how many bytes can be used without swapping, and within the limits of this process's cgroups."""
    return min([_free_on_machine(), *_free_in_cgroups()])


def whole_memory() -> int:
    """Return how many bytes this machine has, or this process's cgroups allow."""
    there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min([there, *(limit for _, limit in _limited_cgroups())])


def usable_cores() -> int:
    """Return how many cores this process may use at a time, at least one."""
    affinity = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min([affinity, *_cores_of_cgroups()]))


def _free_on_machine() -> int:
    """Return what Linux estimates as available: free pages, and caches that it can drop."""
    for line in _text(_MEMINFO).splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) << 10
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2


def _free_in_cgroups() -> Iterator[int]:
    for folder, limit in _limited_cgroups():
        used = _number(folder / "memory.current") or _number(folder / "memory.usage_in_bytes")
        if used is not None:
            # Pages of files that were not used lately are dropped when memory is needed.
            yield max(0, limit - used + _inactive_files(folder / "memory.stat"))


def _limited_cgroups() -> Iterator[tuple[Path, int]]:
    for folder in _folders("memory"):
        limit = _number(folder / "memory.max") or _number(folder / "memory.limit_in_bytes")
        if limit is not None and limit < _NO_LIMIT:
            yield folder, limit


def _inactive_files(file: Path) -> int:
    found = dict(line.split(maxsplit=1) for line in _text(file).splitlines())
    return int(found.get("total_inactive_file") or found.get("inactive_file") or 0)


def _cores_of_cgroups() -> Iterator[int]:
    for folder in _folders("cpu"):
        quota, period = _number(folder / "cpu.cfs_quota_us"), _number(folder / "cpu.cfs_period_us")
        if words := _text(folder / "cpu.max").split():
            quota, period = (int(word) if word.isdigit() else None for word in words)
        if quota is not None and period and quota > 0:
            yield max(1, quota // period)


def _folders(controller: str) -> Iterator[Path]:
    """Yield the folders of this process's cgroup and of those that contain it: each may have a limit of its own.

    A line of `/proc/self/cgroup` is ``number:controllers:path``; version 2 has number 0 and no controllers.
    """
    for line in _text(_OWN_CGROUPS).splitlines():
        _, controllers, path = line.split(":", 2)
        if not controllers:
            root = _CGROUPS
        elif controller in controllers.split(","):
            root = _CGROUPS / controllers
        else:
            continue
        below = Path(path.lstrip("/"))
        # In a container the path may be that of the machine, which is not visible there; then the root has the limits.
        yield from (root / each for each in (below, *below.parents) if (root / each).is_dir())


def _number(file: Path) -> int | None:
    text = _text(file).strip()
    return int(text) if text.isdigit() else None


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="ascii")
    except (OSError, ValueError):
        return ""

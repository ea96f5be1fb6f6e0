"""The memory and cores of a machine, and the limits of control groups of both versions."""

import os

import pytest

from kip848_records.machine import budget

GIB = 1 << 30


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A function that writes files of cgroups; the machine has 16 GiB free, and eight cores."""
    (tmp_path / "meminfo").write_text(f"MemTotal: 99 kB\nMemAvailable:   {16 * GIB >> 10} kB\n")
    monkeypatch.setattr(budget, "_MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(budget, "_CGROUPS", tmp_path / "cgroups")
    monkeypatch.setattr(budget, "_OWN_CGROUPS", tmp_path / "own")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))

    def write(own, files):
        (tmp_path / "own").write_text(own)
        for path, text in files.items():
            file = tmp_path / "cgroups" / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"{text}\n")
        return budget.free_memory(), budget.usable_cores()

    return write


def test_without_limits(machine):
    assert machine("", {}) == (16 * GIB, 8)
    no_limit = {"memory.max": "max", "memory.current": GIB, "cpu.max": "max 100000"}
    assert machine("0::/\n", no_limit) == (16 * GIB, 8)
    assert budget.Budget.of_machine() == budget.Budget(8 * GIB, 8)


@pytest.mark.parametrize("folder", ["", "a/", "a/b/"])
def test_version_2(machine, folder):
    """The limit of any cgroup above counts; files that were read once are dropped when memory is needed."""
    files = {"memory.max": 4 * GIB, "memory.current": 3 * GIB, "memory.stat": f"anon 1\ninactive_file {GIB}"}
    files |= {"cpu.max": "250000 100000"}
    named = {f"{folder}{name}": text for name, text in files.items()}
    assert machine("0::/a/b\n", {"a/b/cgroup.procs": ""} | named) == (2 * GIB, 2)


def test_version_1(machine):
    files = {"memory.limit_in_bytes": 4 * GIB, "memory.usage_in_bytes": GIB, "memory.stat": "total_inactive_file 0"}
    cores = {"cpu.cfs_quota_us": 50_000, "cpu.cfs_period_us": 100_000}
    named = {f"memory/x/{name}": text for name, text in files.items()}
    named |= {f"cpu,cpuacct/{name}": text for name, text in cores.items()}
    assert machine("5:cpu,cpuacct:/not/there\n4:memory:/x\n", named) == (3 * GIB, 1)


def test_version_1_without_limits(machine):
    files = {"memory/memory.limit_in_bytes": (1 << 63) - 4096, "memory/memory.usage_in_bytes": GIB}
    assert machine("4:memory:/\n3:cpu:/\n", files | {"cpu/cpu.cfs_quota_us": -1}) == (16 * GIB, 8)


def test_more_than_the_limit_is_used(machine):
    assert machine("0::/\n", {"memory.max": GIB, "memory.current": 2 * GIB})[0] == 0
    assert budget.Budget.of_machine().workers <= 0
    assert budget.Budget.of_machine().database == 256 << 20

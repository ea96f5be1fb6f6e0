"""Runs a simulation of any size and writes its log, partition by partition."""

from __future__ import annotations

import json
import multiprocessing
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow.parquet as pq

from kip848_records.errors import InputError
from kip848_records.machine.disks import DiskError
from kip848_records.protocol.group_partition import offsets_partition
from kip848_records.simulate.behaviour import GroupScenario
from kip848_records.simulate.broker.cluster import uuid_of
from kip848_records.simulate.cleaner import clean
from kip848_records.simulate.commits import commits_of, no_commits, offsets_of
from kip848_records.simulate.consumption import CommitKeys, Consumption
from kip848_records.simulate.partition_log import OrderedLog, PartitionLog
from kip848_records.simulate.profiles import group_id
from kip848_records.simulate.spec import START_MS, BrokerClock, Simulation
from kip848_records.simulate.walks.walked_groups import WalkedGroup, walked_groups, walked_topics

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from numpy.typing import NDArray

    from kip848_records.simulate.broker.coordinator import Observer
    from kip848_records.simulate.broker.operation import Operation
    from kip848_records.simulate.walks.walk import Walk

_FIRST_WINDOW_MS: Final = 1_000
_ROWS_PER_WINDOW: Final = 100_000
"""The approximate number of rows of a partition in memory at a time."""

_LAST_QUIET_MS: Final = 1_000
"""No event happens this close to the end, because two operations at one time would reach beyond it."""

_WINDOWS: Final = 20
"""The minimum number of time intervals; each one is a segment for the cleaner."""


_SIMPLE_CONSUMER: Final = "simple-consumer"
"""It commits an offset at the end of a log without consumer groups. It is in no group, so no table has it."""


@dataclass(frozen=True)
class Simulated:
    """The output: `rows` log rows below `out`; the newest of them has the time `captured_at` (ms since 1970)."""

    out: Path
    rows: int
    captured_at: int

    @property
    def log(self) -> Path:
        """The folder of the log's files, one per partition."""
        return self.out / "log"

    @property
    def topics(self) -> Path:
        """The file of topic names by id."""
        return self.out / "topics.json"


def simulate(spec: Simulation, out: str | Path, processes: int = 1) -> Simulated:
    """Write a simulated log.

    Below `out`: `log/partition-<n>.parquet`, the rows of Spark's Kafka source as a reader of committed records sees
    them; `topics.json`, names by topic id. The number of `processes` does not change the output.

    Raises InputError if `out` cannot be written to, or already contains a log.
    """
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any((folder / "log").glob("*")):
            raise InputError(
                f"there is a log in {out}/log already", "pass another folder with --out, or remove that log"
            )
        with TemporaryDirectory(prefix=".simulation-", dir=folder) as work:
            rows = _write_all(spec, Path(work), processes)
            (folder / "log").mkdir(exist_ok=True)  # a folder of that name may be there, empty
            for written in (Path(work) / "topics.json", *sorted((Path(work) / "log").iterdir())):
                written.replace(folder / written.relative_to(work))
    except OSError as error:
        raise DiskError.of_folder(str(out), error) from None
    return Simulated(folder, rows, spec.end_ms)


def _write_all(spec: Simulation, folder: Path, processes: int) -> int:
    """Write everything into an empty folder; return the number of the log's rows."""
    (folder / "log").mkdir()
    partitions = groups_by_partition(spec)
    # The largest first, so that the processes finish at about the same time.
    in_order = sorted(partitions.items(), key=lambda item: -item[1].size(spec))
    paths = [folder / "log" / f"partition-{partition}.parquet" for partition, _ in in_order]
    rows = sum(_write_logs(spec, in_order, paths, min(len(partitions), processes)))
    names = json.dumps(topic_names(spec), indent=1, sort_keys=True)
    (folder / "topics.json").write_text(names + "\n", encoding="utf-8")
    return rows


def _write_logs(
    spec: Simulation, in_order: list[tuple[int, PartitionGroups]], paths: list[Path], workers: int
) -> Iterator[int]:
    arguments = [(spec, *partition, path) for partition, path in zip(in_order, paths, strict=True)]
    if workers == 1:
        yield from (_write_log(*argument) for argument in arguments)
        return
    # A forked process would inherit Arrow's threads, which do not survive the fork.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context) as pool:
        yield from pool.map(_write_log, *zip(*arguments, strict=True))


def _write_log(spec: Simulation, partition: int, groups: PartitionGroups, path: Path) -> int:
    return PartitionRun(spec, partition, groups).write(path)


@dataclass
class PartitionGroups:
    """The groups in one partition. `numbers`: of consumer groups. `ends_log`: it has the last row of the log."""

    numbers: list[int] = field(default_factory=list)
    walked: list[WalkedGroup] = field(default_factory=list)
    ends_log: bool = False

    def size(self, spec: Simulation) -> int:
        """Return the approximate number of members."""
        return sum(map(spec.typical_size, self.numbers)) + len(self.walked)


def groups_by_partition(spec: Simulation) -> dict[int, PartitionGroups]:
    """Return the groups of each partition of the log."""
    partitions: dict[int, PartitionGroups] = defaultdict(PartitionGroups)
    for number in range(spec.groups):
        partitions[offsets_partition(group_id(spec, number), spec.partitions)].numbers.append(number)
    for group in walked_groups(spec):
        partitions[offsets_partition(group.group_id, spec.partitions)].walked.append(group)
    last = group_id(spec, 0) if spec.groups else _SIMPLE_CONSUMER
    partitions[offsets_partition(last, spec.partitions)].ends_log = True
    return dict(partitions)


def topic_names(spec: Simulation) -> dict[str, str]:
    """Return the names of all topics by id."""
    names = {uuid_of("topic", spec.seed, name): name for name, _ in spec.topics()}
    names |= {uuid_of("topic", topic.seed, topic.name): topic.name for topic in spec.recreations()}
    return {**names, **walked_topics(spec)}


class PartitionRun:
    """Runs the groups of one partition, and writes their log.

    Derive from it to observe the groups, or to add walks that commit. `cleaned_to`: the offset up to which the cleaner
    went; `end_offset`: the offset after the last row.
    """

    def __init__(self, spec: Simulation, partition: int, groups: PartitionGroups) -> None:
        self.spec = spec
        self.partition = partition
        self.keys = CommitKeys()
        self.cleaned_to = 0
        self._clock = BrokerClock(spec, partition)
        self._consumers = [self._begin_group(number) for number in groups.numbers]
        self._walks = [self.begin_walk(group) for group in groups.walked]
        self._log = OrderedLog(spec.kafka, self.keys)
        self._ends_log = groups.ends_log

    @property
    def end_offset(self) -> int:
        """The offset after the last row of the log."""
        return self._log.next_offset

    def _begin_group(self, number: int) -> _ConsumerGroup:
        scenario = GroupScenario(self.spec, number, self._clock)
        consumption = Consumption(scenario.group_id, scenario.cluster, self.keys)
        scenario.watch([*self.observers_of(scenario), consumption], consumption.committed)
        return _ConsumerGroup(scenario, consumption)

    def observers_of(self, scenario: GroupScenario) -> Collection[Observer]:  # noqa: ARG002 - of a derived class
        """Return the observers of a consumer group, which observe it before its commits are known."""
        return ()

    def begin_walk(self, group: WalkedGroup) -> Walk:
        """Return the walk of a group at the start of the simulation."""
        return group.begin(self.spec)

    def walked_commits(self, until: int) -> list[NDArray[Any]]:  # noqa: ARG002 - of a derived class
        """Return the offset commits of walks before a time (ms)."""
        return []

    def write(self, path: Path) -> int:
        """Write the log to a file, compacted if the simulation says so; return the number of its rows."""
        spec, log = self.spec, self._log
        with PartitionLog(path, self.partition, log) as file:
            window, start = _FIRST_WINDOW_MS, START_MS
            while start < spec.end_ms:
                end = min(start + window, spec.end_ms)
                before = log.next_offset
                operations = sorted(self._operations(end), key=lambda operation: operation.time)
                file.append(operations, self._commits(end))
                written = max(log.next_offset - before, 1)
                # The next time interval should have about as many rows as fit.
                window = min(4 * window, window * _ROWS_PER_WINDOW // written, (spec.end_ms - START_MS) // _WINDOWS)
                window = max(100, window)
                start = end
        if spec.compacted:
            random = Random(f"{spec.seed}/cleaner/{self.partition}")  # noqa: S311 - a log, not a secret
            self.cleaned_to = clean(path, random, spec.delete_retention_ms)
        return int(pq.read_metadata(path).num_rows)

    def _operations(self, end: int) -> Iterator[Operation]:
        """Run all groups up to a time, and return their operations; a walk's step must end with the simulation."""
        quiet = min(end, self.spec.end_ms - _LAST_QUIET_MS)
        for group in self._consumers:
            group.scenario.run_until(quiet)
            yield from group.scenario.clients.coordinator.take()
        for walk in self._walks:
            walk.run_until(min(quiet, self.spec.end_ms - _LAST_QUIET_MS - walk.LONGEST_STEP_MS))
            yield from walk.take_operations(quiet)

    def _commits(self, end: int) -> NDArray[Any]:
        spans, in_transactions = [], []
        for group in self._consumers:
            ended = group.consumption.take(end)
            spans += ended
            in_transactions += [group.scenario.profile.commits_in_transactions] * len(ended)
        commits = commits_of(spans, in_transactions, self.spec.commit_interval_ms)
        if self._ends_log and end == self.spec.end_ms:
            commits = _with_last(commits, end, self._last_key())
        commits["timestamp"] = self._clock.of_many(commits["time"])
        return np.concatenate([commits, *self.walked_commits(end)])

    def _last_key(self) -> int:
        """Return the number of the last commit's key: of the first group, or of a consumer without a group protocol."""
        if self._consumers:
            return self._consumers[0].consumption.any_key()
        name, _ = self.spec.topics()[0]
        return self.keys.add(_SIMPLE_CONSUMER, (name, uuid_of("topic", self.spec.seed, name)), 0)


@dataclass(frozen=True)
class _ConsumerGroup:
    """A consumer group, and what its members commit."""

    scenario: GroupScenario
    consumption: Consumption


def _with_last(commits: NDArray[Any], time: int, key: int) -> NDArray[Any]:
    """Add a commit at the end of the simulation, so that the newest row of the log has that time."""
    last = no_commits(1)
    last["time"], last["key"] = time, key
    last["offset"] = offsets_of(last)
    return np.append(commits, last)

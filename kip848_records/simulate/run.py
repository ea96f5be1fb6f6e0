"""Runs a simulation of any size and writes its log and its ground truth, partition by partition."""

from __future__ import annotations

import json
import multiprocessing
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from kip848_records.errors import InputError
from kip848_records.machine.disks import DiskError
from kip848_records.simulate.behaviour import GroupScenario
from kip848_records.simulate.broker.cluster import offsets_partition, uuid_of
from kip848_records.simulate.cleaner import clean
from kip848_records.simulate.commits import commits_of, no_commits, offsets_of
from kip848_records.simulate.committing.simulated import CommittingGroup, committing_groups, topics_read
from kip848_records.simulate.consumption import CommitKeys, Consumption
from kip848_records.simulate.partition_log import OrderedLog, PartitionLog
from kip848_records.simulate.profiles import group_id
from kip848_records.simulate.spec import START_MS, BrokerClock, Simulation
from kip848_records.simulate.truth import Truth, collect
from kip848_records.simulate.truth.files import LOG_PARTITION, TruthFiles
from kip848_records.simulate.walks.walked_groups import WalkedGroup, walked_groups, walked_topics

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

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
    def truth(self) -> Path:
        """The folder of the truth's files."""
        return self.out / "truth"

    @property
    def topics(self) -> Path:
        """The file of topic names by id."""
        return self.out / "topics.json"


def simulate(spec: Simulation, out: str | Path, processes: int = 1) -> Simulated:
    """Write a simulated log and its ground truth.

    Below `out`: `log/partition-<n>.parquet`, the rows of Spark's Kafka source as a reader of committed records sees
    them; `topics.json`, names by topic id; `end-offsets.txt`, if groups commit what they have read, the end of each
    partition of their topics, as `kafka-get-offsets` prints it; `truth/<table>.parquet`, the rows of each table as if
    the log had never been compacted (for `group_state`, columns that do not depend on the log's form);
    `truth/log_partition.parquet`, the end of each partition and the offset up to which the cleaner went.
    `docs/python.md` lists the files of each kind of groups. The number of `processes` does not change the output.

    Raises InputError if `out` cannot be written to, or already contains a log.
    """
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any((folder / "log").glob("*")):
            raise InputError.simulated_before(f"{out}/log")
        with TemporaryDirectory(prefix=".simulation-", dir=folder) as work:
            rows = _write_all(spec, Path(work), processes)
            for written in sorted(Path(work).iterdir(), key=lambda path: path.name == "log"):
                _move(written, folder / written.name)
    except OSError as error:
        raise DiskError.of_folder(str(out), error) from None
    return Simulated(folder, rows, spec.end_ms)


def _write_all(spec: Simulation, folder: Path, processes: int) -> int:
    """Write everything into an empty folder; return the number of the log's rows."""
    (folder / "truth").mkdir()
    (folder / "log").mkdir()
    partitions = _groups_by_partition(spec)
    written = sorted(
        _run_all(spec, partitions, folder, min(len(partitions), processes)), key=lambda log: log["partition"]
    )
    pq.write_table(pa.Table.from_pylist(written, LOG_PARTITION), folder / "truth" / "log_partition.parquet")
    with TruthFiles(folder / "truth") as truth:
        truth.join({name: _part(path, p) for name, path in truth.paths.items()} for p in sorted(partitions))
    _write_topics(spec, folder)
    return sum(log["rows"] for log in written)


def _move(written: Path, place: Path) -> None:
    """Give what is complete its name; a folder of that name may have other files."""
    if written.is_file():
        written.replace(place)
        return
    place.mkdir(exist_ok=True)
    for file in written.iterdir():
        file.replace(place / file.name)


def simulate_partition(spec: Simulation, partition: int, groups: PartitionGroups, folder: Path) -> dict[str, int]:
    """Write one partition's log and truth; return its row of `log_partition`."""
    keys = CommitKeys()
    clock = BrokerClock(spec, partition)
    observed = [_Observed(spec, partition, number, clock, keys) for number in groups.numbers]
    walks = [group.begin(spec, keys) for group in groups.walked]
    path = folder / "log" / f"partition-{partition}.parquet"
    log = OrderedLog(spec.kafka, keys)
    with PartitionLog(path, partition, log) as file, TruthFiles(folder / "truth", f"-{partition}") as truth:
        window, start = _FIRST_WINDOW_MS, START_MS
        while start < spec.end_ms:
            end = min(start + window, spec.end_ms)
            before = log.next_offset
            quiet = min(end, spec.end_ms - _LAST_QUIET_MS)
            of_groups = (o for group in observed for o in group.run_until(quiet))
            of_walks = (o for walk in walks for o in _walk_until(walk, quiet, spec))
            operations = sorted(chain(of_groups, of_walks), key=lambda o: o.time)
            commits = _commits(spec, observed, end)
            if groups.ends_log and end == spec.end_ms:
                commits = _with_last(commits, end, _last_key(spec, observed, keys))
            commits["timestamp"] = clock.of_many(commits["time"])
            commits = np.concatenate([commits, *(walk.take_commits(end) for walk in walks)])
            file.append(operations, commits)
            truth.write(collect([*(group.truth for group in observed), *walks]))
            written = max(log.next_offset - before, 1)
            # The next time interval should have about as many rows as fit.
            window = min(4 * window, window * _ROWS_PER_WINDOW // written, (spec.end_ms - START_MS) // _WINDOWS)
            window = max(100, window)
            start = end
        for group in observed:
            group.truth.close(spec.end_ms)
        for walk in walks:
            walk.close(spec.end_ms)
        truth.write(collect([*(group.truth for group in observed), *walks]))
    cleaned_to = 0
    if spec.compacted:
        random = Random(f"{spec.seed}/cleaner/{partition}")  # noqa: S311 - a log, not a secret
        cleaned_to = clean(path, random, spec.delete_retention_ms)
    rows = pq.read_metadata(path).num_rows
    return {"partition": partition, "rows": rows, "end_offset": log.next_offset, "cleaned_to": cleaned_to}


def _walk_until(walk: Walk, time: int, spec: Simulation) -> list[Operation]:
    """Run a walk, and return its operations up to a time; a step that begins must end with the simulation."""
    walk.run_until(min(time, spec.end_ms - _LAST_QUIET_MS - walk.LONGEST_STEP_MS))
    return walk.take_operations(time)


@dataclass
class PartitionGroups:
    """The groups in one partition. `numbers`: of consumer groups. `ends_log`: it has the last row of the log."""

    numbers: list[int] = field(default_factory=list)
    walked: list[WalkedGroup | CommittingGroup] = field(default_factory=list)
    ends_log: bool = False

    def size(self, spec: Simulation) -> int:
        """Return the approximate number of members."""
        return sum(map(spec.typical_size, self.numbers)) + len(self.walked)


class _Observed:
    """A group with its observers."""

    def __init__(self, spec: Simulation, partition: int, number: int, clock: BrokerClock, keys: CommitKeys) -> None:
        self.scenario = GroupScenario(spec, number, clock)
        self.truth = Truth(partition, self.scenario.group_id)
        self.consumption = Consumption(self.scenario.group_id, self.scenario.cluster, keys)
        self.scenario.watch([*self.truth.observers, self.consumption], self.consumption.committed)

    def run_until(self, time: int) -> list[Operation]:
        self.scenario.run_until(time)
        return self.scenario.clients.coordinator.take()


def _commits(spec: Simulation, groups: list[_Observed], end: int) -> NDArray[Any]:
    spans, in_transactions = [], []
    for group in groups:
        ended = group.consumption.take(end)
        spans += ended
        in_transactions += [group.scenario.profile.commits_in_transactions] * len(ended)
    return commits_of(spans, in_transactions, spec.commit_interval_ms)


def _with_last(commits: NDArray[Any], time: int, key: int) -> NDArray[Any]:
    """Add a commit. The truth covers the simulation to its end, so the newest row of the log has that time."""
    last = no_commits(1)
    last["time"], last["key"] = time, key
    last["offset"] = offsets_of(last)
    return np.append(commits, last)


def _last_key(spec: Simulation, groups: list[_Observed], keys: CommitKeys) -> int:
    """Return the number of the last commit's key: of the first group, or of a consumer without a group protocol."""
    if groups:
        return groups[0].consumption.any_key()
    name, _ = spec.topics()[0]
    return keys.add(_SIMPLE_CONSUMER, (name, uuid_of("topic", spec.seed, name)), 0)


def _run_all(
    spec: Simulation, partitions: dict[int, PartitionGroups], folder: Path, workers: int
) -> Iterator[dict[str, int]]:
    # The largest first, so that the processes finish at about the same time.
    in_order = sorted(partitions.items(), key=lambda item: -item[1].size(spec))
    arguments = [(spec, partition, groups, folder) for partition, groups in in_order]
    if workers == 1:
        yield from (simulate_partition(*argument) for argument in arguments)
        return
    # A forked process would inherit Arrow's threads, which do not survive the fork.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context) as pool:
        yield from pool.map(simulate_partition, *zip(*arguments, strict=True))


def _groups_by_partition(spec: Simulation) -> dict[int, PartitionGroups]:
    partitions: dict[int, PartitionGroups] = defaultdict(PartitionGroups)
    for number in range(spec.groups):
        partitions[offsets_partition(group_id(spec, number), spec.partitions)].numbers.append(number)
    for group in chain[WalkedGroup | CommittingGroup](walked_groups(spec), committing_groups(spec)):
        partitions[offsets_partition(group.group_id, spec.partitions)].walked.append(group)
    last = group_id(spec, 0) if spec.groups else _SIMPLE_CONSUMER
    partitions[offsets_partition(last, spec.partitions)].ends_log = True
    return dict(partitions)


def _write_topics(spec: Simulation, folder: Path) -> None:
    names = {uuid_of("topic", spec.seed, name): name for name, _ in spec.topics()}
    names |= walked_topics(spec)
    names |= {uuid_of("topic", topic.seed, topic.name): topic.name for topic in spec.recreations()}
    names |= {topic.topic_id: topic.name for topic in topics_read(spec)}
    ends = pq.read_table(folder / "truth" / "end_offset.parquet").to_pylist()
    names |= {row["topic_id"]: row["topic"] for row in ends}
    if ends:
        lines = {f"{row['topic']}:{row['partition']}:{row['end_offset']}\n" for row in ends}
        (folder / "end-offsets.txt").write_text("".join(sorted(lines)), encoding="utf-8")
    (folder / "topics.json").write_text(json.dumps(names, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def _part(path: Path, partition: int) -> Path:
    return path.with_name(f"{path.stem}-{partition}.parquet")

"""Simulations that are observed: the log that `kip848 simulate` writes, and the truth about its groups."""

from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from kip848_records.protocol.group_partition import offsets_partition
from kip848_records.simulate import run, spec
from kip848_records.simulate.run import PartitionGroups, PartitionRun, groups_by_partition
from kip848_records.simulate.walks.walked_groups import WalkedGroup
from tests.simulator.committing.all_scenes import stalled_groups
from tests.simulator.committing.healthy import committing_groups
from tests.simulator.scripted.troubles import troubled_groups
from tests.simulator.truth import Truth, collect
from tests.simulator.walks.observed_walks import OBSERVED_WALKS


@dataclass(frozen=True)
class Simulation(spec.Simulation):
    """A simulation that may have groups with a script, too.

    `troubled_groups`: how many groups, of all kinds, have a trouble that the table `diagnosis` is to show; they need 12
    hours. `committing_groups`: how many groups, consumer, classic, streams and simple ones, commit what they have
    really read; none of them is stuck. `stalled_groups`: how many others have partitions that stand still, or offsets
    that jump; they need 2.5 hours.
    """

    troubled_groups: int = 0
    committing_groups: int = 0
    stalled_groups: int = 0

    @property
    def has_others(self):
        return super().has_others or self.troubled_groups + self.committing_groups + self.stalled_groups > 0


@dataclass(frozen=True)
class Simulated(run.Simulated):
    """The log, and `truth`: the rows of each table as if the log had never been compacted, times in ms.

    `cleaned_to`: by partition, the offset up to which the cleaner went.
    """

    truth: dict[str, list[dict[str, Any]]]
    cleaned_to: dict[int, int]


def simulate(simulation, out):
    """Write a simulated log, and observe its groups."""
    log = Path(out) / "log"
    log.mkdir(parents=True)
    partitions = groups_by_partition(simulation)
    for group in chain(*(yielded(simulation) for yielded in (troubled_groups, committing_groups, stalled_groups))):
        partition = offsets_partition(group.group_id, simulation.partitions)
        partitions.setdefault(partition, PartitionGroups()).walked.append(group)
    runs = {partition: ObservedRun(simulation, partition, groups) for partition, groups in sorted(partitions.items())}
    rows = sum(each.write(log / f"partition-{partition}.parquet") for partition, each in runs.items())
    truth = collect(group for each in runs.values() for group in each.close())
    cleaned_to = {partition: each.cleaned_to for partition, each in runs.items()}
    return Simulated(Path(out), rows, simulation.end_ms, truth, cleaned_to)


class ObservedRun(PartitionRun):
    """The run of one partition whose groups are observed."""

    def __init__(self, *args):
        self._truths = []
        super().__init__(*args)

    def observers_of(self, scenario):
        truth = Truth(self.partition, scenario.group_id)
        self._truths.append(truth)
        return truth.observers

    def begin_walk(self, group):
        walk = group.begin(self.spec, OBSERVED_WALKS if isinstance(group, WalkedGroup) else self.keys)
        walk.partition = self.partition
        self._truths.append(walk)
        return walk

    def walked_commits(self, until):
        return [walk.take_commits(until) for walk in self._walks]

    def close(self):
        """End all open rows with the simulation, and return what has the truth of each group."""
        for truth in self._truths:
            truth.close(self.spec.end_ms)
        return self._truths

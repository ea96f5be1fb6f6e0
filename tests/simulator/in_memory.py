"""Simulations of consumer groups without files: records, as a scenario's capture has them, and the truth."""

from kip848_records.protocol.group_partition import offsets_partition
from kip848_records.simulate.behaviour import GroupScenario
from kip848_records.simulate.profiles import group_id
from kip848_records.simulate.spec import BrokerClock
from tests.simulator.scenario import logged
from tests.simulator.truth import Truth, collect


def captured(spec):
    """The records and the truth. Without offset commits, records have other offsets than in the simulation's files."""
    groups = [_Observed(spec, number) for number in range(spec.groups)]
    by_partition = {}
    for group in groups:
        by_partition.setdefault(group.partition, []).extend(group.operations)
    records = [
        record
        for partition in sorted(by_partition)
        for record in logged(partition, sorted(by_partition[partition], key=lambda operation: operation.time))
    ]
    for group in groups:
        group.truth.close(spec.end_ms)
    return records, collect(group.truth for group in groups)


class _Observed:
    def __init__(self, spec, number):
        self.partition = offsets_partition(group_id(spec, number), spec.partitions)
        scenario = GroupScenario(spec, number, BrokerClock(spec, self.partition))
        self.truth = Truth(self.partition, scenario.group_id)
        scenario.watch(self.truth.observers, tuple)
        scenario.run_until(spec.end_ms - 1_000)
        self.operations = scenario.clients.coordinator.take()

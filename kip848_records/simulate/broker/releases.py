"""The differences between the releases of Kafka whose coordinators are simulated."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Release:
    """How a release writes the records of consumer groups.

    `start_epoch`: both epochs of a new group, one below the first that is written. `assignment_interval_ms`: the
    minimum time between two assignments, 0 for none; until the next one, joins only bump (KIP-1263).
    `writes_partition_metadata`: type 4 contains topics; otherwise only type 3 contains their metadata hash.
    `bumps_for_unresolved_regex`: a member bumps the epoch even if its regular expression has no topics yet.
    `has_assignment_epochs`: type 8 has the epoch since which each partition is assigned, type 6 the time at which it
    was computed.
    `offset_commit_version`: version of OffsetCommit values; 4 has the topic id.
    """

    name: str
    start_epoch: int
    assignment_interval_ms: int
    writes_partition_metadata: bool
    bumps_for_unresolved_regex: bool
    has_assignment_epochs: bool
    offset_commit_version: int


KAFKA_4_0 = Release(
    "4.0",
    start_epoch=0,
    assignment_interval_ms=0,
    writes_partition_metadata=True,
    bumps_for_unresolved_regex=True,
    has_assignment_epochs=False,
    offset_commit_version=3,
)
KAFKA_4_3 = Release(
    "4.3",
    start_epoch=1,
    assignment_interval_ms=1000,
    writes_partition_metadata=False,
    bumps_for_unresolved_regex=False,
    has_assignment_epochs=True,
    offset_commit_version=4,
)
RELEASES = {release.name: release for release in (KAFKA_4_0, KAFKA_4_3)}
"""The releases by name."""
NEWEST = KAFKA_4_3.name

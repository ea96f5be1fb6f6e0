"""What differs between the releases of Kafka whose coordinators are simulated."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Release:
    """A release's way to write the records of consumer groups.

    `start_epoch`: both epochs of a new group, one below the first that is written. `assignment_interval_ms`: how long
    an assignment stands before the next is computed, 0 for at once; until then joins only bump (KIP-1263).
    `writes_partition_metadata`: topics are told by type 4, else by the metadata hash in type 3.
    `bumps_for_unresolved_regex`: a member bumps the epoch though its regular expression has no topics yet.
    `has_assignment_epochs`: type 8 says since which epoch each partition is assigned, type 6 when it was computed.
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

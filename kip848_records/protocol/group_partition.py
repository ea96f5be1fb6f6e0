"""The partition of `__consumer_offsets` that holds the records of a group.

Source: Kafka's `GroupMetadataManager.partitionFor`, `String.hashCode` and `Utils.abs`.
"""

from __future__ import annotations


def group_id_hash(group_id: str) -> int:
    """Return the number that determines a group's partition: `Utils.abs` in Kafka of Java's `String.hashCode`.

    The hash is over UTF-16 code units.
    """
    code = 0
    units = group_id.encode("utf-16-be", "surrogatepass")
    for place in range(0, len(units), 2):
        code = (31 * code + (units[place] << 8) + units[place + 1]) & 0xFFFFFFFF
    if code >= 1 << 31:
        code -= 1 << 32
    return 0 if code == -(1 << 31) else abs(code)


def offsets_partition(group_id: str, partitions: int) -> int:
    """Return the partition of `__consumer_offsets` that a group's records are in."""
    return group_id_hash(group_id) % partitions

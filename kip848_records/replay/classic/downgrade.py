"""The owners of partitions when a consumer group is converted back to a classic group.

A consumer group's records identify topics by id, those of a classic group by name. The type 2 of a downgrade contains
the targets of the members that stay, so that their partitions match the ids with the names.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from kip848_records.replay.generations.last_owners import Owner
from kip848_records.replay.records import MemberValue

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kip848_records.replay.modern.member import Member
    from kip848_records.replay.numbers import PartitionNumbers
    from kip848_records.replay.records import ClassicGroupValue

_TOPIC_BITS = 32
_PARTITION_MASK = (1 << _TOPIC_BITS) - 1
_Held = frozenset[tuple[str, int]]


def owners_of(
    members: Iterable[Member], value: ClassicGroupValue, offset: int, numbers: PartitionNumbers
) -> dict[int, Owner] | None:
    """Return the owners of partitions by name, as of the operation before; None if a topic matches no name for sure."""
    held = {member: member.held for member in members if member.held}
    names = _names(held, value, numbers)
    if names is None:
        return None
    owners: dict[int, Owner] = {}
    for member, partitions in held.items():
        known = member.known
        identity = member.member_id if known is None or known.instance_id is None else known.instance_id
        owner = Owner(identity, member.member_id, offset)
        for partition in partitions:
            owners[names[partition >> _TOPIC_BITS] + (partition & _PARTITION_MASK)] = owner
    return owners


def _names(
    held: Mapping[Member, frozenset[int]], value: ClassicGroupValue, numbers: PartitionNumbers
) -> dict[int, int] | None:
    """Return the first number of each topic's name, by the index of its id."""
    staying = set(value.member_ids)
    by_id = _by_topic((member.member_id, member.held if member.member_id in staying else ()) for member in held)
    by_name = _by_topic((member.member_id, member.units or ()) for member in value.members)
    ids = {partition >> _TOPIC_BITS for partitions in held.values() for partition in partitions}
    topics = {topic for member in held if isinstance(member.known, MemberValue) for topic in member.known.topics}
    named = {numbers.of_names.topic(topic) >> _TOPIC_BITS for topic in topics} | by_name.keys()
    matched: dict[int, int] = {}
    for index, partitions in by_id.items():
        same = [name for name, others in by_name.items() if others == partitions]
        if len(same) == 1:
            matched[index] = same[0]
    # One id and one name that are left belong together.
    left_ids, left_names = ids - matched.keys(), named - set(matched.values())
    if len(left_ids) == 1 and len(left_names) == 1:
        matched[left_ids.pop()] = left_names.pop()
    is_whole = ids == matched.keys() and len(set(matched.values())) == len(matched)
    return {index: name << _TOPIC_BITS for index, name in matched.items()} if is_whole else None


def _by_topic(held: Iterable[tuple[str, Iterable[int]]]) -> dict[int, _Held]:
    """Return the members and partitions of each topic, by its index."""
    holders: dict[int, set[tuple[str, int]]] = defaultdict(set)
    for member_id, partitions in held:
        for partition in partitions:
            holders[partition >> _TOPIC_BITS].add((member_id, partition & _PARTITION_MASK))
    return {index: frozenset(partitions) for index, partitions in holders.items()}

"""Groups that are told on from where they had settled: a snapshot takes the place of all that came before.

When nothing is open in a group, what comes next changes nothing that was told of what came before. Of that only the
last record of each key counts, and what was known of the group. A group's snapshot comes before its other events, as if
one operation had written it: the members, what they are to have, and what they have.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.types import BooleanType, IntegerType, LongType, StructType, TimestampType

from kip848_records.timeline.columns import Events
from kip848_records.timeline.operations import (
    CURRENT_ASSIGNMENT,
    GROUP_EPOCH,
    GROUP_METADATA,
    MEMBER,
    MEMBER_TARGET,
    PARTITION_METADATA,
    REGULAR_EXPRESSION,
    TARGET_ASSIGNMENT,
)
from kip848_records.timeline.windows import NONE, Window, bools, differs, holds_of, ints, of_rows, within

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kip848_records.timeline.windows import Bools, Ints

SNAPSHOT: Final = (
    StructType()
    .add("incarnation", IntegerType())
    .add("seen_from", LongType())
    .add("is_whole", BooleanType())
    .add("from_offset", LongType())
    .add("from_at", TimestampType())
    .add("until", LongType())
)
"""What is known of a settled group with each record of its snapshot; null for all other events.

That is what had been told of the event with which it had settled (`told.TOLD`), where the state began in which it was
then, and the offset behind that event.
"""
ORDER: Final = (
    *(GROUP_EPOCH, MEMBER, PARTITION_METADATA, REGULAR_EXPRESSION, MEMBER_TARGET, TARGET_ASSIGNMENT),
    *(CURRENT_ASSIGNMENT, GROUP_METADATA),
)
"""The key types in a snapshot, in their order there: a target belongs to the assignment that comes next."""

WITH_STATE: Final = (
    *(GROUP_EPOCH, PARTITION_METADATA, MEMBER, MEMBER_TARGET, TARGET_ASSIGNMENT, CURRENT_ASSIGNMENT),
    GROUP_METADATA,
)
"""The key types of which the last record of each key counts."""


@dataclass(frozen=True)
class Snapshots:
    """Which events are of a snapshot, and what the snapshot of an event's group tells: `SNAPSHOT`.

    Of a group without one: no deletion came before, and nothing is known.
    """

    is_snapshot: Bools
    incarnation: Ints
    seen_from: Ints
    is_whole: Bools
    until: Ints

    @classmethod
    def of(cls, events: Events, of_group: Window) -> Snapshots:
        """Take the snapshots among events."""
        known = events.rows["snapshot"]
        is_snapshot = np.asarray(pc.is_valid(known).to_numpy())
        first = of_group.first(is_snapshot)
        return cls(
            is_snapshot=is_snapshot,
            incarnation=np.where(first == NONE, 0, of_rows(ints(pc.struct_field(known, "incarnation")), first)),
            seen_from=of_rows(ints(pc.struct_field(known, "seen_from")), first),
            until=of_rows(ints(pc.struct_field(known, "until")), first),
            is_whole=holds_of(bools(pc.struct_field(known, "is_whole")), first),
        )


def snapshot_at(group: pa.Table, known: Mapping[str, Any]) -> pa.Table:
    """Return the snapshot of one group as of its last event: the last event of each key that is live, in `ORDER`.

    `known`: what `SNAPSHOT` names. Types 16 are left out: of them nothing counts but when they are written.
    """
    events = Events(group)
    live = np.flatnonzero(live_keys(events))
    places = np.argsort(np.array([ORDER.index(kind) for kind in events.ints("key_type")[live]]), kind="stable")
    snapshot = group.take(pa.array(live[places]))
    place = group.schema.get_field_index("snapshot")
    kind = group.schema.field(place).type
    return snapshot.set_column(place, group.schema.field(place), pa.repeat(pa.scalar(dict(known), kind), len(live)))


def live_keys(events: Events) -> Bools:
    """Return which events of one group are the last of their key, and no tombstone; of keys that have a state."""
    has_state = np.isin(events.ints("key_type"), WITH_STATE)
    return last_of_keys(events) & has_state & ~events.bools("is_tombstone")


def last_of_keys(events: Events) -> Bools:
    """Return which events of one group are the last of their key."""
    of_key = Window(within(Window(events.codes("member_id")), events.ints("key_type")))
    return np.asarray(of_key.following() == NONE)


def with_begin_of_state(groups: pa.Table) -> pa.Table:
    """Put the last record of each snapshot where the group's state began: there its interval begins."""
    known = groups["snapshot"]
    if known.null_count == len(known):
        return groups
    is_snapshot = np.asarray(pc.is_valid(known).to_numpy())
    begins = differs(Events(groups).groups())
    ends = np.append(begins[1:], True) | ~np.append(is_snapshot[1:], False)
    is_last = pa.array(is_snapshot & ends)
    for name, source in {"offset": "from_offset", "timestamp": "from_at"}.items():
        place = groups.schema.get_field_index(name)
        began = pc.struct_field(known, source).cast(groups.schema.field(name).type)
        groups = groups.set_column(place, groups.schema.field(name), pc.if_else(is_last, began, groups[name]))
    return groups

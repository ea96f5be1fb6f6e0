"""The changes of topic partitions' owners, with the time in which nobody owned them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F

from kip848_records.timeline.censoring import LEFT_CENSORED, OBSERVED
from kip848_records.timeline.operations import AWAY_EPOCH
from kip848_records.timeline.owners import owners
from kip848_records.timeline.partitions import ACQUIRED, ASKED, RELEASED, changes
from kip848_records.timeline.windows import (
    NONE,
    NULL,
    Window,
    arrow,
    lists_by_row,
    ms_between,
    of_rows,
    struct,
    within,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from kip848_records.timeline.owners import Owners
    from kip848_records.timeline.story import Story
    from kip848_records.timeline.windows import Ints

HANDOVER: Final = (
    "topic_id string, number int, from_member string, released_at timestamp, acquired_offset bigint, "
    "unowned_ms bigint, wanted boolean, wanted_ms bigint, group_epoch int, history string, clock_skew boolean"
)
"""A partition that a member acquired (see `partition_handover`); `number` is that of the partition in its topic."""


def partition_handover(events: DataFrame, topics: DataFrame) -> DataFrame:
    """Tell how each partition went from one member to the next.

    An owner is a member whose type 8 lists the partition as assigned or pending revocation at the end of an operation,
    but not a static member that went away: it released what it had with its member epoch -2.

    Args:
        events: the rows of `group_events`.
        topics: ``topic_id, topic``, each id once.

    Returns:
        One row per acquisition: ``offsets_partition`` (of the log), ``group_id, incarnation, topic_id, topic`` (its id
        where no name is known), ``partition int`` (of the topic), ``acquired_offset``, of the new owner's type 8;
        ``from_member`` (null: first acquisition), ``released_at`` (null as well if the owner before had not released
        it), ``to_member, acquired_at``; ``unowned_ms``, a lower bound: how long a member was dead before its session
        expired is invisible; ``wanted``: while nobody owned it, it was in some member's target; ``wanted_ms``: of
        unowned_ms, for how long it was; ``group_epoch``, the new owner's member epoch;
        ``history``: observed, or left_censored if its beginning was not seen or two members claimed it at once;
        ``clock_skew``: unowned_ms is negative.
    """
    return (
        events.select(
            F.col("partition").alias("offsets_partition"),
            *("group_id", "incarnation"),
            F.col("member_id").alias("to_member"),
            F.col("timestamp").alias("acquired_at"),
            F.inline("handovers"),
        )
        .join(topics.select("topic_id", "topic"), "topic_id", "left")
        .withColumn("topic", F.coalesce("topic", "topic_id"))
        .withColumnRenamed("number", "partition")
    )


@dataclass(frozen=True)
class Ownership:
    """Who owned each partition as of each step, and who claimed to."""

    steps: Steps
    owners: Owners
    claims: Claims


def ownership(story: Story) -> Ownership:
    """Tell who owned the partitions of all groups."""
    states = story.states
    steps = _steps(story)
    operation, timestamp = states.operation[steps.state], states.timestamp[steps.state]
    found = owners(states.incarnation[steps.state], steps.partition, steps.step, states.member_id[steps.state])
    return Ownership(steps, found, _claims(steps, found.of_partition, operation, timestamp))


def handovers(story: Story, owned: Ownership) -> pa.ListArray:
    """Return for each event the partitions that its member acquired by the end of the operation (`HANDOVER`).

    What members of a snapshot have they acquired before.
    """
    events, history, states, partitions = story.events, story.history, story.states, story.partitions
    steps, claims = owned.steps, owned.claims
    operation, timestamp = states.operation[steps.state], states.timestamp[steps.state]
    before, released = owned.owners.acquired_before, owned.owners.released_before
    # The owner before may still claim it.
    is_free = (released != NONE) & (of_rows(operation, released) > of_rows(operation, before))
    released_at = np.where(is_free, of_rows(timestamp, released), NULL)
    unowned_ms = ms_between(released_at, timestamp)
    was_seen = history.saw(np.where(is_free, steps.current[released], NONE), steps.current)
    begin_is_seen = was_seen | ((before == NONE) & history.is_whole[steps.current])
    is_observed = (claims.owners == 1) & begin_is_seen
    was_wanted = claims.wanted_in > np.maximum(of_rows(operation, before), NONE)

    new = np.flatnonzero((steps.step == ACQUIRED) & ~story.snapshots.is_snapshot[steps.current])
    new = new[np.argsort(states.row[steps.state[new]], kind="stable")]
    current = steps.current[new]
    columns = {
        "topic_id": partitions.topic_ids(steps.partition[new]),
        "number": partitions.numbers(steps.partition[new]),
        "from_member": events.ids("member_id", of_rows(states.member_id[steps.state], before[new])),
        "released_at": arrow(released_at[new], events.times),
        "acquired_offset": pa.array(events.ints("offset")[current]),
        "unowned_ms": arrow(unowned_ms[new], pa.int64()),
        "wanted": pa.array(was_wanted[new]),
        "wanted_ms": arrow(np.where(is_free, claims.wanted_ms, NULL)[new], pa.int64()),
        "group_epoch": arrow(events.ints("member_epoch")[current], pa.int32()),
        "history": pa.array([LEFT_CENSORED, OBSERVED]).take(pa.array(is_observed[new].astype(np.int64))),
        "clock_skew": pa.array((unowned_ms[new] != NULL) & (unowned_ms[new] < 0)),
    }
    return lists_by_row(struct(columns), states.row[steps.state[new]], len(events))


@dataclass(frozen=True)
class Steps:
    """The changes of owned partitions, and those of targets, in order: of the latter the step is ASKED.

    `state`: the member's; `current`: the type 8 as of it; `wants`: of targets +1 or -1, else 0.
    """

    state: Ints
    current: Ints
    step: Ints
    wants: Ints
    partition: Ints


def _steps(story: Story) -> Steps:
    states, partitions = story.states, story.partitions
    written = np.flatnonzero(states.current != NONE)
    current = states.current[written]
    here = np.where(story.events.ints("member_epoch")[current] == AWAY_EPOCH, NONE, current)
    owning = changes(
        Window(states.of_member.codes[written]), [(partitions["assigned"], here), (partitions["pending"], here)]
    )
    wanting = changes(states.of_member, [(partitions["target"], states.target)])
    state = np.concatenate([written[owning.state], wanting.state])
    step = np.concatenate([owning.step, np.full(len(wanting.step), ASKED)])
    wants = np.concatenate([np.zeros(len(owning.step), np.int64), np.where(wanting.step == ACQUIRED, 1, -1)])
    partition = np.concatenate([owning.partition, wanting.partition])
    in_order = np.lexsort((states.current[state], step, states.operation[state]))
    state = state[in_order]
    return Steps(state, states.current[state], step[in_order], wants[in_order], partition[in_order])


@dataclass(frozen=True)
class Claims:
    """How many members own, and want, a partition as of a step, and for how long it had been wanted but unowned before.

    `wanted_in`: the last operation that left it so; `wanted_ms`: since it was acquired before.
    """

    owners: Ints
    wanters: Ints
    wanted_in: Ints
    wanted_ms: Ints


def _claims(steps: Steps, of_partition: Window, operation: Ints, timestamp: Ints) -> Claims:
    owning = of_partition.running_sum(np.select([steps.step == ACQUIRED, steps.step == RELEASED], [1, -1]))
    following = of_partition.following()
    ends_operation = of_rows(operation, following) != operation
    wanting = of_partition.running_sum(steps.wants)
    is_unmet = ends_operation & (owning == 0) & (wanting > 0)
    until_next = ms_between(timestamp, of_rows(timestamp, following))
    unmet_ms = of_partition.running_sum(np.where(is_unmet & (until_next != NULL), until_next, 0), before=True)
    # Nobody misses what somebody owns: what has come together since it was acquired before is of this time.
    before = Window(within(of_partition, steps.step)).previous()
    return Claims(
        owners=owning,
        wanters=wanting,
        wanted_in=of_rows(operation, of_partition.last(is_unmet, before=True)),
        wanted_ms=unmet_ms - np.where(before == NONE, 0, unmet_ms[before]),
    )

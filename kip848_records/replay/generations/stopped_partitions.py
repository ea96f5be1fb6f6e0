"""The partitions that a rebalance stopped: what `consumption_stop` compares with offset commits.

The replay emits them only if the log has offset commits. The commits themselves never reach the replay: there may be
a hundred times as many as other records (`commits.stops` takes both).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kip848_records.kinds import CLASSIC
from kip848_records.replay.group.vocabulary import EAGER, KEPT, MOVED, REVOKED
from kip848_records.replay.rows import row_writer
from kip848_records.specs.tables import STOPPED_PARTITION

if TYPE_CHECKING:
    from kip848_records.replay.generations.round import Round
    from kip848_records.replay.group.context import Context

_write: Final = row_writer(STOPPED_PARTITION, "topic_id")


def emit_stopped(context: Context, rounds: list[Round], *, is_open: bool) -> None:
    """Write what a rebalance of a classic group stopped, at the round that assigns it, or else takes it away.

    In an open one, a round that is yet to come may assign what no member has now. A round whose assignments could
    not be read shows nothing.
    """
    stopped: dict[int, tuple[str, Round]] = {}
    for round_ in rounds:
        if round_.now.units is None:
            continue
        owned = {} if round_.before is None else round_.before.units or {}
        assigned = round_.now.units
        stopped.update((unit, (REVOKED, round_)) for unit in owned.keys() - assigned.keys())
        if round_.mode == EAGER:
            stopped.update((unit, (KEPT, round_)) for unit in owned.keys() & assigned.keys())
        stopped.update((move.unit, (MOVED, round_)) for move in round_.moves or ())
    first, last = rounds[0].now, rounds[-1].now.units
    name = context.numbers.of_names.name
    for unit, (kind, round_) in sorted(stopped.items(), key=lambda item: item[0]):
        if kind == REVOKED and (is_open or last is None or unit in last):
            continue  # in `last`: another round gave it back to the same member
        topic, number = name(unit)
        _write(
            context,
            round_.compared_from,
            group_type=CLASSIC,
            epoch=round_.now.value.generation,
            topic=topic,
            partition=number,
            kind=kind,
            offset=round_.now.offset,
            rebalance_offset=first.offset,
            is_one_round=len(rounds) == 1,
            end=round_.now.offset,
        )

"""The partitions that a rebalance stopped: what `consumption_stop` compares with offset commits.

The replay emits them only if the log has offset commits. The commits themselves never reach the replay: there may be
a hundred times as many as other records (`consumption` joins both).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kip848_records.kinds import CLASSIC, CONSUMER
from kip848_records.replay.coverage import NEVER
from kip848_records.replay.generation_cause import EAGER

if TYPE_CHECKING:
    from kip848_records.replay.classic_round import Round
    from kip848_records.replay.context import Context
    from kip848_records.replay.open_rebalance import OpenRebalance

MOVED: Final = "moved"
KEPT: Final = "kept"
REVOKED: Final = "revoked"


class StoppedPartitions:
    """Writes the partitions that rebalances of consumer groups and classic groups stopped."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def handed_over(
        self,
        unit: int,
        rebalance: OpenRebalance | None,
        begin: int,
        moved: tuple[int, int] | None,
        released_offset: int | None,
    ) -> None:
        """Note a handover in a consumer group. `moved`: the new owner's epoch and record; None: it has none."""
        topic_id, number = self._context.numbers.name(unit)
        began_offset, round_before, last_epoch, is_one_round = NEVER, NEVER, None, False
        if rebalance is not None:
            began_offset, round_before, last_epoch = (
                rebalance.began_offset,
                rebalance.round_before,
                rebalance.last_epoch,
            )
            is_one_round = rebalance.epochs == 1
        kind = REVOKED if moved is None else MOVED
        epoch, offset = (last_epoch, released_offset) if moved is None else moved
        names = (CONSUMER, epoch, topic_id, None, number, kind)
        self._context.emit(
            "StoppedPartition",
            begin,
            (self._context.incarnation, *names, offset, began_offset, round_before, is_one_round),
        )

    def rebalanced(self, rounds: list[Round], round_before: int, *, is_open: bool) -> None:
        """Note what a rebalance of a classic group stopped, at the round that assigns it, or else takes it away.

        In an open one, a round that is yet to come may assign what no member has now. A round whose assignments could
        not be read shows nothing.
        """
        found: dict[int, tuple[str, Round]] = {}
        for each in rounds:
            if each.now.units is None:
                continue
            owned = {} if each.before is None else each.before.units or {}
            assigned = each.now.units
            found.update((unit, (REVOKED, each)) for unit in owned.keys() - assigned.keys())
            if each.mode == EAGER:
                found.update((unit, (KEPT, each)) for unit in owned.keys() & assigned.keys())
            found.update((move.unit, (MOVED, each)) for move in each.moves or ())
        first, last = rounds[0].now, rounds[-1].now.units
        name = self._context.numbers.of_names.name
        for unit, (kind, each) in sorted(found.items(), key=lambda item: item[0]):
            if kind == REVOKED and (is_open or last is None or unit in last):
                continue  # in `last`: another round gave it back to the same member
            topic, number = name(unit)
            names = (CLASSIC, each.now.value.generation, None, topic, number, kind)
            offsets = each.now.offset, first.offset, round_before, len(rounds) == 1
            self._context.emit(
                "StoppedPartition",
                each.compared_from,
                (self._context.incarnation, *names, *offsets),
                end=each.now.offset,
            )

"""The truth about the generations and rebalances of a classic group or a Connect cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kip848_records.kinds import CLASSIC
from kip848_records.protocol.messages.classic import CONNECT_PROTOCOL_TYPE
from tests.simulator.truth.rows import OBSERVED, RIGHT_CENSORED

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.simulator.truth.rows import Row
    from tests.simulator.walks.observed import Observed


@dataclass(frozen=True)
class Outcome:
    """The changes of a round. `stopped`: the number of units that no member had from the join phase to the sync."""

    units: int
    moved: int
    stopped: int
    unassigned: int
    mode: str
    leaves_open: bool
    """Another round has to follow."""
    delay_ms: int | None = None
    revoked: int | None = None


class GenerationTruth:
    """Notes each generation when the leader has synced. `generation`: the last one; None without a group."""

    def __init__(self, walk: Observed, protocol_type: str) -> None:
        self._walk = walk
        self._protocol_type = protocol_type
        self.generation: int | None = None
        self._members: frozenset[str] = frozenset()
        self._created_at: int | None = None
        self._row: Row | None = None
        self._rebalance: Row | None = None

    def create(self) -> None:
        """Note that the first member has joined: the group is there, without a round."""
        self.generation = 0
        self._created_at = self._walk.now
        self._begin("created", joined=None, left=None, rounds=None)

    def complete(  # noqa: PLR0913, PLR0917 - the facts of a round
        self,
        reason: str,
        rounds: int,
        joined_at: int,
        members: Iterable[str],
        leader: str,
        protocol: str,
        outcome: Outcome,
    ) -> Row:
        """Note a round that was synced now; `members` are identities. Return its row."""
        before, now = self._members, frozenset(members)
        self.generation = (self.generation or 0) + rounds
        cause = reason
        if now != before:
            came, went = bool(now - before), bool(before - now)
            cause = "members_changed" if came and went else "member_joined" if came else "member_left"
        join_ms = None
        if self._created_at is not None and rounds == 1:
            join_ms = joined_at - self._created_at
        self._created_at = None
        row = self._begin(
            cause,
            protocol=protocol,
            leader=leader,
            mode=outcome.mode,
            rounds=rounds,
            joined_at=joined_at,
            join_ms=join_ms,
            sync_ms=self._walk.now - joined_at,
            members=len(now),
            joined=sorted(now - before),
            left=sorted(before - now),
            units=outcome.units,
            moved=outcome.moved,
            unassigned=outcome.unassigned,
        )
        self._members = now
        self._add_round(row, outcome, len(before))
        return row

    def empty(self) -> None:
        """Note that a join phase ended without members."""
        before = self._members
        self.generation = (self.generation or 0) + 1
        row = self._begin("emptied", joined=[], left=sorted(before), rounds=1)
        self._members = frozenset()
        self._created_at = None
        has_connect = None if self._protocol_type != CONNECT_PROTOCOL_TYPE else 0
        nothing = Outcome(0, 0, 0, 0, "", leaves_open=False, delay_ms=has_connect, revoked=has_connect)
        self._add_round(row, nothing, len(before))

    def delete(self) -> None:
        """Note that the Empty group was deleted."""
        self._end("deleted")
        self.generation = None
        self._walk.incarnation += 1

    def close(self, captured_at: int) -> None:
        """End the open rows: the log was captured at a time (ms)."""
        self._end(None)
        rebalance = self._rebalance
        if rebalance is not None:
            duration_ms = captured_at - rebalance["began_at"]
            self._walk.note("rebalance", {**rebalance, "outcome": "open", "duration_ms": duration_ms})

    def _begin(self, cause: str, **facts: object) -> Row:
        walk = self._walk
        self._end("emptied" if cause == "emptied" else "next_generation")
        row: Row = {"incarnation": walk.incarnation, "generation": self.generation, "offset": walk.offset()}
        row["cause"] = cause
        row |= {"protocol_type": None if cause == "created" else self._protocol_type}
        row |= {"static_replaced": [], "unapplied": []}
        row |= {"joined_at": walk.now, "completed_at": walk.now, "members": 0, "units": 0, "moved": 0, "unassigned": 0}
        self._row = {**row, **facts, "history": OBSERVED, "clock_skew": False}
        return self._row

    def _end(self, how: str | None) -> None:
        if self._row is not None:
            at = None if how is None else self._walk.now
            self._walk.note("classic_generation", self._row | {"ended_at": at, "ended_by": how})
        self._row = None

    def _add_round(self, row: Row, outcome: Outcome, members_before: int) -> None:
        """Add a generation to the rebalance that it begins or continues."""
        is_connect, stopped_ms = outcome.delay_ms is not None, outcome.stopped * (row.get("sync_ms") or 0)
        rebalance = self._rebalance
        if rebalance is None:
            rebalance = {"incarnation": row["incarnation"], "group_type": CLASSIC, "began_offset": row["offset"]}
            rebalance |= {"began_at": row["joined_at"], "first_epoch": row["generation"], "epochs": 0, "causes": []}
            rebalance |= {"started_empty": not members_before, "members_before": members_before, "rounds": 0}
            rebalance |= {"partitions_moved": 0, "partitions_stopped": 0, "unowned_ms": 0, "duration_is_minimum": True}
            rebalance |= {"history": RIGHT_CENSORED, "clock_skew": False}
            rebalance |= {"delay_ms": 0, "revoked": 0} if is_connect else {}
            self._rebalance = rebalance
        rebalance["last_epoch"] = row["generation"]
        rebalance["epochs"] += 1
        rebalance["rounds"] += row["rounds"]
        rebalance["causes"] = list(dict.fromkeys([*rebalance["causes"], row["cause"]]))
        rebalance["partitions_moved"] += outcome.moved
        rebalance["partitions_stopped"] += outcome.stopped
        rebalance["unowned_ms"] += stopped_ms
        rebalance["members"] = row["members"] or rebalance["members_before"]
        if is_connect:
            delay = outcome.delay_ms or 0
            rebalance["delay_ms"] = max(rebalance["delay_ms"], delay)
            rebalance["expected_at"] = row["completed_at"] + delay if delay else None
            rebalance["revoked"] += outcome.revoked
        if outcome.leaves_open:
            return
        ended = {"ended_at": row["completed_at"], "ended_offset": row["offset"], "history": OBSERVED}
        is_empty = row["cause"] == "emptied"
        duration_ms = None if is_empty else row["completed_at"] - rebalance["began_at"]
        ended |= {"outcome": "emptied" if is_empty else "converged", "duration_ms": duration_ms}
        self._walk.note("rebalance", rebalance | ended)
        self._rebalance = None

"""The tables that offset commits fill beside the replay: `commit_progress`, `commit_jump`, `consumption_stop`.

`replay.commits` has the rules. One sort brings the commits of each group to one task, in order, with the marks of what
the replay of groups found among them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from kip848_records.decode.records import checked_commits
from kip848_records.engines.rows import CompletedRows
from kip848_records.kinds import Role, key_types_of
from kip848_records.log.state import last_counted, state_as_json
from kip848_records.pipeline.completion import with_topics
from kip848_records.pipeline.names import names_of_commits
from kip848_records.pipeline.open_transactions import known_partitions, open_transactions, pending_commits
from kip848_records.pipeline.simple_groups import groups_with_commits, simple_groups
from kip848_records.protocol.columns import FAILURE_COLUMNS
from kip848_records.protocol.schema import NO_UUID
from kip848_records.queries.texts import rendered
from kip848_records.replay.commits import rows as marks
from kip848_records.replay.commits.arrays import FAR
from kip848_records.replay.commits.progress import commit_batches
from kip848_records.replay.diagnosis.consumption import StallSettings
from kip848_records.replay.diagnosis.limits import limits_of
from kip848_records.replay.rows import GroupStateInterval, OwnedPartition, StoppedPartition, row_type, table_of
from kip848_records.sources.predicates import IS_RECORD, key_of_types
from kip848_records.sources.transactions import with_outcomes, with_undecided
from kip848_records.specs.tables import OFFSETS_RETENTION_MS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Self

    from kip848_records.engines.engine import Engine, Relation, Rows
    from kip848_records.log.facts import LogFacts
    from kip848_records.log.table import LogTable
    from kip848_records.replay.inputs import ChangedLimit

_GROUP_TYPES: Final = key_types_of(Role.CLASSIC_GROUP, Role.GROUP_EPOCH)
"""The key types of which each live group has one record: its tombstone removes the group."""

_AGE: Final = (
    "(CASE WHEN found.group_type = 'classic' AND found.empty_since IS NOT NULL "
    "THEN unix_millis(found.jumped_at) - unix_millis(found.empty_since) ELSE found.age_ms END)"
)
_SHORTEST_MS: Final = 10_000
"""It is not asked who is ahead of a partition that moved later than that: groups that go on overtake each other."""

_TOGETHER_MS: Final = 10_000
"""In how much time the coordinators of all partitions remove the offsets of a deleted topic."""

_REFRESHED_MS: Final = 10 * 60 * 1000
"""By then, twice their default of `metadata.max.age.ms`, members of classic groups know that a topic is gone."""

_TOMBSTONES: Final = f"""
SELECT log.partition, log.group_id, log.timestamp FROM {{records}} AS log
WHERE {IS_RECORD} AND {key_of_types(_GROUP_TYPES)} AND log.value IS NULL
"""  # noqa: S608 - constants
_FIRST_OF_MARKS: Final = marks.COMMIT_ROWS.names.index("incarnation")
_NUMBERS: Final = ("COMMIT", "ACQUIRE", "RELEASE", "STOP", "PHASE", "NO_GROUP", "EMPTY", "NOT_SHOWN", "WITH_MEMBERS")
_SQL_TYPES: Final = {pa.string(): "string", pa.int32(): "int", pa.int64(): "bigint", pa.bool_(): "boolean"}


@dataclass(frozen=True)
class Commits:
    """The offset commits of a log.

    `written`: log rows of commits and markers that count, their transactions resolved. `checked`: the commits, decoded
    (`decode.records.checked_commits`). `last`: the last row of each key that counts. `pending`: those of open
    transactions; None if there can be none. `rows`: what they add to tables that hold records of all types, and the
    topics that they name; the replay quarantines those that could not be read.
    """

    log: LogTable
    facts: LogFacts
    written: Relation
    checked: Relation
    last: Relation
    pending: Relation | None
    rows: dict[str, Rows]

    @classmethod
    def of(cls, log: LogTable, facts: LogFacts) -> Self:
        """Read and decode the commits."""
        engine, dialect = log.engine, facts.inputs.dialect
        written = log.offset_commits()
        if facts.counts.pending:
            written = with_outcomes(engine, written)
        written = facts.replayable(engine, written)
        if facts.counts.pending or facts.stale is not None:
            written = engine.materialize(written, "commits")
        checked = engine.materialize(checked_commits(engine, written, dialect), "checked-commits")
        last = engine.materialize(last_counted(engine, written), "last-commits")
        columns = ", ".join(f"checked.{name}" for name in FAILURE_COLUMNS.names)
        undecoded = f"SELECT {columns} FROM {{checked}} AS checked WHERE checked.error_code IS NOT NULL"  # noqa: S608 - ours
        found = {
            "latest_state": state_as_json(engine, last, dialect),
            "quarantine": engine.sql(undecoded, checked=checked),
            "topic_name": names_of_commits(engine, checked),
        }
        rows = {name: engine.materialize(frame, f"{name}-of-commits") for name, frame in found.items()}
        pending = None
        # Without any pending record, the marker of a transaction may still be among what could not be read.
        if facts.counts.pending or facts.counts.first_error is not None:
            pending = pending_commits(engine, written)
            if facts.undecided:
                pending = with_undecided(engine, pending, facts.undecided)
            pending = engine.materialize(pending, "pending-commits")
        return cls(log, facts, written, checked, last, pending, rows)

    def simple_groups(self, replayed: Mapping[str, Rows], only: str | None) -> dict[str, Rows]:
        """Return the rows of simple groups, by table; `only`: the group that was replayed, None for all."""
        found = groups_with_commits(self.log.engine, self.last, self.pending)
        return simple_groups(found, replayed, self.facts.inputs, only)

    def tables(self, replayed: Mapping[str, Rows], topics: pa.Table) -> dict[str, Rows]:
        """Return the rows of `registry.OF_COMMITS`, by table; a table without rows is missing.

        `replayed`: rows of the replay of groups. `topics`: names of topics by id.
        """
        engine, inputs = self.log.engine, self.facts.inputs
        found = engine.replay(
            partial(commit_batches, inputs, partial(_min_silence, inputs.limits)),
            self._in_order(replayed, topics),
            key=marks.KEY,
            order=marks.ORDER,
        )
        progress, jumps, stops = (found.pop(name, None) for name in ("found_progress", "found_jump", "found_stop"))
        if progress is not None:
            found["commit_progress"] = self._with_ahead(progress)
        if jumps is not None:
            records = self.facts.replayable(engine, self.log.group_records())
            stays = _named(engine, replayed, OwnedPartition, topics)
            found["commit_jump"] = self._with_causes(engine.relation(jumps), records, stays)
        if self.pending is not None:
            opened = open_transactions(engine, self.log.records(), self.pending, inputs)
            found["open_transaction"] = engine.materialize(opened, "open-transaction")
        if stops is not None and progress is not None:
            stopped = _named(engine, replayed, StoppedPartition, topics)
            stopped = consumption_stops(engine, stopped, engine.relation(stops), engine.relation(progress))
            found["consumption_stop"] = engine.materialize(stopped, "consumption-stops")
        return found

    def _with_ahead(self, progress: Rows) -> Rows:
        """Return progress with the groups that are ahead of a partition that stands still."""
        engine = self.log.engine
        found = engine.relation(progress)
        ahead = engine.sql(
            rendered("pipeline/sql/who_is_ahead.sql", far=FAR, shortest_ms=_SHORTEST_MS),
            progress=found,
            captured=engine.relation(known_partitions(self.facts.inputs)),
            checked=self.checked,
        )
        ahead = engine.materialize(ahead, "ahead")
        return engine.materialize(
            engine.sql(rendered("pipeline/sql/with_ahead.sql"), progress=found, ahead=ahead), "commit-progress"
        )

    def _with_causes(self, jumps: Relation, records: Relation, stays: Relation) -> Rows:
        """Return jumps with the causes of losses; `records`: those of groups, `stays`: what members own."""
        engine, inputs = self.log.engine, self.facts.inputs
        known_ms = inputs.offsets_retention_ms
        is_old = f"({_AGE} >= {OFFSETS_RETENTION_MS if known_ms is None else known_ms})"
        evaluated = engine.sql(
            rendered(
                "pipeline/sql/evaluated_jumps.sql",
                is_old=is_old,
                assumed_ms=OFFSETS_RETENTION_MS if known_ms is None else "NULL",
                together_ms=_TOGETHER_MS,
                refreshed_ms=_REFRESHED_MS,
                no_uuid=NO_UUID,
            ),
            jumps=jumps,
            stays=stays,
            commits=self.checked,
            captured=engine.relation(known_partitions(inputs)),
            tombstones=engine.sql(_TOMBSTONES, records=records),
        )
        evaluated = engine.materialize(evaluated, "evaluated-jumps")
        return engine.materialize(
            engine.sql(rendered("pipeline/sql/commit_jumps.sql"), evaluated=evaluated), "commit-jumps"
        )

    def _in_order(self, replayed: Mapping[str, Rows], topics: pa.Table) -> Relation:
        engine = self.log.engine
        text = rendered(
            "pipeline/sql/commit_rows.sql",
            types={each.name: _SQL_TYPES.get(each.type, "timestamp") for each in marks.COMMIT_ROWS},
            of_commits=marks.COMMIT_ROWS.names[marks.COMMIT_ROWS.names.index("committed") : _FIRST_OF_MARKS],
            of_marks=marks.COMMIT_ROWS.names[_FIRST_OF_MARKS:],
            no_uuid=NO_UUID,
            **{name.lower(): getattr(marks, name) for name in _NUMBERS},
        )
        return engine.sql(
            text,
            checked=self.checked,
            commits=self.written,
            stays=_named(engine, replayed, OwnedPartition, topics),
            stopped=_named(engine, replayed, StoppedPartition, topics),
            states=_relation(engine, replayed, GroupStateInterval),
        )


def _min_silence(changes: Sequence[ChangedLimit], group_id: str) -> int | None:
    return limits_of(changes, group_id)[StallSettings.min_silence_seconds] or None


def consumption_stops(engine: Engine, stopped: Relation, stops: Relation, stays: Relation) -> Relation:
    """Return the rows of `consumption_stop`.

    `stopped`: rows of `StoppedPartition` with the names of topics. `stops`, `stays`: of `FoundStop`, `FoundProgress`.
    """
    return engine.sql(rendered("pipeline/sql/consumption_stops.sql"), stopped=stopped, stops=stops, stays=stays)


def _relation(engine: Engine, replayed: Mapping[str, Rows], row_class: type) -> Relation:
    rows = replayed.get(table_of(row_class))
    return engine.relation(pa.schema(list(row_type(row_class))).empty_table() if rows is None else rows)


def _named(engine: Engine, replayed: Mapping[str, Rows], row_class: type, topics: pa.Table) -> Relation:
    """Return rows of the replay with the names of topics."""
    rows = replayed.get(table_of(row_class))
    if rows is None:
        return _relation(engine, replayed, row_class)
    return engine.relation(CompletedRows(rows, partial(with_topics, topics)))

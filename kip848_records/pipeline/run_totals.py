"""Counts of the rebalances that ended since the run before, and their sums over all runs, which never fall.

The tables cannot give such sums: a copy replaces the log, and retention shortens it. Therefore each run adds its own
counts to the sums in the row of the run before. A rebalance ends once, at one offset: it is new if no run before read
that far.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kip848_records.replay.coverage import OBSERVED
from kip848_records.times import utc

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from kip848_records.log.facts import LogFacts
    from kip848_records.log.table import Knowledge, LogTable

NOT_COUNTED: Final[Mapping[str, Any]] = dict.fromkeys(
    ("new_rebalances", "new_durations", "total_rebalances", "total_durations", "counted_until")
)
"""The columns of `audit_runs` about counts, in the row of a run that did not count."""

OUTCOMES: Final = ("converged", "emptied", "deleted", "downgraded", "upgraded")
"""The outcomes of a rebalance that ended."""

_MEASURED: Final = f"CASE WHEN history = '{OBSERVED}' AND NOT duration_is_minimum THEN duration_ms END"
_PERCENTILES: Final = ", ".join(
    f"CAST(round(percentile({_MEASURED}, {percent / 100})) AS bigint) AS p{percent}_ms" for percent in (50, 95, 99)
)
_COUNTS: Final = f"""
SELECT {", ".join(f"count(CASE WHEN outcome = '{outcome}' THEN 1 END) AS {outcome}" for outcome in OUTCOMES)},
    count({_MEASURED}) AS count, CAST(coalesce(sum({_MEASURED}), 0) AS bigint) AS sum_ms, {_PERCENTILES},
    max({_MEASURED}) AS max_ms
FROM rebalance
WHERE cluster = :cluster AND outcome IN {OUTCOMES} AND ended_offset IS NOT NULL AND ({{is_new}})
"""  # noqa: S608 - constants


def run_totals(
    log: LogTable, knowledge: Knowledge, facts: LogFacts, before: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return the columns of `NOT_COUNTED` for the last run; `before` has the rows of the runs before it.

    The first run that counts, counts all rebalances of its log.
    """
    counted = max(
        (row for row in before if row["total_rebalances"] is not None), key=lambda row: row["run"], default={}
    )
    as_of = max((row["captured_at"] for row in before if row["captured_at"] is not None), default=None)
    until = _ends(facts)
    counted_until = dict(counted.get("counted_until") or {})
    continued = _continued(knowledge, until, counted_until, counted.get("run"))
    is_new = "true"
    if counted:
        is_new = _condition(
            {partition: counted_until[partition] for partition in continued}, is_timed=as_of is not None
        )
    (row,) = log.ask(counts_text(is_new), "rebalance", as_of=as_of)
    found = row._asdict()
    new = {outcome: found.pop(outcome) for outcome in OUTCOMES}
    total = dict(counted.get("total_rebalances") or {})
    total_durations = counted.get("total_durations") or {}
    return {
        "new_rebalances": [*new.items()],
        "new_durations": found,
        "total_rebalances": [(outcome, total.get(outcome, 0) + new[outcome]) for outcome in OUTCOMES],
        "total_durations": {name: total_durations.get(name, 0) + found[name] for name in ("count", "sum_ms")},
        "counted_until": sorted(_counted_until(facts, counted_until, until, as_of).items()),
    }


def counts_text(is_new: str) -> str:
    """Return SQL over `rebalance` for the counts and durations of what ended, if a condition in SQL holds for it."""
    return _COUNTS.format(is_new=is_new)


def _ends(facts: LogFacts) -> dict[int, int]:
    """Return for each partition the offset after the last one that a copy, or the runs over a topic, hold."""
    ends: dict[int, int] = {}
    for copy in facts.copies:
        ends[copy.partition] = max(copy.last_offset + 1, ends.get(copy.partition, 0))
    return ends


def _continued(
    knowledge: Knowledge, until: Mapping[int, int], counted_until: Mapping[int, int], run: int | None
) -> list[int]:
    """Return the partitions whose offsets go on where the run before ended.

    Offsets begin again in a topic that was made anew. The runs over a live topic archive such a partition, with its
    reads; a copy of it ends before the copy of the run before.
    """
    if run is None:
        return []
    if knowledge.is_copy:
        return [partition for partition in counted_until if until.get(partition, 0) >= counted_until[partition]]
    read_before = {read.partition for read in knowledge.reads if read.run <= run}
    return sorted(read_before & counted_until.keys())


def _condition(continued: Mapping[int, int], *, is_timed: bool) -> str:
    """Return SQL for what is new: beyond an offset, or in other partitions later than the capture of the run before."""
    parts = [f"(partition = {partition} AND ended_offset >= {offset})" for partition, offset in continued.items()]
    if is_timed:
        others = f"partition NOT IN ({', '.join(map(str, continued))}) AND " if continued else ""
        parts.append(f"({others}ended_at > CAST(:as_of AS timestamp))")
    return " OR ".join(parts) or "false"


def _counted_until(
    facts: LogFacts, counted_until: Mapping[int, int], until: Mapping[int, int], as_of: datetime | None
) -> dict[int, int]:
    """Return the offsets from which the next run counts; an older copy of the log than the last one changes none."""
    captured = None if facts.inputs.captured_at is None else utc(facts.inputs.captured_at)
    if as_of is not None and (captured is None or captured <= as_of):
        until = {partition: max(end, counted_until.get(partition, 0)) for partition, end in until.items()}
    return {**counted_until, **until}

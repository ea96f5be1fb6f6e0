"""Counts of the rebalances that ended since the run before, and their sums over all runs, which never fall.

The tables cannot give such sums: a copy replaces the log, and retention shortens it. Therefore each run adds its own
counts to the sums in the row of the run before. A rebalance ends once, at one offset: it is new if no run before read
that far. Offsets begin again in a topic that was made anew: there it is new if it ended after the last capture.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kip848_records.queries.texts import rendered

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from datetime import datetime

    from kip848_records.log.facts import LogFacts
    from kip848_records.log.table import Knowledge, LogTable

NOT_COUNTED: Final[Mapping[str, Any]] = dict.fromkeys(
    ("new_rebalances", "new_durations", "total_rebalances", "total_durations", "counted_until")
)
"""The columns of `audit_runs` about counts, in the row of a run that did not count."""

OUTCOMES: Final = ("converged", "emptied", "deleted", "downgraded", "upgraded")
"""The outcomes of a rebalance that ended."""

_COUNTS: Final = "pipeline/ended_rebalances.sql"
_MADE_ANEW: Final = "pipeline/made_anew.sql"


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
    if knowledge.is_copy:
        continued = sorted(counted_until.keys() - _made_anew(log, counted_until, as_of))
    else:
        continued = _continued(knowledge, counted_until, counted.get("run"))
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
        "counted_until": sorted(_counted_until(counted_until, until, continued).items()),
    }


def counts_text(is_new: str) -> str:
    """Return SQL over `rebalance` for the counts and durations of what ended, if a condition in SQL holds for it."""
    return rendered(_COUNTS, outcomes=OUTCOMES, is_new=is_new)


def made_anew_text(counted_until: Mapping[int, int]) -> str:
    """Return SQL over `log` for the partitions whose records below these offsets are all later than ``:as_of``."""
    return rendered(_MADE_ANEW, counted_until=counted_until)


def _ends(facts: LogFacts) -> dict[int, int]:
    """Return for each partition the offset after the last one that a copy, or the runs over a topic, hold."""
    ends: dict[int, int] = {}
    for copy in facts.copies:
        ends[copy.partition] = max(copy.last_offset + 1, ends.get(copy.partition, 0))
    return ends


def _made_anew(log: LogTable, counted_until: Mapping[int, int], as_of: datetime | None) -> set[int]:
    """Return the partitions of a copy whose topic was made anew since the last capture.

    Their records below the offset that the runs before reached are all later than that capture. A copy of a replica
    that lags, or an older copy, ends earlier too, but holds records from before the capture.
    """
    if as_of is None or not counted_until:
        return set()
    return {row.partition for row in log.ask(made_anew_text(counted_until), as_of=as_of)}


def _continued(knowledge: Knowledge, counted_until: Mapping[int, int], run: int | None) -> list[int]:
    """Return the partitions of a live topic whose offsets go on where the run before ended.

    If a topic was made anew, the run archives its partitions, with their reads.
    """
    read_before = set() if run is None else {read.partition for read in knowledge.reads if read.run <= run}
    return sorted(read_before & counted_until.keys())


def _condition(continued: Mapping[int, int], *, is_timed: bool) -> str:
    """Return SQL for what is new: beyond an offset, or in other partitions later than the capture of the run before."""
    parts = [f"(partition = {partition} AND ended_offset >= {offset})" for partition, offset in continued.items()]
    if is_timed:
        others = f"partition NOT IN ({', '.join(map(str, continued))}) AND " if continued else ""
        parts.append(f"({others}ended_at > CAST(:as_of AS timestamp))")
    return " OR ".join(parts) or "false"


def _counted_until(
    counted_until: Mapping[int, int], until: Mapping[int, int], continued: Collection[int]
) -> dict[int, int]:
    """Return the offsets from which the next run counts; a copy that ends earlier than the last one changes none."""
    ends = {
        partition: max(end, counted_until[partition]) if partition in continued else end
        for partition, end in until.items()
    }
    return {**counted_until, **ends}

"""The file that `kafka-consumer-groups --reset-offsets --from-file` reads, and the notes about it."""

from __future__ import annotations

from collections import defaultdict
from itertools import groupby
from typing import TYPE_CHECKING

from kip848_records.report.words import topic as log
from kip848_records.text import count_text, ranges_text
from kip848_records.times import time_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from kip848_records.queries.tables import Row
    from kip848_records.report.offsets.gone import Gone
    from kip848_records.report.offsets.keys import Key, KeyHistory, Scope

time = time_text
__all__ = ["file", "log", "time"]


def file(offsets: Mapping[Key, int], *, with_groups: bool) -> str:
    """Return the lines of the file: no header, no space and no blank line, which the tool refuses.

    `with_groups`: the group is the first column, as the tool wants it for several groups.
    """
    lines = []
    for key, offset in offsets.items():
        columns = [key.group_id] if with_groups else []
        lines.append(",".join(map(_cell, [*columns, key.topic, str(key.partition), str(offset)])))
    return "".join(f"{line}\n" for line in lines)


def _cell(text: str) -> str:
    return f'"{text.replace(chr(34), chr(34) * 2)}"' if any(each in text for each in ',"\r\n') else text


def when(at_ms: int | None) -> str:
    """Return a time as the end of a sentence."""
    return "at the end of the log" if at_ms is None else f"at {time(at_ms)}"


def hint_of_times(found: Sequence[KeyHistory]) -> str:
    """Return of which time the last records of keys are."""
    times = [each.last.at_ms for each in found if each.last is not None and each.last.at_ms is not None]
    removed = all(each.last is not None and each.last.committed is None for each in found)
    if not times:
        return "pass another time with --at"
    what = "its offsets were removed at" if removed else "its last commit is of"
    return f"{what} {time(max(times))}; pass another time with --at"


def not_complete(partition: int, complete_ms: int | None, at_ms: int | None) -> str:
    """Return that the history of a partition does not reach back to a time."""
    since = "is not known to be complete" if complete_ms is None else f"is complete only from {time(complete_ms)}"
    return f"its offset {when(at_ms)} is not known: {log(partition)} {since}, and it was written since"


def replaced(partition: int, place: int, at_ms: int | None) -> str:
    """Return that compaction may have removed the record before one whose transaction was open at a time."""
    return (
        f"its offset {when(at_ms)} is not known: the transaction of its record at offset {place} of {log(partition)} "
        "was open, and compaction may have removed the record before it since"
    )


def summary(scope: Scope, known: Mapping[int, Row], offsets: Mapping[Key, int]) -> list[str]:
    """Return how many offsets there are, and as of when."""
    groups = {key.group_id for key in offsets}
    who = f"group {scope.group}" if scope.group is not None else count_text(len(groups), "group")
    text = f"{count_text(len(offsets), 'offset')} of {who} {when(scope.at_ms)}"
    if scope.partition is not None and scope.partition in known:
        until = known[scope.partition].until_offset
        text += f": what counted {'' if until is None else f'before offset {until} '}in {log(scope.partition)}"
    return [text]


def left_out(unknown: Mapping[str, Sequence[Key]]) -> list[str]:
    """Return which keys are left out because the log does not show their offset."""
    return [f"left out: {_names(keys)}: {why}" for why, keys in unknown.items()]


def negative(found: Sequence[KeyHistory]) -> list[str]:
    """Return the keys whose last commit was negative then: clients take it for none, and the tool for the earliest."""
    by_commit: dict[tuple[int, int | None], list[Key]] = defaultdict(list)
    for each in found:
        then = each.then
        if then is not None and then.committed is not None and then.committed < 0:
            by_commit[then.committed, then.at_ms].append(each.key)
    return [
        f"left out: {_names(keys)}: {offset} was committed at {time(at_ms)}, and a negative offset is none; "
        "pass an earlier time with --at"
        for (offset, at_ms), keys in by_commit.items()
    ]


def gone(found: Mapping[Key, Gone]) -> list[str]:
    """Return which keys are left out because their topic is gone, and which may be of such a topic."""
    by_fate: dict[Gone, list[Key]] = defaultdict(list)
    for key, fate in found.items():
        by_fate[fate].append(key)
    notes = []
    for fate, keys in by_fate.items():
        if fate.topic_ids is not None:
            before, after = fate.topic_ids
            notes.append(f"left out: {_names(keys)}: the topic was created anew since, with id {after} after {before}")
        elif fate.is_certain:
            notes.append(f"left out: {_names(keys)}: the topic was deleted at {time(fate.at_ms)}")
        else:
            notes.append(
                f"{_names(keys)}: removed at {time(fate.at_ms)}, by expiry, by a tool or with the topic; the tool "
                "refuses the whole file if the topic is gone"
            )
    return notes


def pending(found: Sequence[KeyHistory], offsets: Mapping[Key, int]) -> list[str]:
    """Return the commits in transactions that were open."""
    notes = []
    for each in found:
        commit, then = each.pending, each.then
        if commit is None or (then is not None and then.place > commit.place and then.committed is None):
            continue
        kept = f"the file has {offsets[each.key]}, the offset before it" if each.key in offsets else "left out"
        who = "" if commit.producer_id is None else f" of producer {commit.producer_id}"
        notes.append(
            f"{_names([each.key])}: the commit of {commit.committed} is in a transaction{who} that was open since "
            f"{time(commit.at_ms)}: {kept}"
        )
    return notes


def of_partitions(scope: Scope, known: Mapping[int, Row], shown: Sequence[KeyHistory]) -> list[str]:
    """Return what limits the answer for whole partitions of the log."""
    at_ms = scope.at_ms
    skewed = [
        row for row in known.values() if row.until_offset is not None and (row.last_in_time or 0) > row.until_offset
    ]
    notes = [
        f"clock_skew: the clock of {log(row.partition)} went back: records behind offset {row.until_offset} up to "
        f"offset {row.last_in_time} have earlier times, and do not count"
        for row in skewed
    ]

    def named(text: str, applies: Callable[[Row], object]) -> None:
        numbers = [row.partition for row in known.values() if applies(row)]
        if numbers:
            notes.append(f"partition {ranges_text(numbers)} of {log(None)}: {text}")

    named("the start of the log is missing, and older commits with it", lambda row: row.start_missing)
    named(
        "not complete at this time, so keys that were deleted since are not seen",
        lambda row: (
            row.until_offset is not None and (row.complete_from is None or row.until_offset < row.complete_from)
        ),
    )
    known_to: dict[int, list[int]] = defaultdict(list)
    for row in known.values():
        if at_ms is not None and row.known_to_ms is not None and row.known_to_ms < at_ms:
            known_to[row.known_to_ms].append(row.partition)
    notes += [
        f"partition {ranges_text(numbers)} of {log(None)}: known only to {time(ms)}; later commits are not in this log"
        for ms, numbers in known_to.items()
    ]
    if any(each.then and each.then.transaction == "unknown" for each in shown) and scope.run.is_copy:
        notes.append("this copy does not show transactions: a commit counts even if its transaction was aborted")
    return notes


def of_topics(listed: set[str], offsets: Mapping[Key, int]) -> list[str]:
    """Return which topics are not in the user's file of topics."""
    missing = [key for key in offsets if key.topic not in listed] if listed else []
    if not missing:
        return []
    return [f"--topics does not name {_names(missing)}: the tool refuses the whole file if the topic is gone"]


def members(members_now: Mapping[str, int], offsets: Mapping[Key, int]) -> list[str]:
    """Return which groups have members, which keeps the tool from setting their offsets."""
    busy = sorted({key.group_id for key in offsets} & members_now.keys())
    if not busy:
        return []
    if len(busy) == 1:
        has = f"group {busy[0]} has {count_text(members_now[busy[0]], 'member')}"
    else:
        has = f"{len(busy):,} of these groups have members"
    return [f"{has} at the end of the log: the tool sets no offset of a group before all of them have stopped"]


def _names(keys: Iterable[Key]) -> str:
    """Return keys with their partitions as ranges: g-pay: orders 0-3, 7."""
    names = []
    for group, theirs in groupby(sorted(set(keys)), key=lambda key: key.group_id):
        topics = groupby(theirs, key=lambda key: key.topic)
        listed = ", ".join(f"{topic} {ranges_text(key.partition for key in each)}" for topic, each in topics)
        names.append(f"{group} {listed}")
    return "; ".join(names)

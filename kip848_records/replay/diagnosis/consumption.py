"""The patterns `not_consumed`, `blocked_by_transaction` and `offsets_lost`: what is wrong with committed offsets.

The first two are states at the capture, so they are present: when a partition that goes on had stood still, its commits
do not tell.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from kip848_records.replay.diagnosis.changed_limits import limits_of
from kip848_records.replay.diagnosis.consumption_sentences import TOPIC_DELETED
from kip848_records.replay.diagnosis.diagnose import row_of
from kip848_records.replay.diagnosis.episodes import Episode, Subject, some_offsets
from kip848_records.replay.diagnosis.precedence import explain
from kip848_records.replay.diagnosis.severity import ERROR, WARNING
from kip848_records.text import ranges_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from kip848_records.replay.diagnosis.changed_limits import ChangedLimit
    from kip848_records.replay.diagnosis.limits import Limits
    from kip848_records.replay.rows import Row

BLOCKED: Final = "blocked_by_transaction"
NOT_CONSUMED: Final = "not_consumed"
LOST: Final = "offsets_lost"
MESSAGES_WAITING: Final = "messages_waiting"


def consumption_troubles(
    silent: Iterable[Row], lost: Iterable[Row], changes: Sequence[ChangedLimit] = ()
) -> Iterator[Row]:
    """Yield rows of `diagnosis`. `silent`, `lost`: rows of `pipeline/sql/not_consumed.sql` and `lost_offsets.sql`."""
    by_group: dict[tuple[int, str], list[Episode]] = {}
    for key, rows in _grouped(
        silent, lambda row: (*_group(row), row.incarnation, row.state, row.evidence, _owner(row))
    ):
        episode = _blocked(rows) if rows[0].state == BLOCKED else _not_consumed(rows)
        by_group.setdefault(key[:2], []).append(episode)
    for key, rows in _grouped(lost, lambda row: (*_group(row), row.incarnation, row.topic, row.cause)):
        by_group.setdefault(key[:2], []).extend(_losses(rows, limits_of(changes, rows[0].group_id)))
    for (partition, group_id), episodes in by_group.items():
        explain(episodes)
        off = limits_of(changes, group_id).off
        yield from (row_of(each, group_id, partition) for each in episodes if each.pattern not in off)


def _group(row: Row) -> tuple[int, str]:
    return row.offsets_partition, row.group_id


def _owner(row: Row) -> str:
    """Return what rows of a group have in common: a member, or the producer whose transaction blocks some of them."""
    return str(row.producer_id if row.state == BLOCKED else row.member_id)


def _grouped(rows: Iterable[Row], key: Callable[[Row], tuple[Any, ...]]) -> Iterator[tuple[Any, list[Row]]]:
    def order(row: Row) -> tuple[str, ...]:
        return tuple(map(str, key(row)))

    for _, found in groupby(sorted(rows, key=order), key=order):
        of_key = list(found)
        yield key(of_key[0]), of_key


def _not_consumed(rows: Sequence[Row]) -> Episode:
    """Return what one member does not consume; `first_seen`: since when its first partition shows it."""
    first = rows[0]
    waits = first.evidence == MESSAGES_WAITING
    began = [max(_stands_since(row), row.waits_since) if waits else _stands_since(row) for row in rows]
    # That a member has stopped shows when the last of its partitions has.
    which = min if waits else max
    return Episode(
        NOT_CONSUMED,
        WARNING,
        Subject(first.client_id, first.client_host, first.instance_id, first.member_id, topics=_topics(rows)),
        len(rows),
        which(began),
        first.captured_ms,
        which(at + row.need_ms for at, row in zip(began, rows, strict=True)),
        None,
        first.incarnation,
        probable_cause=first.evidence,
        evidence=some_offsets(row.acquired_offset for row in rows),
        facts={
            "partitions": _partitions(rows),
            "committed": first.committed,
            "ahead_by": max((row.ahead_by for row in rows if row.ahead_by is not None), default=None),
            "lag": max((row.lag for row in rows if row.lag is not None), default=None),
            "ahead_groups": sorted({row.ahead_group for row in rows if row.ahead_group is not None}),
        },
    )


def _blocked(rows: Sequence[Row]) -> Episode:
    """Return what the open transaction of one producer blocks."""
    first = rows[0]
    return Episode(
        BLOCKED,
        ERROR,
        Subject(
            members=len({row.member_id for row in rows}), topics=_topics(rows), what=f"producer {first.producer_id}"
        ),
        len(rows),
        min(row.pending_since for row in rows),
        first.captured_ms,
        min(max(row.pending_since, _stands_since(row) + row.min_silence_ms) for row in rows),
        None,
        first.incarnation,
        evidence=some_offsets(row.acquired_offset for row in rows),
        facts={"partitions": _partitions(rows)},
    )


def _losses(rows: Sequence[Row], limits: Limits) -> Iterator[Episode]:
    """Yield the losses of a topic's offsets, those that follow each other soon as one.

    They are over when each partition has been committed again, at once if the topic is gone, and else after a day.
    """
    together: list[Row] = []
    for row in sorted(rows, key=lambda row: (row.jumped_ms, row.at_offset)):
        if together and row.jumped_ms - together[-1].jumped_ms > limits.calm:
            yield _loss(together, limits)
            together = []
        together.append(row)
    yield _loss(together, limits)


def _loss(rows: Sequence[Row], limits: Limits) -> Episode:
    first, last = rows[0], rows[-1]
    is_over = first.cause == TOPIC_DELETED or all(row.followed == row.partitions for row in rows)
    ended = max(row.followed_ms or row.jumped_ms for row in rows) if is_over else last.jumped_ms + limits.lost_for
    return Episode(
        LOST,
        WARNING,
        Subject(topics=(first.topic,)),
        sum(row.partitions for row in rows),
        first.jumped_ms,
        last.jumped_ms,
        first.jumped_ms,
        None if last.age_ms is None or (not is_over and last.age_ms < limits.lost_for) else ended,
        first.incarnation,
        probable_cause=first.cause,
        evidence=some_offsets(row.at_offset for row in rows),
    )


def _stands_since(row: Row) -> int:
    since: int = row.captured_ms - row.silent_ms
    return since


def _topics(rows: Iterable[Row]) -> tuple[str, ...]:
    return tuple(sorted({row.topic for row in rows}))


def _partitions(rows: Iterable[Row]) -> list[str]:
    by_topic = groupby(sorted(rows, key=lambda row: row.topic), key=lambda row: row.topic)
    return [f"{topic} {ranges_text(row.partition for row in of_topic)}" for topic, of_topic in by_topic]

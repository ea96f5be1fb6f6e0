"""The patterns `offsets_topic_grew`, `began_again`, `group_in_two_partitions`: ids in several partitions of the log."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kip848_records.replay.diagnosis.episodes import Episode, Subject
from kip848_records.replay.diagnosis.limits import limits_of
from kip848_records.replay.diagnosis.pattern import Pattern
from kip848_records.replay.diagnosis.phrases import first_time, number, some
from kip848_records.text import ranges_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from kip848_records.replay.diagnosis.pattern import Words
    from kip848_records.replay.inputs import GroupMove, ReplayInputs
    from kip848_records.replay.rows import Row


class Expansion(NamedTuple):
    """The topic got more partitions: how many there were and are, None if several numbers fit, and when (ms)."""

    before: int | None
    after: int | None
    at: int


def moved_groups(  # noqa: PLR0913 - what is known of them
    moves: Mapping[str, GroupMove],
    mixed: Mapping[str, Sequence[int]],
    expansion: Expansion | None,
    offsets: Iterable[Row],
    inputs: ReplayInputs,
    *,
    conflicts: int = 0,
) -> Iterator[Row]:
    """Yield rows of `diagnosis`: one for all groups, and one for each that moved, which is then in its new partition.

    `offsets`: rows of `pipeline/sql/offsets_left_behind.sql`. `conflicts`: as in `SeveralPartitions`.
    """
    of_all, captured_at = limits_of(inputs.limits, None).off, inputs.captured_at
    if expansion is not None and GREW.name not in of_all:
        subject = Subject(groups=tuple(sorted(moves)))
        yield _episode(GREW, expansion.at, subject, expansion._asdict()).row(None, None)
    if mixed and IN_TWO.name not in of_all and captured_at is not None:
        group, partitions = next(iter(mixed.items()))
        facts: dict[str, Any] = {"group": group, "partitions": partitions, "conflicts": conflicts}
        yield _episode(IN_TWO, captured_at, Subject(groups=tuple(mixed)), facts, is_present=True).row(None, None)
    committed = {group: list(rows) for group, rows in groupby(offsets, key=lambda row: row.group_id)}
    for group, move in moves.items():
        if BEGAN_AGAIN.name not in limits_of(inputs.limits, group).off:
            rows = committed.get(group, [])
            facts = {"from": move.old, "to": move.new, "left": [*_named(rows, "committed")]}
            facts["since"] = [*_named([row for row in rows if row.first_committed is not None], "first_committed")]
            topics = tuple(sorted({row.topic for row in rows})) or None
            yield _episode(BEGAN_AGAIN, move.at, Subject(topics=topics), facts).row(group, move.new)


def _episode(
    pattern: Pattern, at: int, subject: Subject, facts: dict[str, Any], *, is_present: bool = False
) -> Episode:
    count = 1 if subject.groups is None else len(subject.groups)
    incarnation = 0 if subject.groups is None else None
    ended = None if is_present else at
    return Episode(pattern, subject, count, at, at, at, ended, incarnation, episode=1, facts=facts)


def _named(rows: Sequence[Row], column: str) -> Iterator[str]:
    """Yield the offsets of each topic: clicks 0-2 at 18000 to 18100."""
    for topic, of_topic in groupby(rows, key=lambda row: row.topic):
        found = list(of_topic)
        least, most = (each(getattr(row, column) for row in found) for each in (min, max))
        between = f"{least}" if least == most else f"{least} to {most}"
        yield f"{topic} {ranges_text(row.partition for row in found)} at {between}"


def _offsets_topic_grew_words(episode: Episode) -> Words:
    """Return the words of `offsets_topic_grew`."""
    before, after = episode.facts["before"], episode.facts["after"]
    sizes = f" ({before or '?'} before, {after or '?'} since)" if before or after else ""
    others = "is in another partition" if episode.count == 1 else "are in other partitions"
    sentence = (
        f"__consumer_offsets got more partitions{sizes} by {first_time(episode)}: {number(episode.count, 'group')} "
        f"{others} since, and began there without committed offsets: {some(episode.subject.groups or ())}."
    )
    return sentence, (
        "Never change the number of partitions of __consumer_offsets. Set the offsets of each group while it is "
        "stopped: kip848 offsets --at a time before has them."
    )


def _began_again_words(episode: Episode) -> Words:
    """Return the words of `began_again`."""
    facts = episode.facts
    left = f" They were: {some(facts['left'])}." if facts["left"] else ""
    since = f" Its first commits since: {some(facts['since'])}." if facts["since"] else ""
    sentence = (
        f"The group is in partition {facts['to']} of __consumer_offsets since {first_time(episode)}, and was in "
        f"{facts['from']}: the topic got more partitions. It began again without its committed offsets, where "
        f"auto.offset.reset says.{left}{since}"
    )
    return sentence, (
        "If it is to go on where it was, stop it and set its offsets: kip848 offsets --at a time before has them."
    )


def _group_in_two_partitions_words(episode: Episode) -> Words:
    """Return the words of `group_in_two_partitions`."""
    partitions, others = episode.facts["partitions"], episode.count - 1
    more = f"; so {'is' if others == 1 else 'are'} {number(others, 'other group')}" if others else ""
    sentence = (
        f"Group {episode.facts['group']} is in partitions {some([str(each) for each in sorted(partitions)])} of "
        f"__consumer_offsets, the newest records in {partitions[-1]}{more}. A group has one partition, and "
    )
    conflicts = episode.facts.get("conflicts")
    if conflicts:
        sentence += (
            f"at {number(conflicts, 'offset')} the sources have different records: they are not copies of one log."
        )
        return sentence, (
            "Audit each source by itself, with --cluster: they are of two clusters, or of a topic that was deleted and "
            "created again."
        )
    sentence += "it does not look as if the topic got more of them."
    return sentence, "See whether copies of two clusters are mixed: audit each by itself, with --cluster."


GREW: Final = Pattern(
    "offsets_topic_grew",
    _offsets_topic_grew_words,
    "__consumer_offsets got more partitions, so that groups have others: ids end in one "
    "partition and begin in another, and two numbers of partitions explain all of them. One row for all groups.",
    expected="The number of partitions of __consumer_offsets does not change",
    about="log",
)
BEGAN_AGAIN: Final = Pattern("began_again", _began_again_words, "The same, for each of these groups.")
IN_TWO: Final = Pattern(
    "group_in_two_partitions",
    _group_in_two_partitions_words,
    "Ids are in several partitions, and no number of partitions explains it.",
    expected="The records of a group are in one partition",
    about="log",
)

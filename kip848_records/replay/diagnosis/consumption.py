"""The patterns of committed offsets, which offset commits show: `not_consumed` and those behind it.

The first two are states at the capture. That a partition had stood still shows afterwards where another group went on
meanwhile, and a rebalance ended it.
"""

from __future__ import annotations

from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from kip848_records.replay.diagnosis.episodes import Episode, Subject, some_offsets
from kip848_records.replay.diagnosis.intervals import together
from kip848_records.replay.diagnosis.limits import DAY, AllSettings, PatternSettings, limits_of, seconds
from kip848_records.replay.diagnosis.pattern import Pattern
from kip848_records.replay.diagnosis.phrases import first_time, last_time, lasted, number, some, who
from kip848_records.replay.diagnosis.precedence import explain
from kip848_records.replay.diagnosis.severity import ERROR, INFO, WARNING
from kip848_records.specs.tables import OFFSETS_RETENTION_MS
from kip848_records.text import duration_text, ranges_text
from kip848_records.times import utc, utc_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from kip848_records.replay.diagnosis.limits import Limits
    from kip848_records.replay.diagnosis.pattern import Words
    from kip848_records.replay.inputs import ChangedLimit
    from kip848_records.replay.rows import Row

MESSAGES_WAITING: Final = "messages_waiting"

MEMBER_STOPPED: Final = "member_stopped"
TOPIC_DELETED: Final = "topic_deleted"
"""The cause of a loss without harm: there is nothing left to read."""
OWN_RETENTION: Final = (
    "The client sets this, not offsets.retention.minutes of the brokers: leave its retention time of offsets out, "
    "such as offset_retention_time or Consumer.Offsets.Retention."
)
_LOOK: Final = (
    "If it does not work on one long batch: look for a dead worker thread, a pause() without resume(), or a message "
    "that fails again and again. A restart of this member gives its partitions to others."
)


class StallSettings(PatternSettings, pattern="not_consumed"):
    """The limits of `not_consumed` that users may change."""

    min_silence_seconds = seconds(
        0,
        "0: the owner's rebalance timeout, or 5 min if it is unknown, as a member that works longer on a batch "
        "leaves the group. Less finds a stopped partition sooner, where batches are short. Also of "
        "`blocked_by_transaction`.",
    )


class LossSettings(PatternSettings, pattern="offsets_lost"):
    """The limits of `offsets_lost` that users may change."""

    present_seconds = seconds(
        DAY, "A nightly audit reports a loss once. Set less if partitions are committed again sooner."
    )


def consumption_troubles(
    found: Mapping[str, Iterable[Row]], retention_ms: int | None, changes: Sequence[ChangedLimit] = ()
) -> Iterator[Row]:
    """Yield rows of `diagnosis`. `found`: rows of the files of these names in `pipeline/sql/`.

    `retention_ms`: for how long brokers keep an offset; None: not known, and Kafka's default is assumed.
    """
    by_group: dict[tuple[int, str], list[Episode]] = {}
    stalls = list(found[NOT_CONSUMED.name])
    blocked = [row for row in stalls if row.state == BLOCKED.name]
    others = [row for row in stalls if row.state != BLOCKED.name]
    found = {**found, NOT_CONSUMED.name: others, BLOCKED.name: blocked}
    for name, columns, episodes_of in _SOURCES:
        for rows in _grouped(found[name], columns):
            key = rows[0].offsets_partition, rows[0].group_id
            by_group.setdefault(key, []).extend(episodes_of(rows, limits_of(changes, rows[0].group_id)))
    for rows in _grouped(found[RETENTION.name], "incarnation"):
        by_group.setdefault((rows[0].offsets_partition, rows[0].group_id), []).append(_retention(rows, retention_ms))
    for (partition, group_id), episodes in by_group.items():
        explain(episodes)
        off = limits_of(changes, group_id).off
        yield from (each.row(group_id, partition) for each in episodes if each.pattern not in off)


def _grouped(rows: Iterable[Row], columns: str) -> Iterator[list[Row]]:
    """Yield the rows that have these columns in common, of one group."""
    key = attrgetter("offsets_partition", "group_id", *columns.split())

    def order(row: Row) -> tuple[str, ...]:
        return tuple(map(str, key(row)))

    return (list(found) for _, found in groupby(sorted(rows, key=order), key=order))


def _episode(  # noqa: PLR0913, PLR0917 - of rows that have a client and partitions
    pattern: Pattern,
    rows: Sequence[Row],
    began: int,
    ended: int | None,
    recognized_at: int,
    offsets: Iterable[int | None],
    facts: dict[str, Any],
    **more: Any,  # noqa: ANN401
) -> Episode:
    """Return what one client does with some partitions from one time (ms) to another; None: it lasts."""
    first = rows[0]
    fields: dict[str, Any] = {
        "subject": Subject(
            first.client_id, first.client_host, first.instance_id, first.member_id, topics=_topics(rows)
        ),
        "count": len(rows),
        "last_seen": first.captured_ms if ended is None else ended,
        "evidence": some_offsets(offset for offset in offsets if offset is not None),
        "facts": {"partitions": _partitions(rows)} | facts,
    }
    return Episode(
        pattern,
        first_seen=began,
        recognized_at=recognized_at,
        ended_at=ended,
        incarnation=first.incarnation,
        **(fields | more),
    )


def _not_consumed(rows: Sequence[Row]) -> Episode:
    """Return what one member does not consume; `first_seen`: since when its first partition shows it."""
    first = rows[0]
    waits = first.evidence == MESSAGES_WAITING
    began = [max(_stands_since(row), row.waits_since) if waits else _stands_since(row) for row in rows]
    # That a member has stopped shows when the last of its partitions has.
    which = min if waits else max
    recognized_at = which(at + row.need_ms for at, row in zip(began, rows, strict=True))
    facts = {
        "committed": first.committed,
        "stands_ms": min(row.silent_ms for row in rows),
        "ahead_by": max((row.ahead_by for row in rows if row.ahead_by is not None), default=None),
        "lag": max((row.lag for row in rows if row.lag is not None), default=None),
        "ahead_groups": sorted({row.ahead_group for row in rows if row.ahead_group is not None}),
    }
    offsets = (row.acquired_offset for row in rows)
    return _episode(
        NOT_CONSUMED, rows, which(began), None, recognized_at, offsets, facts, probable_cause=first.evidence
    )


def _stalled(rows: Sequence[Row]) -> Episode:
    """Return what one member did not consume until a rebalance."""
    first = rows[0]
    began, ended = min(row.from_ms for row in rows), max(row.until_ms for row in rows)
    recognized_at = min(row.from_ms + row.need_ms for row in rows)
    facts = {
        "committed": first.committed,
        "ahead_by": max(row.ahead_by for row in rows),
        "ahead_groups": sorted({row.ahead_group for row in rows}),
        "began_ms": first.began_ms,
        "begun_ms": first.begun_ms,
    }
    offsets = (row.offset for row in rows)
    return _episode(NOT_CONSUMED, rows, began, ended, recognized_at, offsets, facts, probable_cause=MESSAGES_WAITING)


def _stale(rows: Sequence[Row], limits: Limits) -> Episode:
    """Return that one member commits its own old positions after handovers; present while it came often and lately."""
    times = sorted({row.jumped_ms for row in rows})
    is_present = len(times) > 1 and rows[0].captured_ms - times[-1] < limits[LossSettings.present_seconds]
    facts = {
        "handovers": len({row.acquired_offset for row in rows}),
        "amount": max(row.amount for row in rows),
        "last": [rows[-1].before_offset, rows[-1].after_offset],
    }
    offsets, ended = (row.at_offset for row in rows), None if is_present else times[-1]
    return _episode(STALE, rows, times[0], ended, times[0], offsets, facts, last_seen=times[-1])


def _blocked(rows: Sequence[Row]) -> Episode:
    """Return what the open transaction of one producer blocks."""
    members, producer = len({row.member_id for row in rows}), f"producer {rows[0].producer_id}"
    subject = Subject(members=members, topics=_topics(rows), what=producer)
    began = min(row.pending_since for row in rows)
    recognized_at = min(max(row.pending_since, _stands_since(row) + row.min_silence_ms) for row in rows)
    return _episode(
        BLOCKED, rows, began, None, recognized_at, (row.acquired_offset for row in rows), {}, subject=subject
    )


def _negative(rows: Sequence[Row]) -> Episode:
    """Return that one owner committed negative offsets: an alarm only where an offset had been committed before."""
    ended = None if any(row.until_ms is None for row in rows) else max(row.until_ms for row in rows)
    began = min(row.from_ms for row in rows)
    replaced = sorted(row.before_negative for row in rows if row.before_negative is not None)
    facts = {
        "is_of_member": rows[0].member_id is not None,
        "offsets": sorted({row.negative_offset for row in rows}),
        "replaced": replaced,
    }
    offsets, severity = (row.acquired_offset for row in rows), WARNING if replaced else INFO
    return _episode(NEGATIVE, rows, began, ended, began, offsets, facts, severity=severity)


def _retention(rows: Sequence[Row], known_ms: int | None) -> Episode:
    """Return that clients set how long the offsets of a group are kept: an alarm if brokers keep them for longer."""
    first, shortest = rows[0], min(row.retention_ms for row in rows)
    is_shorter = shortest < (OFFSETS_RETENTION_MS if known_ms is None else known_ms)
    members = {row.member_id for row in rows}
    one = Subject(first.client_id, first.client_host, first.instance_id, first.member_id)
    subject = (one if len(members) == 1 else Subject())._replace(members=len(members - {None}), topics=_topics(rows))
    began = min(row.first_ms for row in rows)
    is_assumed = is_shorter and known_ms is None
    facts = {"retention_ms": shortest, "assumed_ms": OFFSETS_RETENTION_MS if is_assumed else None}
    offsets, severity = (row.acquired_offset for row in rows), WARNING if is_shorter else INFO
    return _episode(RETENTION, rows, began, None, began, offsets, facts, subject=subject, severity=severity)


def _both_ways(rows: Sequence[Row]) -> Episode:
    """Return that one group id is used with subscribe() and with assign(); of several times with members, the last."""
    times = sorted({row.nth for row in rows})
    of_last = [row for row in rows if row.nth == times[-1]]
    first = of_last[0]
    last = first.captured_ms if first.until_ms is None else first.until_ms
    joined = min(row.from_ms for row in rows)
    facts = {
        "offsets": sorted({row.committed for row in of_last}),
        "commits": first.commits,
        "usual_ms": first.usual_ms,
        "from_ms": first.first_ms,
        "until_ms": first.last_ms,
        "joined_ms": first.from_ms,
        "subscribes": (first.subscribes or "").split(),
        "regex": first.regex,
    }
    recognized_at, offsets = (
        min(last, joined + 5 * first.usual_ms),
        (each for row in rows for each in (row.last_offset, row.from_offset)),
    )
    return _episode(BOTH_WAYS, of_last, joined, first.until_ms, recognized_at, offsets, facts, count=len(times))


def _losses(rows: Sequence[Row], limits: Limits) -> Iterator[Episode]:
    """Yield the losses of a topic's offsets, those that follow each other soon as one.

    They are over when each partition has been committed again, at once if no member reads the topic, and else after a
    day.
    """
    ordered = sorted(rows, key=lambda row: (row.jumped_ms, row.at_offset))
    for losses in together(
        ordered, lambda before, row: row.jumped_ms - before[-1].jumped_ms <= limits[AllSettings.calm_seconds]
    ):
        yield _loss(losses, limits)


def _loss(rows: Sequence[Row], limits: Limits) -> Episode:
    first, last = rows[0], rows[-1]
    is_over = first.cause == TOPIC_DELETED or first.is_unowned or all(row.followed == row.partitions for row in rows)
    ended = (
        max(row.followed_ms or row.jumped_ms for row in rows)
        if is_over
        else last.jumped_ms + limits[LossSettings.present_seconds]
    )
    return Episode(
        LOST,
        Subject(topics=(first.topic,)),
        sum(row.partitions for row in rows),
        first.jumped_ms,
        last.jumped_ms,
        first.jumped_ms,
        None if last.age_ms is None or (not is_over and last.age_ms < limits[LossSettings.present_seconds]) else ended,
        first.incarnation,
        probable_cause=first.cause,
        evidence=some_offsets(row.at_offset for row in rows),
        facts={
            "retention_ms": max((row.retention_ms for row in rows if row.retention_ms is not None), default=None),
            "assumed_ms": first.assumed_retention_ms,
            "is_unowned": first.is_unowned,
        },
    )


def _stands_since(row: Row) -> int:
    since: int = row.captured_ms - row.silent_ms
    return since


def _topics(rows: Iterable[Row]) -> tuple[str, ...]:
    return tuple(sorted({row.topic for row in rows}))


def _partitions(rows: Iterable[Row]) -> list[str]:
    by_topic = groupby(sorted(rows, key=lambda row: row.topic), key=lambda row: row.topic)
    return [f"{topic} {ranges_text(row.partition for row in of_topic)}" for topic, of_topic in by_topic]


def _not_consumed_words(episode: Episode) -> Words:
    """Return the words of `not_consumed`: a suspicion, because a client may work on one batch for long."""
    facts, one = episode.facts, episode.count == 1
    owner, what = who(episode), some(facts["partitions"])
    if not episode.is_present:
        return _did_not_consume(episode)
    if episode.probable_cause == MEMBER_STOPPED:
        stopped = f"the committed offsets of {what} have not moved for {duration_text(facts['stands_ms'])}"
        return f"{owner} has stopped: {stopped}, and other members of the group go on.", _LOOK
    up_to = "" if one else "up to "
    if facts["ahead_by"] is None:
        shown = f"{up_to}{number(facts['lag'], 'offset')} wait, by the end of the topic"
    else:
        shown = f"{some(facts['ahead_groups'])} read {up_to}{number(facts['ahead_by'], 'offset')} more"
    return f"{owner} does not seem to consume {what}: {_stands(episode)}; {shown}.", _LOOK


def _blocked_by_transaction_words(episode: Episode) -> Words:
    """Return the words of `blocked_by_transaction`."""
    does = "waits" if episode.count == 1 else "wait"
    sentence = (
        f"{some(episode.facts['partitions'])} {does} for an open transaction of {episode.subject.what}, which began "
        f"{lasted(episode)} before the capture: consumers ask for stable offsets, so a new owner does not start."
    )
    return sentence, "End the producer's process, or abort its transaction: see kip848 query DIR open_transactions."


def _offsets_lost_words(episode: Episode) -> Words:
    """Return the words of `offsets_lost`."""
    facts, cause = episode.facts, episode.probable_cause
    sentence = f"{_lost_what(episode)}, {_lost_why(episode)}."
    if cause == TOPIC_DELETED:
        return sentence, "Nothing, if it was meant. Consumers of a new topic of that name begin by auto.offset.reset."
    if facts["is_unowned"]:
        again = "Who subscribes to the topic again begins where auto.offset.reset says"
        return sentence, f"Nothing, if it was meant. {again}; kip848 offsets --at shows the offsets of before."
    own = f"{OWN_RETENTION} " if facts["retention_ms"] is not None else ""
    if not episode.is_present:
        return sentence, f"{own}See what was skipped or read again since: kip848 query DIR jumps."
    return (
        f"{sentence} An owner that starts now does so where auto.offset.reset says.",
        f"{own}If the group is to go on where it was, set its offsets: kip848 offsets shows them as they were before.",
    )


def _negative_offsets_words(episode: Episode) -> Words:
    """Return the words of `negative_offsets`: the member goes on where it is, only who begins then is concerned."""
    facts = episode.facts
    owner = who(episode) if facts["is_of_member"] else "A tool, or a client without a member id,"
    replaced = [str(each) for each in facts["replaced"]]
    in_place = f", in place of {some(replaced)}," if replaced else ""
    since = (
        f"since {first_time(episode)}" if episode.is_present else f"from {first_time(episode)} to {last_time(episode)}"
    )
    sentence = (
        f"{owner} committed {some([str(each) for each in facts['offsets']])} for {some(facts['partitions'])}{in_place} "
        f"{since}. Clients take a negative offset for none"
    )
    if not replaced:
        return f"{sentence}, so this is as if nothing had been committed.", "Nothing, if the partitions are idle."
    look = "Find out why the client commits before it knows its position: the version of its library, its own commits."
    if not episode.is_present:
        return f"{sentence}: who had begun then would have done so where auto.offset.reset says.", look
    return (
        f"{sentence}: who begins now does so where auto.offset.reset says.",
        f"{look} Before the next restart, set the offsets: kip848 offsets --at shows them as they were before.",
    )


def _client_retention_words(episode: Episode) -> Words:
    """Return the words of `client_retention`."""
    facts = episode.facts
    members = episode.subject.members or 0
    owner = who(episode) if members else "A client without a member id"
    asks = f"{owner} asks" if members <= 1 else f"{number(members, 'member')} ask"
    only = " only" if episode.severity == WARNING else ""
    sentence = (
        f"{asks} the broker to keep commits of {some(facts['partitions'])} for "
        f"{duration_text(facts['retention_ms'])}{only}: a pause of the group that is longer removes them, and it then "
        "begins where auto.offset.reset says"
    )
    return f"{sentence}{_assuming(episode)}.", OWN_RETENTION


def _subscribe_and_assign_words(episode: Episode) -> Words:
    """Return the words of `subscribe_and_assign`: both sides, and the times of each."""
    facts = episode.facts
    what, begun = some(facts["partitions"]), utc_text(utc(facts["joined_ms"]))
    since = "since then" if episode.is_present else f"until they left at {last_time(episode)}"
    again = f" This happened {number(episode.count, 'time')}." if episode.count > 1 else ""
    sentence = (
        f"This group id is used with subscribe() and with assign(): a client without a member id committed {what} "
        f"about every {duration_text(facts['usual_ms'])}, {number(facts['commits'], 'time')} from "
        f"{utc_text(utc(facts['from_ms']))} to {utc_text(utc(facts['until_ms']))}, while the group had no members. "
        f"{who(episode)}, which subscribes to {_subscribed(facts)}, joined at {begun}, and nobody has "
        f"committed {what} {since}.{again}"
    )
    return sentence, (
        "Kafka refuses the commits of a client without a member id while the group has members: give the client that "
        "assigns its partitions itself a group.id of its own, and set its offsets there. When it restarts, it goes on "
        f"from {_committed(facts['offsets'])}, whatever it has read since."
    )


def _stale_commits_words(episode: Episode) -> Words:
    """Return the words of `stale_commits`."""
    facts = episode.facts
    before, after = facts["last"]
    at = first_time(episode)
    when = f"at {at}" if episode.first_seen == episode.last_seen else f"from {at} to {last_time(episode)}"
    did = f"{number(episode.count, 'time')} in {number(facts['handovers'], 'handover')}"
    sentence = (
        f"{who(episode)} commits old positions when it gets partitions back: {did} of "
        f"{some(facts['partitions'])}, {when}, its first commit there was the last one of its own stay before, below "
        f"what others had committed between (the last time {after} in place of {before}). At least the offsets between "
        f"are read again each time, up to {number(facts['amount'], 'offset')}."
    )
    return sentence, (
        "The client keeps its positions over a rebalance: clear them when partitions are revoked or lost, and begin at "
        "the committed offset when they are assigned. Update its library, or mend its own handling of offsets."
    )


def _did_not_consume(episode: Episode) -> Words:
    """Return the words of what a rebalance ended."""
    facts = episode.facts
    up_to = "" if episode.count == 1 else "up to "
    offset = f" {facts['committed']}" if episode.count == 1 else "s"
    begun = "" if facts["begun_ms"] is None else f"began with the rebalance at {utc_text(utc(facts['begun_ms']))}, and "
    sentence = (
        f"{who(episode)} did not consume {some(facts['partitions'])} for {lasted(episode)}: the committed "
        f"offset{offset} did not move from {first_time(episode)} to {last_time(episode)}, while "
        f"{some(facts['ahead_groups'])} read {up_to}{number(facts['ahead_by'], 'offset')} more. It {begun}ended with "
        f"the rebalance at {utc_text(utc(facts['began_ms']))}."
    )
    return sentence, (
        "Look at the log of this client from then: a fetch that hangs or a pause() without resume() ends with a "
        "rebalance, as each one fetches anew. It may come again: update the client's library, or restart the member "
        "when it does."
    )


def _stands(episode: Episode) -> str:
    offset = episode.facts["committed"]
    one = "" if offset is None else f" {offset}"
    committed = f"the committed offset{one} has" if episode.count == 1 else "the committed offsets have"
    stands_ms, waits_ms = episode.facts["stands_ms"], episode.last_seen - episode.first_seen
    # Messages may have waited since before the topic was seen to end behind the offset.
    waits = f"; messages have waited for ≥ {duration_text(waits_ms)}" if waits_ms < stands_ms else ""
    return f"{committed} not moved for {duration_text(stands_ms)}{waits}"


def _lost_what(episode: Episode) -> str:
    (topic,) = episode.subject.topics or ("",)
    return f"Committed offsets of {number(episode.count, 'partition')} of {topic} were removed at {last_time(episode)}"


def _lost_why(episode: Episode) -> str:
    """Return why offsets were removed, with what shows it: all but the client's own retention is a presumption."""
    retention_ms, is_unowned = episode.facts["retention_ms"], episode.facts["is_unowned"]
    if episode.probable_cause == "expired" and retention_ms is not None:
        return f"because their client had asked the broker to keep them for {duration_text(retention_ms)} only"
    kept = "the topic is still there, as other offsets of it were not removed, or members go on to own it"
    allowed = ", and Kafka lets it, because no member subscribes to the topic" if is_unowned else ""
    nothing_else = "the log has no other offset of it"
    whys = {
        TOPIC_DELETED: "the topic was deleted",
        "expired": "they had expired",
        "expired_or_topic_deleted": "they had expired, or the topic was deleted",
        "deleted_or_topic_deleted": f"a tool did it{allowed}, or the topic was deleted: {nothing_else}",
    }
    why = whys.get(episode.probable_cause or "", f"a tool did it{allowed}: {kept}")
    return f"presumably because {why}{_assuming(episode)}"


def _assuming(episode: Episode) -> str:
    """Return what is assumed of the brokers' retention; empty if it is known, or if nothing depends on it."""
    assumed_ms = episode.facts["assumed_ms"]
    if assumed_ms is None:
        return ""
    return f"; this assumes that brokers keep offsets for {duration_text(assumed_ms)} (--offsets-retention)"


def _subscribed(facts: Mapping[str, Any]) -> str:
    if facts["regex"]:
        return f"the expression {facts['regex']}"
    return some(facts["subscribes"]) or "other topics"


def _committed(offsets: Sequence[int]) -> str:
    return f"{offsets[0]}" if len(offsets) == 1 else f"its last commits ({offsets[0]} to {offsets[-1]})"


NOT_CONSUMED: Final = Pattern(
    "not_consumed",
    _not_consumed_words,
    "The committed offset of an owned partition has not moved for `min_silence_seconds`, three times "
    "the longest time between its advances, and three times the usual time between its owner's commits; and another "
    "group has read further, the topic ended further on before, or all partitions of its owner stopped at once. What a "
    "rebalance ended, while another group read on, is a past row.",
    limits=StallSettings.by_name,
)
BLOCKED: Final = Pattern(
    "blocked_by_transaction",
    _blocked_by_transaction_words,
    "An open transaction has written the committed offset of an owned partition, which has "
    "not moved for the smallest silence of not_consumed.",
    severity=ERROR,
)
LOST: Final = Pattern(
    "offsets_lost",
    _offsets_lost_words,
    "Committed offsets were removed while their group lives on. That lasts until each of these "
    "partitions has a commit again, not at all if the topic was deleted, at most for `present_seconds`.",
    limits=LossSettings.by_name,
)
NEGATIVE: Final = Pattern(
    "negative_offsets",
    _negative_offsets_words,
    "A negative offset was committed, which clients take for none. It is a warning if it replaced "
    "a committed offset, and lasts until something else is committed.",
    expected="No committed offset is replaced by a negative one, which is none",
    about="group with committed offsets",
)
RETENTION: Final = Pattern(
    "client_retention",
    _client_retention_words,
    "The last commits of a group say how long brokers keep them, because its client asks for it. "
    "It is a warning if that is shorter than brokers keep other commits.",
    expected="No client asks the brokers to keep its committed offsets for less time than others",
    about="group with committed offsets",
)
BOTH_WAYS: Final = Pattern(
    "subscribe_and_assign",
    _subscribe_and_assign_words,
    "While a group had no members, a client committed a topic five times or more, until the "
    "first member joined; nobody has committed it since, for five times the usual time between these commits and at "
    "least a minute, and no member subscribes to it. It ends when the members leave.",
    expected="No group id is used with subscribe() and with assign()",
    about="group with committed offsets",
)
STALE: Final = Pattern(
    "stale_commits",
    _stale_commits_words,
    "The first commit of a member that got a partition back is the last one of its own stay before, "
    "below what was committed between. It is present if it came at several times, the last one at most "
    "`offsets_lost.present_seconds` ago.",
    expected="No member commits old positions of its own after a handover",
    about="group with committed offsets",
)

_SOURCES: Final[tuple[tuple[str, str, Callable[[Sequence[Row], Limits], Iterable[Episode]]], ...]] = (
    (NOT_CONSUMED.name, "incarnation state evidence member_id", lambda rows, _: [_not_consumed(rows)]),
    (BLOCKED.name, "incarnation evidence producer_id", lambda rows, _: [_blocked(rows)]),
    ("past_stalls", "incarnation member_id offset", lambda rows, _: [_stalled(rows)]),
    (STALE.name, "incarnation member_id", lambda rows, limits: [_stale(rows, limits)]),
    ("lost_offsets", "incarnation topic cause", _losses),
    (NEGATIVE.name, "incarnation owner member_id", lambda rows, _: [_negative(rows)]),
    (BOTH_WAYS.name, "topic", lambda rows, _: [_both_ways(rows)]),
)
"""Names of rows, what those of an episode have in common besides their group, and what makes episodes of them."""

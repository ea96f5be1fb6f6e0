"""The pattern `coordinator_silent`: members owe an answer for longer than their sessions last, and nothing happens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kip848_records.kinds import CONSUMER, STREAMS
from kip848_records.replay.diagnosis.episodes import Episode, Subject, some_offsets
from kip848_records.replay.diagnosis.limits import MINUTE, PatternSettings, seconds
from kip848_records.replay.diagnosis.pattern import Pattern
from kip848_records.replay.group.known_history import RIGHT_CENSORED
from kip848_records.replay.group.vocabulary import BEHIND, NOT_READY, REVOKING, UNKNOWN, WAITING
from kip848_records.times import utc, utc_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kip848_records.replay.diagnosis.group_history import GroupHistory
    from kip848_records.replay.diagnosis.pattern import Words


class Settings(PatternSettings, pattern="coordinator_silent"):
    """The limits of `coordinator_silent` that users may change."""

    silent_seconds = seconds(
        2 * MINUTE,
        "Sessions end after 45 s: a coordinator that works has removed the member. More if the brokers allow "
        "longer sessions.",
    )


def coordinator_silent(history: GroupHistory) -> Iterator[Episode]:
    """Yield a row if the group's coordinator did not remove members that do not answer.

    It counts only if the partition has no later record, or if all members that wait for no other owe an answer.
    """
    limits, captured_at = history.limits, history.captured_at
    state = history.rows.state
    if state is None or state.state == NOT_READY:
        return
    timeouts = {stay.member_id: stay.rebalance_timeout for stay in history.stays if stay.left_at is None}
    there = [row for row in history.rows.unsettled if row.history == RIGHT_CENSORED]
    owing = []
    for row in there:
        if row.is_classic or row.group_type not in {CONSUMER, STREAMS} or row.from_at is None:
            continue
        allowed = limits[Settings.silent_seconds]
        if row.state == REVOKING:
            allowed += timeouts.get(row.member_id) or captured_at
        elif row.state not in {BEHIND, UNKNOWN}:
            continue
        if captured_at - row.from_at > allowed:
            owing.append((row.from_at + allowed, row))
    if not owing:
        return
    recognized_at = min(at for at, _ in owing)
    ended_at = history.partition_last_at
    is_quiet = ended_at is not None and ended_at <= recognized_at
    if not is_quiet and len(owing) < sum(row.state != WAITING for row in there):
        return
    rows = [row for _, row in owing]
    ids = {row.member_id for row in rows}
    stays = [stay for stay in history.stays if stay.left_at is None and stay.member_id in ids]
    is_newest = ended_at is not None and history.newest_at is not None and not history.is_copy_old(ended_at)
    cause = "coordinator_does_not_act"
    if is_quiet or ended_at is None:
        cause = "broker_hangs" if is_newest else "broker_hangs_or_old_copy"
    clients = tuple(sorted({stay.client_id for stay in stays if stay.client_id is not None}))
    yield Episode(
        PATTERN,
        Subject(what=f"partition {history.partition}", members=len(rows), clients=clients[:20]),
        len(rows),
        min(row.from_at for row in rows),
        captured_at,
        recognized_at,
        None,
        history.newest_incarnation,
        evidence=some_offsets(row.from_offset for row in rows),
        members=frozenset(),
        probable_cause=cause,
    )


def _words(episode: Episode) -> Words:
    """Return the words of `coordinator_silent`."""
    members, them = ("1 member has", "it") if episode.count == 1 else (f"{episode.count} members have", "them")
    owe = f"Since {utc_text(utc(episode.first_seen))} {members} not answered, for longer than a session lasts"
    step = "Look at the broker that leads this partition of __consumer_offsets."
    if episode.probable_cause == "coordinator_does_not_act":
        return f"{owe}, and the coordinator has not removed {them}, although it has written other records since.", step
    sentence = f"{owe}, and the coordinator does nothing."
    if episode.probable_cause == "broker_hangs":
        return f"{sentence} The broker hangs.", step
    return (
        f"{sentence} The broker hangs, or this copy of the partition is older than the capture.",
        "Compare the files of this partition on other brokers first: their last records must have the same time.",
    )


PATTERN: Final = Pattern(
    "coordinator_silent",
    _words,
    "Members have not answered for `silent_seconds`, and are still members.",
    find=coordinator_silent,
    limits=Settings.by_name,
    expected="The coordinator acts when a member does not answer",
    about="consumer or streams group",
)

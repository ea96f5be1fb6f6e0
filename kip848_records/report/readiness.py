"""What `kip848 explain` says about a broker that loads the group, and about a classic group's upgrade."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.text import Text

from kip848_records.machine.paths import with_page_paths
from kip848_records.protocol.messages.classic import CONNECT_PROTOCOL_TYPE
from kip848_records.replay.classic import upgrade
from kip848_records.replay.refusals import FIRST_WITH_STREAMS
from kip848_records.report.group_history import Incarnation
from kip848_records.text import client_text, count_text, printable

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from kip848_records.queries.tables import Row
    from kip848_records.report.group_history import GroupHistory

_UPGRADE_PAGE: Final = "docs/groups/migration.md#can-this-group-be-upgraded"
_LOAD_PAGE: Final = "docs/runbook.md#loadable_records"
_STOP: Final = "stop all members, then start them with group.protocol=consumer: offsets stay"
_MEMBERS_SHOWN: Final = 5

REASONS: Final = {
    upgrade.DUPLICATE_INSTANCE: (
        "two members have the same instance id, and no broker can load the record",
        "give each member its own group.instance.id",
    ),
    upgrade.DUPLICATE_MEMBER: (
        "a member id occurs twice, and no broker can load the record",
        "delete the group: no client can mend the record",
    ),
    upgrade.PROTOCOL_TYPE: ("its protocol type is not consumer", "leave it: such groups have no other protocol"),
    upgrade.MALFORMED_ASSIGNMENT: ("an assignment is malformed", _STOP),
    upgrade.ASSIGNOR_USER_DATA: ("its assignor adds data of its own to assignments", _STOP),
    upgrade.MALFORMED_SUBSCRIPTION: (
        "a subscription lacks a field of its version",
        "replace the clients that write it, or stop all members, then start them with the new protocol",
    ),
    upgrade.NO_PROTOCOL: ("it has members, but no assignor", _STOP),
    upgrade.STREAMS_APPLICATION: (
        "it is an application of Kafka Streams",
        f"stop all members, then start them with group.protocol=streams, on brokers from {FIRST_WITH_STREAMS} on",
    ),
}
"""The reasons in `upgradable_reason`, each as text, with what to do."""


def refused_records(group: GroupHistory) -> Iterator[Text]:
    """Yield the records for which a broker does not load the group's partition."""
    rows = group.rows("refused_records")
    for row in rows:
        bug = f", before the fix of {row.known_bug}," if row.known_bug else ""
        whose = "its record" if row.group_id == group.group_id else f"a record of group {printable(row.group_id)}"
        yield Text(
            f"\nKafka {row.releases}{bug} cannot load partition {row.partition} of __consumer_offsets, and with it "
            f"none of its groups: {whose} at offset {row.at_offset} is refused: {row.seen}"
        )
        if not row.is_proven:
            yield Text("  other releases load it, or earlier records are missing here")
    if rows:
        more = rows[0].total - len(rows)
        yield Text(f"{f'  and {more:,} more; ' if more > 0 else '  '}runbook  {with_page_paths(_LOAD_PAGE)}")


def readiness(group: GroupHistory) -> Iterator[Text]:
    """Yield whether a classic group of consumers can be upgraded to the consumer protocol; nothing for other groups."""
    for row in group.rows("upgrade_now"):
        if row.protocol_type == CONNECT_PROTOCOL_TYPE:
            continue
        yield Text(f"\n{upgrade_text(row.upgradable, row.members)}")
        yield from (Text(f"  {reason}") for reason in upgrade_reasons(row.upgradable_reason))
        yield from _malformed(group, row)
        if row.upgradable:
            yield Text("  the broker's policy and its largest group size are not in the log")
        yield Text(f"  see {with_page_paths(_UPGRADE_PAGE)}")


def upgrade_text(upgradable: bool | None, members: int | None) -> str:  # noqa: FBT001 - a column
    """Return whether a classic group can be upgraded, by its row of `group_state`."""
    if upgradable is None:
        verdict = "unknown, its last record is lost or unreadable"
    elif not upgradable:
        verdict = "a broker refuses a consumer member"
    else:
        verdict = "a consumer member can join, and converts the group" if members else "a consumer member replaces it"
    return f"Upgrade to the consumer protocol: {verdict}"


def upgrade_reasons(upgradable_reason: str | None) -> list[str]:
    """Return why a classic group cannot be upgraded, each reason with what to do."""
    reasons = [each for each in advised((upgradable_reason or "").split(", ")) if each in REASONS]
    return [". ".join(text[0].upper() + text[1:] for text in REASONS[each]) for each in reasons]


def advised(reasons: Collection[str]) -> list[str]:
    """Return the reasons that need advice: the data that the assignor of Kafka Streams adds needs none of its own."""
    is_streams = upgrade.STREAMS_APPLICATION in reasons
    return [each for each in reasons if not (is_streams and each == upgrade.ASSIGNOR_USER_DATA)]


def _malformed(group: GroupHistory, row: Row) -> Iterator[Text]:
    members = group.rows("malformed_members", Incarnation(row.partition, row.incarnation), generation=row.generation)
    for member in members[:_MEMBERS_SHOWN]:
        client = client_text(member.client_id, member.client_host, member.instance_id)
        errors = [
            f"{name}: {error}"
            for name, error in (("subscription", member.subscription_error), ("assignment", member.assignment_error))
            if error is not None
        ]
        if member.user_data_bytes:
            errors.append(f"assignment: {count_text(member.user_data_bytes, 'byte')} of its assignor")
        yield Text(f"  {printable(member.member_id)} ({client}), {'; '.join(errors)}")
    if len(members) > _MEMBERS_SHOWN:
        yield Text("  and others: see classic_member")

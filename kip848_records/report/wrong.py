"""What else is wrong with a group, from any table: rows that cannot be decoded, contradictions, a mixed group."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from rich.text import Text

from kip848_records.report.group_sections import client_of
from kip848_records.report.terminal import wrapped
from kip848_records.text import count_text, names_text, printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kip848_records.report.group_history import GroupHistory, Incarnation

_NAMED: Final = 5
_ANOMALIES: Final = {
    "two_owners": "a partition or task had two owners at once",
    "epoch_went_back": "an epoch or generation went back",
    "member_epoch_ahead": "a member was ahead of the group's epoch",
    "assignment_ahead": "the assignment epoch was ahead of the group's epoch",
    "target_overlap": "a partition was in two targets",
    "names_and_regex": "a member subscribed by names and by an expression",
    "assignor_versions": "a classic member's assignors had impossible versions",
}


def also_wrong(group: GroupHistory) -> Iterator[Text]:
    """Yield a line for each kind of damage or contradiction in the group's records; nothing if there is none."""
    lines = [*_quarantined(group), *_contradictions(group)]
    if lines:
        yield Text("\nAlso wrong with its records:")
        yield from (Text(f"  {line}") for line in lines)


def mixed(members: Sequence[dict[str, Any]]) -> Iterator[Text]:
    """Yield which members of a consumer group still use the classic protocol; nothing if all use one protocol."""
    classic = [row for row in members if row["is_classic"]]
    if not classic or len(classic) == len(members):
        return
    names = [client_of(row) or row["member_id"] for row in classic]
    named = names_text([*map(printable, names)], _NAMED)
    still = f"{len(classic):,} of {count_text(len(members), 'member')}"
    yield Text("")
    yield wrapped(
        f"A mixed group: {still} still {'uses' if len(classic) == 1 else 'use'} the classic protocol: {named}"
    )
    yield Text("  next     Finish the roll to group.protocol=consumer")


def needed_topics(group: GroupHistory, incarnation: Incarnation) -> Iterator[Text]:
    """Yield the topics that the topology of a streams group needs, by what they are for."""
    for row in group.rows("topology_now", incarnation):
        topology: dict[str, Any] = json.loads(row.value)
        needed: dict[str, list[str]] = {"source": [], "source by expression": [], "repartition": [], "changelog": []}
        for part in topology.get("subtopologies") or ():
            needed["source"] += part.get("sourceTopics") or ()
            needed["source by expression"] += part.get("sourceTopicRegex") or ()
            needed["repartition"] += [topic["name"] for topic in part.get("repartitionSourceTopics") or ()]
            needed["changelog"] += [topic["name"] for topic in part.get("stateChangelogTopics") or ()]
        yield Text("\nTopics that its topology needs; the log does not show which of them is missing:")
        for what, topics in needed.items():
            if names := sorted(set(topics)):
                yield Text(f"  {what:<11}  {names_text([*map(printable, names)], 2 * _NAMED)}")
        yield Text("  Brokers create repartition and changelog topics once all sources exist")


def _quarantined(group: GroupHistory) -> Iterator[str]:
    for row in group.rows("quarantine_of_group"):
        rows = count_text(row.found, "row")
        where = f"the first at offset {row.first_offset} of partition {row.in_partition}"
        yield f"{rows} could not be decoded ({where}): {printable(row.reason)}; see quarantine"


def _contradictions(group: GroupHistory) -> Iterator[str]:
    for row in group.rows("anomalies_of_group"):
        what = _ANOMALIES.get(row.kind, row.kind.replace("_", " "))
        proven = "" if row.is_proven else "; records are missing here, so this may not be so"
        where = f"last at offset {row.last_offset} of partition {row.in_partition}"
        yield f"{what}, {count_text(row.found, 'time')} ({where}){proven}; see anomaly"

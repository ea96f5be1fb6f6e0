"""What `kip848 explain` adds for each kind of group: generations, workers, tasks or shared partitions, and limits."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from rich.text import Text

from kip848_records.kinds import CLASSIC, CONNECT, KINDS, SHARE, STREAMS, kind_of
from kip848_records.machine.paths import with_page_paths
from kip848_records.replay.group.vocabulary import OPEN
from kip848_records.report.terminal import fitted_table, wrapped
from kip848_records.report.units import CONNECTOR, units_text
from kip848_records.text import (
    client_text,
    count_text,
    duration_text,
    lasting_text,
    names_text,
    printable,
    ranges_text,
    span_text,
)
from kip848_records.times import time_text
from kip848_records.wording import cause_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kip848_records.queries.tables import Row
    from kip848_records.report.group_history import GroupHistory, Incarnation

_SHOWN: Final = 100
_NAMES_SHOWN: Final = 5
_TASKS_SHOWN: Final = 20


def kind_of_incarnation(group: GroupHistory, incarnation: Incarnation) -> str:
    """Return the kind of a group in one of its incarnations: a key of `KINDS`."""
    (last,) = group.rows("last_state", incarnation)
    return kind_of(last.group_type, last.protocol_type)


def kind_of_group(group: GroupHistory, incarnation: Incarnation, kind: str) -> Iterator[Text]:
    """Yield what only groups of this kind have; nothing for a consumer group."""
    if not KINDS[kind].has_epochs:
        yield from _classic(group, incarnation)
    elif kind == SHARE:
        yield from _share(group, incarnation)
    elif kind == STREAMS:
        yield from _streams(group, incarnation)
    limit, page = KINDS[kind].limit, KINDS[kind].page
    if limit is not None and page is not None:
        yield Text(f"\n{limit}. See {with_page_paths(page)}")


def one_generation(group: GroupHistory, incarnation: Incarnation, epoch: int) -> Iterator[Text]:
    """Yield a generation, and what its members got; nothing if the group has no such generation."""
    rows = group.rows("generations", incarnation, epoch=epoch)
    if rows:
        yield from _generations(rows, CONNECT if rows[0].protocol_type == CONNECT else CLASSIC)
        yield from _members(group, incarnation, rows[0], "the generation")


def _classic(group: GroupHistory, incarnation: Incarnation) -> Iterator[Text]:
    rows = group.rows("generations", incarnation, epoch=None)
    if not rows:
        return
    yield from _members(group, incarnation, rows[0], "the last generation")
    yield from _without_owner(group, incarnation)
    if any(row.protocol_type == CONNECT for row in rows):
        yield from _without_worker(group, incarnation)


def _members(group: GroupHistory, incarnation: Incarnation, last: Row, of_which: str) -> Iterator[Text]:
    """Yield the members or workers of a generation."""
    if last.protocol_type == CONNECT:
        yield from _workers(group, incarnation, last)
    else:
        members = group.rows("classic_members_now", incarnation, generation=last.generation)
        yield from _classic_members(members, of_which)


def _generations(rows: Sequence[Row], kind: str) -> Iterator[Text]:
    members, units = f"{KINDS[kind].member}s", "units" if kind == CONNECT else KINDS[kind].units
    yield Text("\nGeneration:")
    cells = [
        (
            row.generation,
            time_text(row.completed_ms),
            cause_text(row.cause, kind),
            row.mode,
            row.rounds,
            span_text(row.sync_ms),
            row.members,
            row.units,
            row.moved,
            (row.ended_by or ("ongoing" if row.is_present else "not seen")).replace("_", " "),
        )
        for row in reversed(rows)
    ]
    titles = (
        "generation",
        "completed at",
        "cause",
        "mode",
        "rounds",
        "sync time",
        members,
        units,
        "moved",
        "ended by",
    )
    right = ("rounds", "sync time", members, units, "moved")
    yield from fitted_table(*titles, rows=cells, right=right)


def _classic_members(rows: Sequence[Row], of_which: str) -> Iterator[Text]:
    if not rows:
        return
    cut = f", the first {_SHOWN}" if len(rows) > _SHOWN else ""
    yield Text(f"\nMembers of {of_which}{cut}:")
    cells = [
        (
            client_text(row.client_id, row.client_host, row.instance_id),
            "leader" if row.is_leader else "",
            _has(row),
            row.member_id,
        )
        for row in rows[:_SHOWN]
    ]
    yield from fitted_table("client", "", "has", "member", rows=cells)


def _has(row: Row) -> str:
    """Return what a member has: partitions, copies of tasks of Kafka Streams, or the URL of Schema Registry."""
    tasks = [printable(task) for task in row.standby_tasks or () if task]
    copies = f"standby tasks {names_text(tasks, _TASKS_SHOWN)}" if tasks else ""
    url = f"announces {printable(row.url)}" if row.url is not None else ""
    unread = f"could not be read: {printable(row.undecoded)}" if row.undecoded is not None else ""
    found = [text for text in (_topics(row.assigned), copies, url, unread) if text]
    return "; ".join(found) or "nothing"


def _topics(assigned: Sequence[dict[str, Any]] | None) -> str:
    return ", ".join(f"{each['topic']} {ranges_text(each['partitions'])}" for each in assigned or () if each)


def _workers(group: GroupHistory, incarnation: Incarnation, last: Row) -> Iterator[Text]:
    rows = group.rows("workers_now", incarnation, generation=last.generation)
    if not rows:
        return
    yield Text(f"\nWorkers{f', the first {_SHOWN}' if len(rows) > _SHOWN else ''}:")
    cells = []
    for row in rows[:_SHOWN]:
        units = row.running
        tasks = [task for unit in units or () if unit for task in unit["tasks"] or ()]
        connectors = tasks.count(CONNECTOR)
        cells.append(
            (
                row.worker,
                "leader" if row.member_id == last.leader else "",
                None if units is None else connectors,
                None if units is None else len(tasks) - connectors,
                row.config_offset,
                row.worker_config_offset,
                _runs(units),
            )
        )
    titles = ("worker", "", "connectors", "tasks", "config offset", "joined with", "runs")
    yield from fitted_table(*titles, rows=cells, right=titles[2:-1])
    for url, members in Counter(row.worker_url for row in rows if row.is_shared).items():
        if members > 1:
            yield Text("")
            yield wrapped(
                f"{members} workers announce the URL {printable(url)}: they cannot forward requests to each other. "
                "Give each its own rest.advertised.host.name; in dedicated MirrorMaker set "
                "dedicated.mode.enable.internal.rest"
            )


def _runs(units: Sequence[dict[str, Any]] | None) -> str:
    """Return the names of the first connectors of which a worker runs a part."""
    if units is None:
        return "no assignment"
    named = [units_text(CONNECT, unit["connector"], unit["tasks"]) for unit in units if unit]
    more = f"; and {count_text(len(named) - _NAMES_SHOWN, 'more connector')}" if len(named) > _NAMES_SHOWN else ""
    return "; ".join(named[:_NAMES_SHOWN]) + more


def _without_owner(group: GroupHistory, incarnation: Incarnation) -> Iterator[Text]:
    """Yield the partitions that the last generations took from a member and gave to none."""
    rows = group.rows("partitions_without_owner", incarnation)
    if not rows:
        return
    yield Text("\nAssigned to no member, since a generation took them from one:")
    cells = [
        (
            f"{row.topic} {ranges_text(map(int, row.numbers.split()))}",
            _lasted(group.ago(row.released_ms), None),
            time_text(row.released_ms),
            client_text(row.client_id, row.client_host, row.instance_id) or row.from_member,
        )
        for row in rows
    ]
    yield from fitted_table("partitions", "for", "since", "last owner", rows=cells)


def _without_worker(group: GroupHistory, incarnation: Incarnation) -> Iterator[Text]:
    rows = group.rows("units_without_worker", incarnation, open=OPEN)
    if not rows:
        return
    yield Text(f"\nWithout a worker{_cut(rows)}:")
    cells = [
        (
            row.connector,
            "connector" if row.task == CONNECTOR else f"task {row.task}",
            _lasted(group.ago(row.released_ms), row.unowned_max_ms),
            (row.reason or "").replace("_", " "),
            time_text(row.released_ms),
            time_text(row.expected_ms),
            row.worker,
        )
        for row in rows[:_SHOWN]
    ]
    yield from fitted_table("connector", "", "for", "reason", "since", "expected at", "last worker", rows=cells)


def _cut(rows: Sequence[Row]) -> str:
    return f", the first {_SHOWN} of {len(rows):,}" if len(rows) > _SHOWN else ""


def _lasted(at_least_ms: int | None, at_most_ms: int | None) -> str:
    """Return how long a unit has had no worker; the log shows a bound only."""
    if at_least_ms is not None:
        return span_text(at_least_ms, is_minimum=True)
    return span_text(at_most_ms) if at_most_ms is None or at_most_ms < 0 else f"≤ {duration_text(at_most_ms)}"


def _share(group: GroupHistory, incarnation: Incarnation) -> Iterator[Text]:
    for row in group.rows("share_partitions_now", incarnation):
        lasted = lasting_text(group.ago(row.from_ms), is_minimum=True)
        partitions = "" if row.partitions is None else f" {ranges_text(row.partitions)}"
        yield Text(f"\nTopic {printable(row.topic)}{partitions}: {row.state}{lasted}")
    for row in group.rows("share_partitions_free", incarnation):
        lasted = lasting_text(group.ago(row.free_ms), is_minimum=True)
        partitions = ranges_text(map(int, row.numbers.split()))
        yield Text(f"\nNo member has {printable(row.topic)} {partitions}{f',{lasted}' if lasted else ''}")


def _streams(group: GroupHistory, incarnation: Incarnation) -> Iterator[Text]:
    rows = group.rows("tasks_without_owner", incarnation, open=OPEN)
    if not rows:
        return
    yield Text(f"\nActive tasks without an owner{_cut(rows)}:")
    free = [
        (
            units_text(STREAMS, row.subtopology_id, [row.task]),
            _lasted(group.ago(row.released_ms), None),
            time_text(row.released_ms),
            row.from_member,
        )
        for row in rows[:_SHOWN]
    ]
    yield from fitted_table("task", "for", "since", "last owner", rows=free)

"""What `kip848 explain` adds for each kind of group: the members of a classic group, and limits."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from rich.text import Text

from kip848_records.kinds import CLASSIC, KINDS, kind_of
from kip848_records.machine.paths import with_page_paths
from kip848_records.report.columns import Column
from kip848_records.report.group_section import table
from kip848_records.report.group_sections import GENERATIONS, WORKERS, client_of
from kip848_records.report.terminal import wrapped
from kip848_records.text import names_text, printable, ranges_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kip848_records.report.group_history import GroupHistory, Incarnation

    Fields = dict[str, Any]

_SHOWN: Final = 100
_TASKS_SHOWN: Final = 20


def kind_of_incarnation(group: GroupHistory, incarnation: Incarnation) -> str:
    """Return the kind of a group in one of its incarnations: a key of `KINDS`."""
    (last,) = group.rows("last_state", incarnation)
    return kind_of(last.group_type, last.protocol_type)


def limit_of_kind(kind: str) -> Iterator[Text]:
    """Yield what the log does not show of groups of this kind, if there is such a thing."""
    limit, page = KINDS[kind].limit, KINDS[kind].page
    if limit is not None and page is not None:
        yield Text(f"\n{limit}. See {with_page_paths(page)}")


def one_generation(group: GroupHistory, incarnation: Incarnation, epoch: int, common: Fields) -> Iterator[Text]:
    """Yield a generation, and what its members got; nothing if the group has no such generation."""
    is_connect = False
    for section in group.with_rows([GENERATIONS, WORKERS]):
        rows = [row | common for row in group.section(section, incarnation, "generation = :epoch", epoch=epoch)]
        title = "Generation" if section is GENERATIONS else ""
        yield from section._replace(shown=_SHOWN).terminal(rows, common["kind"], title)
        is_connect = section is WORKERS and bool(rows)
    if not is_connect:
        yield from classic_members(group, incarnation, "the generation", epoch)


def classic_members(
    group: GroupHistory, incarnation: Incarnation, of_which: str, epoch: int | None = None
) -> Iterator[Text]:
    """Yield the members of a generation of a classic group, by default of the last one, with what each got."""
    rows = group.rows("classic_members", incarnation, epoch=epoch)
    if not rows:
        return
    cut = f", the first {_SHOWN}" if len(rows) > _SHOWN else ""
    yield Text(f"\nMembers of {of_which}{cut}:")
    yield from table(_CLASSIC_MEMBERS, [row._asdict() for row in rows[:_SHOWN]], CLASSIC)


def _has(row: Fields) -> str:
    """Return what a member has: partitions, copies of tasks of Kafka Streams, or the URL of Schema Registry."""
    assigned = ", ".join(f"{each['topic']} {ranges_text(each['partitions'])}" for each in row["assigned"] or () if each)
    tasks = names_text([task for task in row["standby_tasks"] or () if task], _TASKS_SHOWN)
    others = {"standby tasks": tasks or None, "announces": row["url"], "could not be read:": row["undecoded"]}
    found = [assigned, *(f"{what} {text}" for what, text in others.items() if text is not None)]
    return "; ".join(filter(None, found)) or "nothing"


_CLASSIC_MEMBERS: Final = (
    Column("client", client_of),
    Column("leader", lambda row: "yes" if row["is_leader"] else ""),
    Column("has", _has),
    Column("member", "member_id"),
)


def shared_urls(workers: Sequence[Fields]) -> Iterator[Text]:
    """Yield what to do about workers that announce one URL."""
    for url, members in Counter(row["worker_url"] for row in workers if row["is_shared"]).items():
        if members > 1:
            yield Text("")
            yield wrapped(
                f"{members} workers announce the URL {printable(url)}: they cannot forward requests to each other. "
                "Give each its own rest.advertised.host.name; in dedicated MirrorMaker set "
                "dedicated.mode.enable.internal.rest"
            )

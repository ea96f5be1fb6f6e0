"""The members of a group at capture, as text for a terminal: their states, and what they have and are to have."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final, NamedTuple

from rich.text import Text

from kip848_records.replay.group.vocabulary import RECONCILED
from kip848_records.report.terminal import fitted_table
from kip848_records.report.units import units_text
from kip848_records.text import client_text, count_text, names_text, printable, span_text
from kip848_records.times import time_text
from kip848_records.wording import member_state_text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from kip848_records.queries.tables import Row
    from kip848_records.report.group_history import GroupHistory, Incarnation

SHOWN: Final = 100
_PLACES_SHOWN: Final = 3
_RANGES_WIDTH: Final = 40
_TOPICS_SHOWN: Final = 10


class _Owned(NamedTuple):
    """What a member has, is to have and is asked to revoke, as text. `harm`: its place among the others."""

    has: str
    target: str
    pending: str
    harm: int


_NOTHING: Final = _Owned("", "", "", 0)


def members_table(group: GroupHistory, incarnation: Incarnation, members: Sequence[Row], kind: str) -> Iterator[Text]:
    """Yield a table of the members of a group with epochs; those behind for longest first, then what they lack."""
    if not members:
        return
    rows = group.rows("owned_now", incarnation)
    owned = _owned(rows, kind)
    ordered = sorted(members, key=lambda row: _order(group, row, owned))
    cuts = [f"the first {SHOWN} of {len(members):,}"] if len(members) > SHOWN else []
    if rows and rows[0].total > len(rows):
        cuts.append(f"with {len(rows):,} of {rows[0].total:,} topics or subtopologies")
    yield Text(f"\nMembers{', ' if cuts else ''}{', '.join(cuts)}:")
    is_mixed = len({bool(row.is_classic) for row in members}) > 1
    cells = []
    for row in ordered[:SHOWN]:
        own = owned.get(row.member_id, _NOTHING)
        client = client_text(row.client_id, row.client_host, row.instance_id) or "unknown"
        state = member_state_text(row.state, kind)
        protocol = (("classic" if row.is_classic else kind),) if is_mixed else ()
        behind = span_text(group.ago(row.behind_ms), is_minimum=True)
        cells.append(
            (client, *protocol, state, behind, own.has, own.target, own.pending, row.member_epoch, row.member_id)
        )
    has = ("has", "is to have", "asked to revoke")
    titles = ("client", *(("protocol",) if is_mixed else ()), "state", "behind for", *has, "epoch", "member")
    shown = [
        nth
        for nth, title in enumerate(titles)
        if title not in {"behind for", *has[1:]} or any(row[nth] for row in cells)
    ]
    table = [tuple(row[nth] for nth in shown) for row in cells]
    yield from fitted_table(*(titles[nth] for nth in shown), rows=table, right=("behind for", "epoch"))


def regexes(group: GroupHistory, incarnation: Incarnation) -> Iterator[Text]:
    """Yield which topics each regular expression of a present member matches, as the log shows it."""
    rows = group.rows("regexes_now", incarnation)
    for row in rows[:20]:
        members = count_text(row.members, "member")
        yield Text(f"\nExpression {printable(row.regex)} of {members}: {_resolved(row)}")
    if len(rows) > 20:  # noqa: PLR2004 - as above
        yield Text("\nand other expressions: see regex_resolution and membership")


def _resolved(row: Row) -> str:
    if row.topics is None:
        return "the broker has not resolved it, or the log does not show it"
    at = f", resolved at {time_text(row.resolved_ms)}" if row.resolved_ms is not None else ""
    if not row.topics:
        return f"it matches no topic that the client may see{at}"
    named = names_text([printable(each) for each in row.topics if each is not None], _TOPICS_SHOWN)
    return f"{named} ({count_text(len(row.topics), 'topic')}){at}"


def _order(group: GroupHistory, row: Row, owned: dict[str, _Owned]) -> tuple[bool, int, int, str]:
    own = owned.get(row.member_id, _NOTHING)
    return row.state == RECONCILED, -(group.ago(row.behind_ms) or 0), own.harm, row.member_id


def _owned(rows: Sequence[Row], kind: str) -> dict[str, _Owned]:
    """Return what each member has, by member id, in the order of the rows: by harm."""
    by_member = defaultdict(list)
    for row in rows:
        by_member[row.member_id].append(row)
    found = {}
    for harm, (member_id, its_rows) in enumerate(by_member.items()):
        has = _places(its_rows, "present", kind)
        target = _places(its_rows, "target", kind)
        is_same = all(row.target is None or row.target == row.present for row in its_rows)
        gets = "" if is_same else target or "nothing"
        found[member_id] = _Owned(has or "nothing", gets, _places(its_rows, "pending", kind), harm)
    return found


def _places(rows: Sequence[Row], column: str, kind: str) -> str:
    """Return the units of a column by topic or by role and subtopology, with their number: ``orders 0-3, 7 (5)``."""
    named, count = [], 0
    for row in rows:
        units: Collection[int] = getattr(row, column) or ()
        if not units:
            continue
        count += len(units)
        place = row.place or "?"
        text, width = units_text(kind, place, units), _RANGES_WIDTH + len(place)
        cut = text if len(text) <= width else f"{text[:width]}…"
        named.append(f"{row.role} {cut}" if row.role else cut)
    more = len(named) - _PLACES_SHOWN
    others = f"; {more:,} more" if more > 0 else ""
    return f"{'; '.join(named[:_PLACES_SHOWN])}{others} ({count:,})" if count else ""

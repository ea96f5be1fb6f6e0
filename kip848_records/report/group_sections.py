"""The sections of a group's history, in the order in which `explain` and the page show them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from kip848_records.kinds import CONNECT, KINDS, STREAMS
from kip848_records.replay.group.vocabulary import OPEN, RECONCILED, UNKNOWN
from kip848_records.report.columns import AT_LEAST, AT_MOST, NUMBER, SPAN, TIME, Column, bare
from kip848_records.report.consumption import (
    between,
    committed_by_text,
    committed_text,
    jump_text,
    progress_text,
    stillness_text,
)
from kip848_records.report.diagnosis import when_text
from kip848_records.report.group_section import GroupSection
from kip848_records.text import CLOCK_WENT_BACK, client_text, ranges_text, span_text
from kip848_records.wording import cause_text, causes_text, member_state_text

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from kip848_records.report.group_history import GroupHistory

    Fields = dict[str, Any]

CONNECTOR: Final = -1
"""The number by which Connect's assignments name the connector itself, among its tasks."""
PLACES_SHOWN: Final = 5
"""How many topics, connectors or subtopologies the terminal has in a cell; the page has all."""
_RANGES_WIDTH: Final = 54
_NAMED_CAUSES: Final = frozenset({"member_joined", "member_left", "members_changed", "static_member_replaced"})
"""The causes that the names of those who joined and left say better."""
_OUTCOMES: Final = {"converged": "", OPEN: "ongoing at capture"}
_ENDINGS: Final = {
    "next_generation": "",
    "emptied": "last member left",
    "upgraded": "upgrade",
    "replaced": "another type of group",
    "deleted": "deletion",
}


def numbers_of(text: str | None) -> list[int]:
    """Return the numbers of partitions or tasks that a query returns in one text."""
    return [int(number) for number in (text or "").split()]


def units_text(kind: str, place: str, numbers: Collection[int | None] | None) -> str:
    """Return what a member has of one topic, connector or subtopology.

    Partitions: ``orders 0-3``. A connector and its tasks: ``sink: connector, tasks 0-1``. Tasks of a subtopology:
    ``0: 2-3``.
    """
    if kind != CONNECT:
        return f"{place}{':' if kind == STREAMS else ''} {ranges_text(numbers)}"
    tasks = [number for number in numbers or () if number not in {CONNECTOR, None}]
    named = ["connector"] if CONNECTOR in (numbers or ()) else []
    named += [f"{'task' if len(tasks) == 1 else 'tasks'} {ranges_text(tasks)}"] if tasks else []
    return f"{place}: {', '.join(named)}"


def _places(member: Fields, units: Iterable[tuple[str | None, str, Collection[int]]]) -> str:
    """Return units by role and place: ``orders 0-3, 7; active 0: 1``. In the terminal they are the first of them."""
    named = []
    for role, place, numbers in units:
        if numbers:
            text = units_text(member["kind"], place, numbers)
            shown = text if member["places"] is None else _shortened(text, place)
            named.append(f"{role or ''} {shown}".lstrip())
    return _first(member, named)


def _shortened(text: str, place: str) -> str:
    """Return the units of a place up to a comma, if there are many. The name of the place stays whole."""
    width = len(place) + _RANGES_WIDTH
    comma = text.rfind(", ", len(place), width)
    return text if len(text) <= width or comma < 0 else f"{text[:comma]}, …"


def _first(row: Fields, names: Sequence[str]) -> str:
    """Return names: all on the page, in the terminal those that `places` allows, and how many more there are."""
    more = 0 if row["places"] is None else len(names) - row["places"]
    return "; ".join([*names[: row["places"]], *([f"{more:,} more"] if more > 0 else [])])


def with_units(members: Sequence[Fields], units: Sequence[Fields]) -> list[Fields]:
    """Return members with what they have, are to get and are to give up; those with the most harm come first.

    `units`: the rows of `UNITS` of the same group.
    """
    by_member: dict[tuple[int, str], list[Fields]] = {}
    for row in units:
        by_member.setdefault((row["incarnation"], row["member_id"]), []).append(row)
    is_whole = not units or units[0]["total"] == len(units)
    found = [row | _owned(row, by_member.get((row["incarnation"], row["member_id"]), ()), is_whole) for row in members]
    return sorted(found, key=lambda row: (not row["is_present"], -(row["behind_ms"] or 0), row["harm"]))


def _owned(member: Fields, units: Sequence[Fields], is_whole: bool) -> Fields:  # noqa: FBT001 - of one caller
    if not member["is_present"]:
        return {"has": "", "gets": "", "gives": "", "harm": 0}
    has, gets, gives = [], [], []
    for row in units:
        present, pending = set(numbers_of(row["numbers"])), set(numbers_of(row["pending"]))
        wanted = present if row["target"] is None else set(numbers_of(row["target"]))
        has.append((row["role"], row["place"], present))
        gets.append((row["role"], row["place"], wanted - present))
        gives.append((row["role"], row["place"], present - wanted | pending))
    texts = {name: _places(member, each) for name, each in (("has", has), ("gets", gets), ("gives", gives))}
    if texts["has"]:
        texts["has"] += f" ({'' if is_whole else '≥ '}{sum(len(present) for *_, present in has):,})"
    elif is_whole and member["state"] not in {None, UNKNOWN}:
        texts["has"] = "nothing"
    lacks = 0 if texts["gives"] else 1 if texts["gets"] else 2 if texts["has"] in {"", "nothing"} else 3
    return texts | {"harm": lacks + 4 * (member["state"] == RECONCILED)}


def clients_of(members: Iterable[Fields]) -> dict[str, str]:
    """Return the names of members, by their ids: of those that have a client's name in common, the id is a part."""
    named = {row["member_id"]: client_of(row) for row in members}
    count = Counter(named.values())
    return {member: name if count[name] == 1 else f"{name}, member {member}" for member, name in named.items() if name}


def client_of(row: Fields) -> str:
    """Return the name of a member's client; empty if the log does not show it."""
    return client_text(row["client_id"], row["client_host"], row["instance_id"])


def _units(row: Fields) -> str:
    return units_text(row["kind"], row["place"], numbers_of(row["numbers"]))


def _partitions(row: Fields) -> str:
    """Return partitions of a topic, also of a group whose units are others."""
    return f"{row['place']} {ranges_text(numbers_of(row['numbers']))}"


def _member(name: str) -> Callable[[Fields], str]:
    """Return what names a member: its client, else its id."""
    return lambda row: str(row["clients"].get(row[name]) or row[name] or "")


def _blockers(row: Fields) -> str:
    return "; ".join(row["clients"].get(each) or each for each in row["waits_for"] or () if each)


def _words(name: str) -> Callable[[Fields], str]:
    return lambda row: str(row[name] or "").replace("_", " ")


def _state(row: Fields) -> str:
    """Return the state of a member, or how it left; leaving, expiring and fencing write the same records."""
    if not row["is_present"]:
        how = "left or expired" if row["left_how"] in {"left", None} else row["left_how"].replace("_", " ")
        return f"{how}{', came back' if row['returned'] else ''}"
    if row["state"] is None:  # that of a classic group has none, of another group it was lost
        return "" if KINDS[row["kind"]].has_epochs else KINDS[row["kind"]].member
    return member_state_text(row["state"], row["kind"])


def _epochs(row: Fields) -> str:
    first, last = row["first_epoch"], row["last_epoch"]
    return f"{first}" if first == last else f"{first}-{last}"


def _rebalance_total(row: Fields) -> str:
    """Return the duration of a rebalance; if a clock went back within one that ended, its duration is unknown."""
    if row["clock_skew"] and row["outcome"] != OPEN and row["duration_ms"] is not None:
        return CLOCK_WENT_BACK
    return span_text(row["duration_ms"], is_minimum=row["is_minimum"])


def _why(row: Fields) -> str:
    """Return why a rebalance began; in the terminal also who joined and left."""
    changes = row.get("changes", "")
    others = [cause for cause in row["causes"] or () if not (changes and cause in _NAMED_CAUSES)]
    return "; ".join(filter(None, (causes_text(others, row["kind"]), changes)))


def _ended_by(row: Fields) -> str:
    """Return how a generation ended: without an end it may have ended unseen."""
    if row["ended_by"] is None:
        return "ongoing" if row["is_ongoing"] else "not seen"
    return _ENDINGS.get(row["ended_by"], _words("ended_by")(row))


def _running(is_connector: bool) -> Callable[[Fields], int | None]:  # noqa: FBT001 - of two columns
    """Return how many connectors, or tasks, a worker runs; None without an assignment."""

    def count(row: Fields) -> int | None:
        tasks = [task for unit in row["running"] or () if unit for task in unit["tasks"] or ()]
        return None if row["running"] is None else sum((task == CONNECTOR) == is_connector for task in tasks)

    return count


def _runs(row: Fields) -> str:
    """Return the names of the connectors of which a worker runs a part."""
    if row["running"] is None:
        return "no assignment"
    return _first(row, [units_text(CONNECT, unit["connector"], unit["tasks"]) for unit in row["running"] if unit])


def _without_member(row: Fields) -> str:
    if row["state"] != "initialized":
        return ""
    return ranges_text(numbers_of(row["free"])) or "none" if row["is_subscribed"] else "no member subscribes"


def _mixed_until(row: Fields) -> int | str | None:
    if row["direction"] != "upgrade":
        return None
    return "capture" if row["mixed_until_ms"] is None else row["mixed_until_ms"]


def _counted(name: str) -> Callable[[Fields], str]:
    """Return what counts what the log shows of a period: at least, if compaction removed a part of it."""

    def text(row: Fields) -> str:
        if row[name] is None:
            return "?"
        return f"{'≥ ' if row['history'] in {'left_censored', 'censored'} else ''}{row[name]:,}"

    return text


DIAGNOSIS: Final = GroupSection(
    "diagnosis",
    "CASE WHEN is_present THEN 0 ELSE 1 END, CASE severity WHEN 'error' THEN 0 WHEN 'warning' THEN 1 ELSE 2 END, "
    "coalesce(cost_share, 0) DESC, last_ms DESC, pattern, first_ms, client_id, client_host, instance_id, "
    "member_id, what, episode",
    title="troubles over time",
    kept="when pattern severity first_ms last_ms ended_ms is_present sentence next_step explained_by client_id "
    "client_host instance_id member_id what at_offset",
)
FINDINGS: Final = GroupSection(
    "findings",
    "",
    title="checks",
    columns=(
        Column("check", "expectation"),
        Column("severity", "severity", style="graded"),
        Column("what", "message", style="text"),
        Column("{step}", bare("group_epoch"), NUMBER),
    ),
)
"""What `kip848 check` found in the group: only the page has it."""
FREE: Final = GroupSection(
    "free",
    "released_at_ms, place, giver, expected_at_ms, at_offset, incarnation, reason, was_warm, numbers",
    table="task_handover",
    source="tasks",
    where="status = 'open'",
    title="{units} without {an_owner}",
    columns=(
        Column("{units}", _units, style="id"),
        Column("for", "unowned_ms", AT_LEAST),
        Column("at most", "unowned_max_ms", AT_MOST, "minor"),
        Column("reason", _words("reason")),
        Column("since", "released_at_ms", TIME),
        Column("expected", "expected_at_ms", TIME),
        Column("last {owner}", "giver", style="id"),
    ),
    shown=100,
    relation="task_handover",
)
UNOWNED: Final = GroupSection(
    "unowned",
    "released_at_ms, place, from_member, at_offset, incarnation",
    source="handovers",
    where="is_free",
    title="partitions without an owner, since a generation took them from one",
    columns=(
        Column("partitions", _partitions, style="id"),
        Column("for", "free_ms", AT_LEAST),
        Column("since", "released_at_ms", TIME),
        Column("last owner", _member("from_member"), style="client"),
    ),
    relation="ownership",
)
WORKERS: Final = GroupSection(
    "workers",
    "worker_url, member_id",
    table="connect_assignment",
    where="is_last",
    title="workers",
    columns=(
        Column("worker", "worker", style="id"),
        Column("leader", lambda row: "yes" if row["is_leader"] else ""),
        Column("connectors", _running(is_connector=True), NUMBER),
        Column("tasks", _running(is_connector=False), NUMBER),
        Column("config offset", bare("config_offset"), NUMBER),
        Column("joined with", bare("worker_config_offset"), NUMBER, "minor"),
        Column("runs", _runs, style="text id"),
        Column("since", "joined_at_ms", TIME, "minor lesser"),
    ),
    shown=100,
    relation="connect_assignment",
)
TOPICS: Final = GroupSection(
    "topics",
    "CASE WHEN state = 'initialized' THEN 1 ELSE 0 END, free_since_ms DESC, place, state, incarnation",
    table="share_partition_state",
    title="partitions by state",
    columns=(
        Column("partitions", _partitions, style="id"),
        Column("state", "state"),
        Column("since", "from_ms", TIME),
        Column("for", "lasts_ms", AT_LEAST),
        Column("without a member", _without_member, style="id"),
        Column("without for", "free_ms", AT_LEAST),
    ),
    relation="share_partition_state",
)
MEMBERS: Final = GroupSection(
    "members",
    "CASE WHEN is_present THEN 0 ELSE 1 END, behind_ms DESC, at_offset DESC, member_id, group_type, incarnation DESC",
    title="members",
    columns=(
        Column("client", client_of, style="client"),
        Column("protocol", lambda row: "classic" if row["is_classic"] else ""),
        Column("state", _state),
        Column("behind for", "behind_ms", AT_LEAST),
        Column("waits for", lambda row: sum(map(bool, row["awaited"] or ())) or None, NUMBER, "lesser"),
        Column("has", "has", style="text id"),
        Column("is to get", "gets", style="text id"),
        Column("is to give up", "gives", style="text id"),
        Column("blocked by", _blockers, style="client lesser"),
        Column("epoch", bare("member_epoch"), NUMBER, "minor"),
        Column("member", "member_id", style="id"),
        Column("joined or left", lambda row: row["left_at_ms"] or row["joined_at_ms"], TIME, "minor lesser"),
        Column("rebalance timeout", lambda row: row["rebalance_timeout_ms"] or None, SPAN, "lesser"),
    ),
    kept="incarnation group_type instance_id client_id client_host joined_at_ms left_at_ms joined_how waits_for "
    "at_offset",
    shown=100,
    relation="membership",
)
UNITS: Final = GroupSection(
    "units",
    "CASE WHEN pending <> '' THEN 0 WHEN target <> numbers THEN 1 ELSE 2 END, member_id, role, place, incarnation",
    table="member_assignment",
    title="assignments",
    limit=2000,
)
CONSUMPTION: Final = GroupSection(
    "consumption",
    "CASE WHEN state = 'blocked_by_transaction' THEN 0 WHEN state = 'suspected' THEN 1 "
    "WHEN state IN ('negative_offset', 'messages_wait', 'committed_beyond_end') THEN 2 "
    "WHEN ahead_group IS NOT NULL THEN 3 WHEN state = 'progress' THEN 5 ELSE 4 END, silent_ms DESC, at_offset, place, "
    "member_id, state, evidence, least_committed, is_minimum, numbers, incarnation",
    table="commit_progress",
    title="committed offsets of what members own, the worst first",
    columns=(
        Column("partitions", _partitions, style="id"),
        Column("committed", committed_text, NUMBER),
        Column("unmoved for", stillness_text, SPAN),
        Column("progress", progress_text, style="text graded"),
        Column("{member}", _member("member_id"), style="client"),
    ),
    shown=30,
    relation="consumption_now",
)
NOT_SUBSCRIBED: Final = GroupSection(
    "not_subscribed",
    "committed_ms DESC, place",
    table="commit_progress",
    title="committed offsets of topics to which no member subscribes (no fault by itself)",
    limit=20,
    columns=(
        Column("partitions", _partitions, style="id"),
        Column("committed", lambda row: between(row, "committed"), NUMBER),
        Column("last commit at", "committed_ms", TIME),
        Column("before the capture", "ago_ms", SPAN),
        Column("by", committed_by_text),
    ),
    shown=5,
    is_past=True,
    relation="commit_progress",
)
REPEATS: Final = GroupSection(
    "repeats",
    "repeat_at_most DESC, acquired_ms DESC, place, from_member, member_id, incarnation",
    table="commit_progress",
    title="handovers after which the new owner read again, the most first (an estimate)",
    limit=20,
    columns=(
        Column("acquired", "acquired_ms", TIME),
        Column("partitions", _partitions, style="id"),
        Column("read again", lambda row: f"≤ {int(row['repeat_at_most']):,}", NUMBER),
        Column("last commit before", "committed_age_ms", SPAN),
        Column("owner before", lambda row: "ended without a commit" if row["ended_uncommitted"] else ""),
        Column("from", _member("from_member"), style="client"),
        Column("to", _member("member_id"), style="client"),
    ),
    shown=5,
    is_past=True,
    relation="handover_progress",
)
JUMPS: Final = GroupSection(
    "jumps",
    "jumped_ms DESC, at_offset DESC, place, jump, numbers, incarnation",
    limit=200,
    table="commit_jump",
    title="jumps of committed offsets, the latest first",
    columns=(
        Column("at", "jumped_ms", TIME),
        Column("partitions", _partitions, style="id"),
        Column("what", jump_text, style="text"),
    ),
    kept="jump at_offset",
    is_past=True,
    note="Offsets are counted, not messages; what was read but not committed does not show. Of several partitions the "
    "least and the most offset are named",
    page="docs/consumption.md",
    relation="commit_jump",
)
GENERATIONS: Final = GroupSection(
    "generations",
    "at_offset DESC, incarnation DESC, generation DESC",
    limit=200,
    table="classic_generation",
    title="generations, the latest first",
    columns=(
        Column("generation", bare("generation")),
        Column("completed at", "completed_at_ms", TIME),
        Column("cause", lambda row: cause_text(row["cause"], row["kind"])),
        Column("sync time", "sync_ms", SPAN),
        Column("lasted", lambda row: span_text(row["lasted_ms"], is_minimum=row["is_ongoing"]), SPAN, "minor lesser"),
        Column("rounds", "rounds", NUMBER),
        Column("{member}s", "members", NUMBER),
        Column("joined", "joined", NUMBER, "minor lesser"),
        Column("left", "gone", NUMBER, "minor lesser"),
        Column("{units}", "units", NUMBER, "minor"),
        Column("{units} moved", "moved", NUMBER),
        Column("mode", "mode", style="minor"),
        Column("ended by", _ended_by),
    ),
    shown=0,
)
REBALANCES: Final = GroupSection(
    "rebalances",
    "began_offset DESC, incarnation DESC",
    limit=200,
    title="rebalances, the latest first",
    columns=(
        Column("{step}s", _epochs),
        Column("protocol", lambda row: "" if row["group_type"] == KINDS[row["kind"]].group_type else row["group_type"]),
        Column("began at", "began_at_ms", TIME),
        Column("total", _rebalance_total, SPAN),
        Column("assigned in", "assigning_ms", SPAN),
        Column("{member}s", "members", NUMBER),
        Column("waited", "members_waited", NUMBER, "minor lesser"),
        Column("moved", "partitions_moved", NUMBER, "minor"),
        Column("outcome", lambda row: _OUTCOMES.get(row["outcome"], _words("outcome")(row))),
        Column("cause", _why, style="text"),
    ),
    kept="group_type began_offset first_epoch last_epoch ended_at_ms outcome duration_ms history",
    relation="rebalance",
)
HANDOVERS: Final = GroupSection(
    "handovers",
    "at_offset DESC, place, from_member, to_member, released_at_ms, incarnation",
    title="partition handovers, the latest first",
    columns=(
        Column("partitions", _partitions, style="id"),
        Column("from", lambda row: row["from_member"] or "first owner", style="id"),
        Column("to", lambda row: row["to_member"] or "no owner", style="id"),
        Column("acquired", "acquired_at_ms", TIME),
        Column("idle", "idle_ms", AT_LEAST),
    ),
    kept="from_member to_member released_at_ms",
    shown=0,
    is_folded=True,
)
MOVED: Final = FREE._replace(
    name="moved",
    order="at_offset DESC, place, giver, taker, released_at_ms, acquired_at_ms, incarnation, reason, was_warm, numbers",
    where="status <> 'open'",
    title="{units} that changed their {owner}, the latest first",
    columns=(
        Column("{units}", _units, style="id"),
        Column("from", lambda row: row["giver"] or "first owner", style="id"),
        Column("to", lambda row: row["taker"] or row["status"], style="id"),
        Column("acquired", "acquired_at_ms", TIME),
        Column("idle", "unowned_ms", AT_LEAST),
        Column("idle at most", "unowned_max_ms", AT_MOST),
        Column("reason", _words("reason")),
        Column("state was there", lambda row: {None: "", True: "yes", False: "not seen"}[row["was_warm"]]),
    ),
    shown=0,
    is_folded=True,
)
CONVERSIONS: Final = GroupSection(
    "migrations",
    "at_offset DESC, incarnation DESC",
    limit=20,
    table="group_migration",
    title="changes of the protocol, the latest first",
    columns=(
        Column("at", "at_ms", TIME),
        Column("change", _words("direction")),
        Column("from", "from_type"),
        Column("to", "to_type"),
        Column("epoch or generation", bare("epoch"), NUMBER),
        Column("members converted", "converted", NUMBER),
        Column("both protocols until", _mixed_until, TIME),
    ),
    is_past=True,
    relation="group_migration",
)
BEFORE_AND_AFTER: Final = GroupSection(
    "periods",
    "at_offset DESC, incarnation DESC, protocol",
    limit=20,
    table="protocol_comparison",
    title="before and after, the latest first",
    columns=(
        Column("protocol", "protocol"),
        Column("from", "from_ms", TIME),
        Column("observed", "observed_ms", SPAN),
        Column("rebalances", _counted("rebalances"), NUMBER),
        Column("rounds", _counted("rounds"), NUMBER),
        Column("per hour", "rebalances_per_hour", NUMBER, "minor"),
        Column("moved", _counted("partitions_moved"), NUMBER),
        Column("stopped", _counted("partitions_stopped"), NUMBER),
        Column("without an owner (sum of partitions)", "unowned_min_partition_ms", AT_LEAST),
        Column("stops estimated by offset commits", "stop_known", NUMBER, "minor"),
        Column("median stop", "stop_max_p50_ms", AT_MOST, "minor"),
        Column("95% of stops", "stop_max_p95_ms", AT_MOST, "minor"),
    ),
    is_past=True,
    note="Do not compare the time without an owner between protocols: a classic group hides its join phase",
    page="docs/groups/migration.md",
    relation="protocol_comparison",
)
SECTIONS: Final = (
    DIAGNOSIS,
    GroupSection("states", "at_offset DESC, incarnation DESC, state", title="states of the group", limit=400),
    GroupSection(
        "intervals",
        "CASE WHEN to_ms IS NULL THEN 0 ELSE 1 END, at_offset DESC, member_id, incarnation DESC, state",
        title="intervals of members",
        limit=2000,
    ),
    FREE,
    UNOWNED,
    WORKERS,
    TOPICS,
    MEMBERS,
    UNITS,
    CONSUMPTION,
    NOT_SUBSCRIBED,
    REPEATS,
    JUMPS,
    GENERATIONS,
    REBALANCES,
    HANDOVERS,
    MOVED,
    CONVERSIONS,
    BEFORE_AND_AFTER,
)


def section_rows(group: GroupHistory, *names: str) -> list[Fields]:
    """Return the rows of sections as their SQL returns them, in all partitions that had the group, with ``partition``.

    `names`: of `SECTIONS`, such as ``rebalances``, ``intervals``, ``handovers``, ``free`` and ``moved``, ``units``.
    """
    return [row for each in SECTIONS if each.name in names for row in group.section(each)]


def for_page(history: dict[str, list[Fields]], kind: str, blockers: Sequence[str] = ()) -> Fields:
    """Return what the page has of a group's history: the rows of sections by their names, and how many rows it lacks.

    `history`: rows of the queries of sections, by the names of these. `blockers`: ids of members, the worst first.
    """
    common = {"kind": kind, "clients": clients_of(history.get(MEMBERS.name, ())), "places": None}
    omitted = []
    for section in (each for each in SECTIONS if each.name in history):
        rows = history[section.name] = [row | common for row in history[section.name]]
        if rows[0]["total"] > len(rows):
            omitted.append(f"{len(rows):,} of {rows[0]['total']:,} {section.words(kind)}")
    if MEMBERS.name in history:
        ranks = {member: nth for nth, member in enumerate(blockers)}
        found = with_units(history[MEMBERS.name], history.get(UNITS.name, []))
        history[MEMBERS.name] = sorted(found, key=lambda row: ranks.get(row["member_id"], len(ranks)))
    for row in history.get(DIAGNOSIS.name, ()):
        row["when"] = when_text(row)
    shown = [each for each in SECTIONS if each.name in history and each is not UNITS]
    return {each.name: each.rows_for_page(history[each.name]) for each in shown} | {"omitted": omitted}

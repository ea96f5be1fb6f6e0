"""The move of a fleet to the consumer protocol: who can, who should first, who is half-way, and who cannot and why.

`fleet` reads the tables once. `sections` is what people read, `as_json` what programs do; each line names its evidence.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kip848_records.expectations.loadable_by import evaluated_text
from kip848_records.queries.questions import questions
from kip848_records.replay.classic.upgrade import PROTOCOL_TYPE
from kip848_records.replay.diagnosis.stays import normalised
from kip848_records.replay.group.vocabulary import EAGER, UNKNOWN
from kip848_records.replay.refusals import FIRST_WITH_STREAMS, KNOWN_BUGS, LOADERS, loader
from kip848_records.report.columns import AT_LEAST, AT_MOST, NUMBER, SPAN, TIME, Column, Names, bare, filled
from kip848_records.report.readiness import REASONS, advised
from kip848_records.report.sections import Section, section
from kip848_records.report.sql import query
from kip848_records.text import client_text, count_text, matches, names_text
from kip848_records.times import time_text, utc_text
from kip848_records.wording import DOWNGRADES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kip848_records.expectations.results import Result
    from kip848_records.queries.tables import Row, Run, Tables

ONLINE: Final = "online"
REPLACED: Final = "replaced"
MIXED: Final = "mixed"
ONLY_CLASSIC: Final = "only_classic"
_CANARIES: Final = 10
_SMALL: Final = 5
_NAMED: Final = 3
_NO_LIMIT_MS: Final = 2**31 - 1
_SESSION_MS: Final = 45_000
"""The session timeout of members of consumer groups by default: the broker's, whatever the client has."""
_FIRST_WITH_ONLINE: Final = "4.0.0"
_UNKNOWN_VERSIONS: Final = "SELECT reason FROM quarantine WHERE error_code = 'value_unknown_version' LIMIT 1"

CONDITIONS: Final = (
    (
        "group.consumer.migration.policy must allow upgrades, and downgrades for the way back: it does by default from "
        "4.0 on (bidirectional); in 3.9 it is disabled"
    ),
    "group.consumer.max.size must be at least size_needed, members + 1: the first new member joins as one more member",
    "while a new or an Empty group is in its first join phase, the broker refuses a consumer member: it must retry",
    "a client must know group.protocol=consumer: its version is not in the log",
    (
        "subscriptions by pattern: a classic client sends only the topics that it found, and the broker evaluates the "
        "pattern with RE2/J, which has neither lookaround nor back-references. Ask the owners of such clients"
    ),
    "only the chosen assignor is in the log, not the others of partition.assignment.strategy",
)
"""What only brokers and clients know."""


class Refusal(NamedTuple):
    """A reason for which groups cannot move while their members run, with what to do.

    `groups`: their ids. `clients`: the members that have it, as client and host. `details`: what the log has of it, the
    most frequent first.
    """

    reason: str
    groups: Sequence[str]
    clients: Sequence[str]
    details: Sequence[str]
    because: str
    step: str


class Fleet(NamedTuple):
    """What is known of the groups of a cluster: rows of questions and of the report's queries.

    `groups`: of `ready_to_move`; `others`: the counts of groups of the new protocols. `release`: the release of the
    brokers that was asked about, None: not asked. `loads`: the result of `loadable_by` for it. `has_unknown_versions`:
    whether a record has a value of a version that Kafka does not know.
    """

    run: Run
    groups: Sequence[Row]
    others: Sequence[Row]
    reasons: Sequence[Row]
    members: Sequence[Row]
    downgrades: Sequence[Row]
    compared: Sequence[Row]
    notes: Sequence[str]
    release: str | None = None
    loads: Result | None = None
    has_unknown_versions: bool = False

    @property
    def left(self) -> list[tuple[Row, Row]]:
        """Return the members of the classic protocol in groups that are half-way, each behind the row of its group."""
        half = {_key(row): row for row in self.of_verdict(MIXED, ONLY_CLASSIC)}
        return [(half[key], row) for row in self.members if (key := _key(row)) in half]

    def of_verdict(self, *verdicts: str) -> list[Row]:
        """Return the groups with one of these verdicts, those that would gain most first."""
        return [row for row in self.groups if row.verdict in verdicts]

    @property
    def canaries(self) -> list[Row]:
        """The groups to begin with: they can move now; small ones that are eager and often rebalanced show most.

        The order prefers groups, and leaves none out: without static members, with an assignor that brokers also have.
        """
        fit = [row for row in self.of_verdict(ONLINE) if row.kind == "consumer"]
        return sorted(
            fit,
            key=lambda row: (
                *(row.static_members > 0, row.assignor_note == "none", row.members > _SMALL, row.mode != EAGER),
                *(-(row.rebalances_per_hour or 0), row.members, row.group_id),
            ),
        )[:_CANARIES]

    @property
    def gaining(self) -> list[Row]:
        """The groups that would gain most, by the partitions that rebalances stop in an hour, without canaries."""
        first = set(map(_key, self.canaries))
        found = [row for row in self.of_verdict(ONLINE) if _key(row) not in first and stopped_per_hour(row)]
        return sorted(found, key=lambda row: (-(stopped_per_hour(row) or 0), row.group_id))


def fleet(tables: Tables, run: Run, release: str | None = None, loads: Result | None = None) -> Fleet:
    """Return what is known of a cluster's move; `loads`: see `Fleet`."""
    named = questions()
    cluster = run.cluster
    asked = named["ready_to_move"]
    rows = {name: tables.rows(query(f"fleet_{name}"), cluster) for name in ("counts", "members", "downgrades")}
    return Fleet(
        run,
        tables.rows(asked.sql, cluster),
        rows["counts"],
        tables.rows(named["migration_reasons"].sql, cluster),
        rows["members"],
        rows["downgrades"],
        tables.rows(named["before_and_after"].sql, cluster),
        asked.missing(run),
        release,
        loads,
        release is not None and bool(tables.rows(_UNKNOWN_VERSIONS, cluster)),
    )


def _key(row: Row) -> tuple[int, str]:
    """Return what a group is known by: its id may be in several partitions, if their number has changed."""
    return row.partition, row.group_id


def refused_groups(found: Fleet, pattern: str) -> list[Row]:
    """Return the groups whose ids match a pattern and that cannot be shown to be able to move."""
    return [row for row in found.groups if matches(pattern, row.group_id) and not row.can_move]


def stopped_per_hour(row: Row) -> float | None:
    """Return how many partitions a group's rebalances stopped in an hour; None if the log does not show it."""
    if not row.rebalances or row.partitions_stopped is None or row.rebalances_per_hour is None:
        return None
    return float(row.partitions_stopped) / row.rebalances * row.rebalances_per_hour  # type: ignore[no-any-return]


def applications(found: Fleet) -> list[dict[str, Any]]:
    """Return the applications with classic members, those with most groups first.

    The name is the client id without what changes from member to member; the group id, if the client id has it.
    """
    by_name: dict[str, list[Row]] = defaultdict(list)
    verdicts = {_key(row): row.verdict for row in found.groups}
    for row in found.members:
        is_named = row.client_id is not None and row.group_id not in row.client_id
        by_name[str(normalised(row.client_id if is_named else row.group_id))].append(row)
    apps = []
    for name, rows in by_name.items():
        held = sorted({(verdicts[_key(row)], row.group_id) for row in rows})
        app = {"application": name, "groups": sorted({row.group_id for row in rows}), "members": len(rows)}
        hosts = sorted({(row.client_host or "").removeprefix("/") for row in rows} - {""})
        apps.append({**app, "hosts": hosts, "verdicts": Counter(verdict for verdict, _ in held)})
    return sorted(apps, key=lambda app: (-len(app["groups"]), -app["members"], app["application"]))


def sections(found: Fleet) -> Iterator[Section]:
    """Yield the parts of the answer, what to decide first before what explains it."""
    yield Section(headline(found), notes=list(verdict_lines(found)))
    if found.release is not None:
        yield from _release(found)
    yield from _running(found)
    yield from _plan(found)
    yield from _refused(found)
    yield from section(
        "Applications that still use the classic protocol",
        _APPLICATIONS,
        applications(found),
        "By client ids without what changes from member to member; by group ids where these are a part of them",
    )
    yield from _changes(found)
    yield Section("The log does not show", notes=(*CONDITIONS, *found.notes))


def headline(found: Fleet) -> str:
    """Return the whole in a sentence."""
    counts = Counter(row.verdict for row in found.groups)
    if not found.groups:
        return "No group uses the classic protocol"
    left = [row for row in found.groups if row.verdict not in {MIXED, ONLY_CLASSIC}]
    can = counts[ONLINE] + counts[REPLACED]
    parts = (
        [f"{can:,} of {count_text(len(left), 'classic group')} can move now, as far as the log shows"] if left else []
    )
    half = counts[MIXED] + counts[ONLY_CLASSIC]
    parts += [f"{count_text(half, 'group')} {'is' if half == 1 else 'are'} half-way"] if half else []
    return "; ".join(parts)


def verdict_lines(found: Fleet) -> Iterator[str]:
    """Yield how many groups have each verdict, and how many use the new protocols."""
    of = Counter((row.verdict, row.meaning) for row in found.groups)
    members = Counter[str]()
    for row in found.groups:
        members[row.verdict] += row.members or 0
    for (verdict, meaning), groups in of.items():  # in the order of `ready_to_move`
        held = f", {count_text(members[verdict], 'member')}" if members[verdict] else ""
        yield f"{count_text(groups, 'group')}{held}: {meaning} ({verdict})"
    for row in found.others:
        came = f", {row.moved:,} of them from the classic protocol" if row.moved else ""
        yield f"{count_text(row.groups, f'{row.group_type} group')} without classic members{came}"


def _release(found: Fleet) -> Iterator[Section]:
    release, loads = found.release, found.loads
    judged = loader(release or "")
    if release is None or loads is None or judged is None:
        return
    place = LOADERS.index(judged)
    notes = [text.removeprefix(", ")] if (text := evaluated_text(release)) else []
    notes += loads.without
    if judged == LOADERS[0]:
        notes.append("this coordinator has no consumer protocol: no group can move there")
    elif place < LOADERS.index(_FIRST_WITH_ONLINE):
        notes.append("the migration policy is disabled there by default: no group moves before that is set")
    if LOADERS[0] != judged and place < LOADERS.index(FIRST_WITH_STREAMS):
        notes.append(f"applications of Kafka Streams cannot move there: they take brokers from {FIRST_WITH_STREAMS} on")
    met = _met(found)
    notes += [
        f"{name}: {bug.rule}; {bug.consequence}. {bug.step}"
        for name, bug in KNOWN_BUGS.items()
        if judged in bug.has and name in met
    ]
    certain = "" if loads.without else " for certain"
    title = f"Kafka {release} loads {loads.passed:,} of {count_text(_partitions(loads), 'partition')}{certain}"
    yield Section(title, filled(_LOADS, (*loads.violations, *loads.unknown)), notes)


def _met(found: Fleet) -> set[str]:
    """Return the known bugs that end no load, and that the groups of this log can meet."""
    reasons = {row.reason for row in found.reasons}
    has_static = any(row.static_members for row in found.groups)
    evidence = {
        "KAFKA-18672": found.has_unknown_versions,
        "KAFKA-18134": "assignor_user_data" in reasons,
        "KAFKA-20662": any("KAFKA-20662" in (row.known_bugs or "") for row in found.groups),
        "KAFKA-19720": has_static,
        "KAFKA-19546": has_static,
        "KAFKA-19570": any(row.kind == "streams_application" for row in found.groups),
    }
    return {name for name, is_met in evidence.items() if is_met}


def _partitions(loads: Result) -> int:
    return loads.passed + loads.errors + loads.unknowns


def _running(found: Fleet) -> Iterator[Section]:
    if found.left:
        notes = [
            "Restart these members with group.protocol=consumer",
            "do not set the migration policy to disabled before: from Kafka 4.3 on it locks classic members out",
        ]
        last = [row.group_id for row in found.groups if row.has_last_consumer]
        if last:
            notes.append(f"{names_text(last, _NAMED)}: has one consumer member; if that leaves, the group goes back")
        if apart := [row.group_id for row in found.groups if row.has_common_protocol is False]:
            notes.append(
                f"{names_text(apart, _NAMED)}: the classic members have no assignor in common; if the last consumer "
                "member leaves, that fails, and the group does not go back"
            )
        only = [row.group_id for row in found.of_verdict(ONLY_CLASSIC)]
        if only:
            notes.append(
                f"{names_text(only, _NAMED)}: no member left uses the new protocol, and only one that joins changes it"
            )
        yield from section("Half-way: members that still use the classic protocol", _LEFT, found.left, *notes)
    yield from section("Went back to the classic protocol", _DOWNGRADES, found.downgrades)
    compared = sorted(found.compared, key=lambda row: (row.group_id, row.from_at))
    yield from section("Before and after", _COMPARED, compared)


_HOW: Final = (
    (
        "First read below what the log does not show, and ask for it. Ask the owners of groups with the assignor range "
        "whether partitions of two topics must meet in one member"
    ),
    (
        "Restart one member with group.protocol=consumer, without partition.assignment.strategy, session.timeout.ms "
        "and heartbeat.interval.ms: a Java client refuses to start with these. When it joins, the broker converts the "
        "group. Then restart the others, one by one"
    ),
    (
        "The way back: restart them with group.protocol=classic; when the last new member leaves, the broker converts "
        "the group again"
    ),
)


def _mode(row: Row) -> str | None:
    return None if row.mode == UNKNOWN else row.mode


def _stopped(row: Row) -> str | None:
    stopped = stopped_per_hour(row)
    return None if stopped is None else f"{'≥ ' if row.is_minimum else ''}{stopped:,.1f}"


def _cares(row: Row) -> Iterator[str]:
    """Yield what makes a group one to move with care; *What the move changes* says how."""
    if row.static_members:
        yield "static members"
    if row.assignor_note == "none":
        yield "assignor of its own"


def _plan(found: Fleet) -> Iterator[Section]:
    canaries, gaining = found.canaries, found.gaining
    yield from section(
        "Begin with these",
        _GAIN,
        canaries,
        "They can move now. In this order: groups without static members, with an assignor of Kafka's own, "
        f"with up to {_SMALL} members, eager, often rebalanced",
        *_HOW,
    )
    yield from section(
        "Then those that gain most",
        _GAIN,
        gaining,
        "By how many partitions their rebalances stopped in an hour, not for how long; the time without an owner "
        "is that of all partitions together",
    )
    planned = set(map(_key, (*canaries, *gaining)))
    others = [row for row in found.of_verdict(ONLINE, REPLACED) if _key(row) not in planned]
    verdicts = Counter("online" if row.verdict == ONLINE else "Empty" for row in others)
    words = [f"{count_text(count, 'group')} {how}" for how, count in verdicts.items()]
    yield from section(f"Then the others: {', '.join(words)}", _OTHERS, others)


def refusals(found: Fleet) -> list[Refusal]:
    """Return the reasons for which groups cannot move while their members run, those of most groups first."""
    of_group: dict[tuple[int, str], set[str]] = defaultdict(set)
    for row in found.reasons:
        of_group[_key(row)].add(row.reason)
    by_reason: dict[str, list[Row]] = defaultdict(list)
    for row in found.reasons:
        if row.reason in advised(of_group[_key(row)]):
            by_reason[row.reason].append(row)
    refused = []
    for reason, each in by_reason.items():
        details = Counter(row.detail for row in each if row.detail)
        clients = sorted({client_text(row.client_id, row.client_host) for row in each if row.member_id is not None})
        groups = sorted({row.group_id for row in each})
        refused.append(
            Refusal(reason, groups, clients, [detail for detail, _ in details.most_common()], *REASONS[reason])
        )
    return sorted(refused, key=lambda each: (-len(each.groups), each.reason))


def _refused(found: Fleet) -> Iterator[Section]:
    refused = refusals(found)
    never = [each for each in refused if each.reason == PROTOCOL_TYPE]
    yield from section("Cannot move while their members run", _REFUSED, [each for each in refused if each not in never])
    yield from section("Cannot move at all: they have no other protocol", _REFUSED, never)
    yield from section("Not known", _UNREAD, found.of_verdict("unknown"))


def _changes(found: Fleet) -> Iterator[Section]:
    movable = [row for row in found.groups if row.kind == "consumer" and row.members]
    sized = [row for row in movable if row.size_needed is not None]
    changes: list[tuple[str, Iterable[Row], str]] = [
        (
            "assignor range",
            (row for row in movable if row.assignor_note == "range"),
            "the broker's default is uniform: set group.remote.assignor=range where partitions of two topics must meet",
        ),
        (
            "assignor of its own",
            (row for row in movable if row.assignor_note == "none"),
            "the broker's assignor takes its place, without a warning: ask the owner",
        ),
        (
            "sticky or round-robin assignor",
            (row for row in movable if row.assignor_note == "uniform"),
            "the broker assigns with uniform, which is balanced and sticky",
        ),
        (
            "static members",
            (row for row in movable if row.static_members),
            "a new member with the instance id takes the old one's place: never run both for long",
        ),
        (
            "session timeout",
            (row for row in movable if {row.session_timeout_ms, row.least_session_timeout_ms} - {None, _SESSION_MS}),
            "the broker's group.consumer.session.timeout.ms, 45 s by default, takes the place of session.timeout.ms",
        ),
        (
            "max.poll.interval.ms of 2^31 - 1",
            (row for row in movable if row.rebalance_timeout_ms == _NO_LIMIT_MS),
            "members have this time to give up partitions: a stuck one is never removed, and blocks others",
        ),
        (
            "a client that writes malformed bytes",
            (row for row in movable if "KAFKA-20662" in (row.known_bugs or "")),
            "a consumer group does not take it as a classic member: replace it before the group moves (KAFKA-20662)",
        ),
    ]
    rows = [(what, [row.group_id for row in affected], step) for what, affected, step in changes]
    largest = max(sized, key=lambda row: row.size_needed, default=None)
    notes = [] if largest is None else [f"The largest size_needed is {largest.size_needed:,}, of {largest.group_id}"]
    yield from section("What the move changes", _CHANGED, [row for row in rows if row[1]], *notes)


_GROUP: Final = Column("group", "group_id")
_MEMBERS: Final = Column("members", bare("members"), NUMBER)
_MODE: Final = Column("mode", _mode)
_REBALANCES: Final = Column("rebalances", bare("rebalances"), NUMBER)
_LOADS: Final = (
    Column("partition", bare("partition"), NUMBER),
    Column("offset", bare("offset"), NUMBER),
    _GROUP,
    Column("what", "message"),
)
_LEFT: Final = (
    Column("group", lambda row: row[1].group_id),
    Column("members", lambda row: f"{row[0].classic_members} classic, {row[0].consumer_members} consumer"),
    Column("mixed since", lambda row: None if row[0].mixed_since is None else utc_text(row[0].mixed_since)),
    Column("client", lambda row: client_text(row[1].client_id, row[1].client_host, row[1].instance_id)),
    Column("member since", lambda row: time_text(row[1].joined_ms)),
    Column("member", lambda row: row[1].member_id),
)
_DOWNGRADES: Final = (
    _GROUP,
    Column("at", "at_ms", TIME),
    Column("members", bare("converted"), NUMBER),
    Column("because", lambda row: DOWNGRADES[row.by_replacement]),
)
_COMPARED: Final = (
    _GROUP,
    Column("protocol", "protocol"),
    Column("observed", "observed_ms", SPAN),
    _REBALANCES,
    Column("per hour", bare("rebalances_per_hour"), NUMBER),
    Column("partitions stopped", bare("partitions_stopped"), NUMBER),
    Column("stop, median", "estimated_stop_p50_ms", AT_MOST),
)
_GAIN: Final = (
    _GROUP,
    _MEMBERS,
    _MODE,
    Column("assignor", "protocol"),
    Column("rebalances/h", bare("rebalances_per_hour"), NUMBER),
    Column("stopped/h", _stopped, NUMBER),
    Column("take care", lambda row: ", ".join(_cares(row))),
    Column("without an owner", lambda row: row.unowned_ms or None, AT_LEAST),
    Column("stop, p95", "stop_max_p95_ms", AT_MOST),
    Column("troubles", "troubles"),
)
_OTHERS: Final = (_GROUP, _MEMBERS, _MODE, _REBALANCES, Column("verdict", "verdict"))
_REFUSED: Final = (
    Column("reason", "reason"),
    Column("groups", lambda row: str(len(row.groups)), NUMBER),
    Column("because", "because"),
    Column("what to do", "step"),
    Column("such as", lambda row: Names(row.groups)),
    Column("in the log", lambda row: ", ".join(row.details[:_NAMED])),
    Column("clients", lambda row: Names(row.clients)),
)
_UNREAD: Final = (_GROUP, Column("state", "state"), Column("why", "meaning"))
_APPLICATIONS: Final = (
    Column("application", "application"),
    Column("groups", lambda row: str(len(row["groups"])), NUMBER),
    _MEMBERS,
    Column("verdicts", lambda row: ", ".join(f"{count:,} {verdict}" for verdict, count in row["verdicts"].items())),
    Column("hosts", lambda row: Names(row["hosts"])),
)
_CHANGED: Final = (
    Column("what", lambda row: row[0]),
    Column("groups", lambda row: str(len(row[1])), NUMBER),
    Column("such as", lambda row: Names(row[1])),
    Column("after the move", lambda row: row[2]),
)


def as_json(found: Fleet) -> dict[str, Any]:
    """Return all of it for programs: rows as objects, times as `datetime`."""
    reasons: dict[tuple[int, str], list[dict[str, Any]]] = defaultdict(list)
    for row in found.reasons:
        columns = row._asdict()
        reasons[_key(row)].append({name: columns[name] for name in columns if name not in {"group_id", "partition"}})
    groups = [
        {
            **row._asdict(),
            "reasons": reasons[_key(row)],
            "conditions": ["policy", "size_needed"] if row.verdict == ONLINE else [],
            "stopped_per_hour": stopped_per_hour(row),
        }
        for row in found.groups
    ]
    return {
        "cluster": found.run.cluster,
        "captured_at": found.run.captured_at,
        "verdicts": Counter(row.verdict for row in found.groups),
        "new_protocols": [row._asdict() for row in found.others],
        "plan": {
            "canaries": [row.group_id for row in found.canaries],
            "gain_most": [row.group_id for row in found.gaining],
        },
        "groups": groups,
        "applications": applications(found),
        "classic_members_left": [row._asdict() for _, row in found.left],
        "downgrades": [row._asdict() for row in found.downgrades],
        "before_and_after": [row._asdict() for row in found.compared],
        "release": None if found.loads is None else _loads_json(found),
        "not_in_the_log": [*CONDITIONS, *found.notes],
    }


def _loads_json(found: Fleet) -> dict[str, Any]:
    loads = found.loads
    if loads is None:
        return {}
    rows = [("refused" if each.severity == "error" else "warning", each) for each in loads.violations]
    rows += [("unknown", each) for each in loads.unknown]
    return {
        "release": found.release,
        "evaluated_as": loader(found.release or ""),
        "evaluated_how": evaluated_text(found.release or "").removeprefix(", "),
        "partitions_loaded": loads.passed,
        "without": list(loads.without),
        "findings": [
            {
                "verdict": verdict,
                **{name: getattr(each, name) for name in ("partition", "offset", "group_id", "member_id", "message")},
            }
            for verdict, each in rows
        ],
    }

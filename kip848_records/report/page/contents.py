"""The data of the page, as plain values: read from the tables with a few queries for each cluster, and bounded."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from kip848_records.expectations.captures import capture_limits
from kip848_records.kinds import CLASSIC, CONSUMER, kind_of
from kip848_records.queries.needs import lacking
from kip848_records.queries.questions import questions
from kip848_records.queries.texts import completed, read
from kip848_records.replay.blocker.advice import PATTERNS, no_evidence
from kip848_records.report.diagnosis import pattern_text, when_text
from kip848_records.report.fleet import fleet
from kip848_records.report.group_section import relations, with_rows
from kip848_records.report.group_sections import SECTIONS, for_page
from kip848_records.report.headline import SINCE, since_text
from kip848_records.report.readiness import upgrade_reasons, upgrade_text
from kip848_records.report.sql import query
from kip848_records.text import ranges_text
from kip848_records.wording import member_state_text

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from kip848_records.expectations.results import CaptureLimits, Verdict
    from kip848_records.queries.tables import Run, Tables
    from kip848_records.report.changes import Changes
    from kip848_records.report.fleet import Fleet

GROUPS_LISTED: Final = 20_000
"""How many groups of each cluster the page lists."""
GROUPS_DRAWN: Final = 6_000
"""How many groups of each cluster may have a timeline."""
INTERVALS_DRAWN: Final = 300_000
"""How many intervals of members' states they may have in all: no more fit into `page.HISTORIES_BYTES`."""
MEMBERS_SEARCHED: Final = 50
"""How many members of a group the search knows: first those that are present, then the latest."""
_SLOWEST: Final = 10
_NOT_CONSUMED: Final = 10
_BUCKETS: Final = 120
_STEPS_S: Final = (1, 5, 15, 60, 300, 900, 3600, 4 * 3600, 12 * 3600, 86_400)

_SHOWN_OF_BLOCKER: Final = (
    *("pattern", "member_id", "client_id", "client_host", "who", "sentence", "next_step", "member_ids", "lost_units"),
)
_NO_BLOCKER: Final = dict.fromkeys((*_SHOWN_OF_BLOCKER, "state")) | {
    "pattern": no_evidence().pattern,
    "sentence": no_evidence().sentence,
    "next_step": no_evidence().next,
    "member_ids": [],
    "lost_units": 0,
}
"""Of a stuck group without an ongoing rebalance in the log: its static members went away, for example."""

Fields: TypeAlias = "dict[str, Any]"


@dataclass(frozen=True)
class Contents:
    """The data of the page: the clusters at a location of tables. Times are in ms since 1970, UTC.

    `captured`: by cluster, when its log was copied; None if that is unknown. `limits`: what limits the ages of its
    open groups. `verdict`: what a check found; None if it did not run. `only`: the cluster that was asked for.
    `files`: what the check was given, by the names of its options. `groups`: rows of `groups.sql` with ``cluster``,
    ``blockers`` (ids of members, the worst first), ``blocker`` (the worst one, and what to do; of stuck groups),
    ``upgrade`` (of classic groups) and ``words``, which the search knows; `counts` counts all by health.
    `histories`: of the first, by cluster, partition and group id, the rows of each of `SECTIONS` by its name, and
    in ``omitted`` of which sections the page has a part only. `slowest`: rows of `slowest_finished.sql`.
    `not_consumed`: rows of `not_consumed.sql`.
    `all_consumed`: by cluster without such rows, what that says: how many partitions were looked at, or why none.
    `has_commits`: the clusters of which offset commits were decoded.
    `begun`: rows of `begun.sql`, spans of `step_s` seconds. `news`: lines about what changed since the run before.
    `moves`: of clusters with groups of the classic protocol, what is known of their move to the consumer protocol.
    """

    location: str
    captured: Mapping[str, int | None]
    limits: Mapping[str, CaptureLimits]
    groups: Sequence[Fields]
    counts: Mapping[str, int]
    histories: Mapping[tuple[str, int, str], Fields]
    slowest: Sequence[Fields]
    not_consumed: Sequence[Fields]
    all_consumed: Mapping[str, str]
    has_commits: Sequence[str]
    begun: Sequence[Fields]
    step_s: int
    verdict: Verdict | None = None
    only: str | None = None
    files: Mapping[str, str | None] = field(default_factory=dict)
    news: Sequence[str] = ()
    moves: Mapping[str, Fleet] = field(default_factory=dict)


def contents(
    tables: Tables,
    verdict: Verdict | None = None,
    *,
    cluster: str | None = None,
    files: Mapping[str, str | None] | None = None,
    changes: Mapping[str, Changes] | None = None,
) -> Contents:
    """Read what the page says of one cluster, or of all that the tables have.

    `verdict`: what `kip848 check` found in these tables. `files`: what it was given, by the names of its options.
    `changes`: since the run before, by cluster.
    Raises InputError as `Tables.chosen_runs` does.
    """
    runs = tables.chosen_runs(cluster)
    captured = {
        run.cluster: None if run.captured_at is None else round(run.captured_at.timestamp() * 1000) for run in runs
    }
    groups = [row for name in captured for row in _groups(tables, name)]
    groups.sort(key=_badness)
    step = _step(tables, captured)
    slowest = [row for name in captured for row in _asked(tables, name, query("slowest_finished"), slowest=_SLOWEST)]
    silent = [row for name in captured for row in _rows(tables, name, "not_consumed", members=_NOT_CONSUMED)]
    return Contents(
        location=tables.shown,
        captured=captured,
        limits={name: capture_limits(tables, name) for name in captured} if verdict is None else verdict.limits,
        groups=groups,
        counts=_counts(tables, captured),
        histories={key: found for name in captured for key, found in _histories(tables, name, groups).items()},
        slowest=sorted(slowest, key=lambda row: -row["duration_ms"])[:_SLOWEST],
        not_consumed=sorted(silent, key=lambda row: -row["silent_ms"]),
        all_consumed=_all_consumed(tables, runs, {row["cluster"] for row in silent}),
        has_commits=[run.cluster for run in runs if run.offset_commits],
        begun=_begun(tables, captured, step),
        step_s=step,
        moves={run.cluster: move for run in runs if (move := fleet(tables, run)).groups},
        verdict=verdict,
        only=cluster,
        files=files or {},
        news=[
            f"{f'Cluster {name}: ' if len(captured) > 1 else ''}{line}"
            for name, each in (changes or {}).items()
            for line in since_text(SINCE, each)
        ],
    )


def _all_consumed(tables: Tables, runs: Sequence[Run], silent: Collection[str]) -> dict[str, str]:
    """Return what it says of a cluster, by its name, that it has no partition that nobody seems to consume."""
    question = questions()["not_consumed"]
    found = {}
    for run in runs:
        lacks = [need for name, need in lacking(run).items() if name in question.needs]
        if lacks:
            found[run.cluster] = f"Not looked at, because {lacks[0].missing}: {lacks[0].way_out}"
        elif run.cluster not in silent:
            found[run.cluster] = question.nothing(tables, run.cluster)
    return found


def _rows(tables: Tables, cluster: str, name: str, **parameters: int) -> list[Fields]:
    """Return the answer to the query of a file in `sql`, with the cluster."""
    return _asked(tables, cluster, completed(read(f"report/page/sql/{name}.sql"), **relations()), **parameters)


def _asked(tables: Tables, cluster: str, text: str, **parameters: int) -> list[Fields]:
    """Return the answer to a query, with the cluster."""
    found: list[Fields] = tables.arrow(text, cluster, **parameters).to_pylist()
    return [row | {"cluster": cluster} for row in found]


def _groups(tables: Tables, cluster: str) -> list[Fields]:
    words: dict[tuple[int, str], dict[str, None]] = defaultdict(dict)
    for row in _rows(tables, cluster, "words", members=MEMBERS_SEARCHED):
        known = words[row["partition"], row["group_id"]]
        for name in ("member_id", "instance_id", "client_id", "client_host", "topics"):
            known[row[name] or ""] = None  # a dictionary keeps the order
    groups = _rows(tables, cluster, "groups", groups=GROUPS_LISTED)
    awaited: dict[tuple[int, str, int], list[Fields]] = defaultdict(list)
    for row in _rows(tables, cluster, "awaited"):
        awaited[row["partition"], row["group_id"], row["incarnation"]].append(row)
    for group in groups:
        group["kind"] = kind_of(group["group_type"], group.pop("protocol_type"))
        group["upgrade"] = _upgrade(group)
        failing = group | {"is_present": True, "lasts_ms": group["failing_ms"], "cost_share": None}
        group["when"] = when_text(failing) if group["health"] == "failing" else None
        waited_for = awaited[group["partition"], group["group_id"], group["incarnations"] - 1]
        group["blocker"] = _blocker(group, waited_for) if group["health"] == "stuck" else None
        del group["blocked_ms"]
        group["blockers"] = group["blocker"].pop("member_ids") if group["blocker"] else []
        group["words"] = " ".join(filter(None, words.get((group["partition"], group["group_id"]), ())))
    return groups


def _upgrade(group: Fields) -> list[str]:
    """Return sentences about the upgrade of a classic group of consumers to their protocol; none for other groups."""
    upgradable, reason = group.pop("upgradable"), group.pop("upgradable_reason")
    if group["kind"] != CLASSIC or group["health"] == "deleted":
        return []
    return [upgrade_text(upgradable, group["members"]), *upgrade_reasons(reason)]


def _blocker(group: Fields, awaited: Sequence[Fields]) -> Fields:
    """Return who blocks a group, with its state in words, and the partitions that it still holds."""
    found: Fields = group["blocker"] or _NO_BLOCKER
    pattern, state = found["pattern"], found["state"]
    held = [row for row in awaited if row["owner"] == found["member_id"]] if found["member_id"] else []
    over_time = None if pattern in PATTERNS else pattern_text(pattern)
    return {name: found[name] for name in _SHOWN_OF_BLOCKER} | {
        "doing": over_time if state is None else member_state_text(state, group["kind"]),
        "state_ms": None if state is None else group["blocked_ms"],
        "topics": tuple(row["topic"] for row in held),
        "holds": "; ".join(f"{row['topic']} {ranges_text(map(int, row['numbers'].split()))}" for row in held),
    }


def _badness(group: Fields) -> tuple[object, ...]:
    """Return what sorts groups as `ranked.sql` says: the worst first."""
    since = {"stuck": group["since_ms"], "failing": group["first_ms"]}.get(group["health"]) or 0
    return group["rank"], -group["harm"], since, group["group_id"], group["partition"]


def _counts(tables: Tables, clusters: Mapping[str, int | None]) -> Counter[str]:
    counted = Counter[str]()
    for cluster in clusters:
        for row in _rows(tables, cluster, "counts"):
            counted[row["health"]] += row["groups"]
    return counted


def _step(tables: Tables, clusters: Mapping[str, int | None]) -> int:
    """Return the seconds of a span, so that there are not too many of them."""
    lasted = max((_rows(tables, cluster, "lasted")[0]["seconds"] or 0 for cluster in clusters), default=0)
    return next((step for step in _STEPS_S if lasted <= step * _BUCKETS), lasted // _BUCKETS + 1)


def _begun(tables: Tables, clusters: Mapping[str, int | None], step: int) -> list[Fields]:
    counted: dict[int, Counter[str]] = defaultdict(Counter)
    for cluster in clusters:
        for row in _rows(tables, cluster, "begun", step=step):
            counted[row["at_s"]].update(rebalances=row["rebalances"], ongoing=row["ongoing"])
    return [
        {"at_s": at, "rebalances": row["rebalances"], "ongoing": row["ongoing"]} for at, row in sorted(counted.items())
    ]


def _histories(tables: Tables, cluster: str, groups: Sequence[Fields]) -> dict[tuple[str, int, str], Fields]:
    """Return what happened in groups, by their ids."""
    by_key = {(group["cluster"], group["partition"], group["group_id"]): group for group in groups}
    found: dict[tuple[str, int, str], dict[str, list[Fields]]] = {}
    for section in with_rows(tables, cluster, SECTIONS):
        for row in tables.arrow(section.query, cluster, groups=GROUPS_DRAWN, intervals=INTERVALS_DRAWN).to_pylist():
            history = found.setdefault((cluster, row["partition"], row["group_id"]), {})
            history.setdefault(section.name, []).append(row)
    unlisted = {"kind": CONSUMER, "blockers": ()}
    return {key: for_page(history, **_of(by_key.get(key, unlisted))) for key, history in found.items()}


def _of(group: Fields) -> Fields:
    return {name: group[name] for name in ("kind", "blockers")}

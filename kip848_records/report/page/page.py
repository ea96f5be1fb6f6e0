"""The contents as one HTML file: nothing is loaded from elsewhere, and no id is taken for markup."""

from __future__ import annotations

import base64
import gzip
import json
import shlex
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined

from kip848_records import __version__
from kip848_records.expectations.results import NOT_APPLICABLE, PASS, UNKNOWN
from kip848_records.kinds import KINDS
from kip848_records.machine.paths import URI
from kip848_records.report import words
from kip848_records.report.columns import Names
from kip848_records.report.fleet import sections
from kip848_records.report.group_sections import FINDINGS, SECTIONS
from kip848_records.report.page.alike import SILENT, alike
from kip848_records.report.page.phrases import (
    alike_text,
    blocker_text,
    clock,
    failing_text,
    not_consumed_text,
    silent_text,
)
from kip848_records.report.runbook import entries
from kip848_records.tables.location import is_of_sources, is_schema, location_arguments, location_text
from kip848_records.text import CLOCK_WENT_BACK, count_text, printable, ranges_text, span_text
from kip848_records.times import time_text
from kip848_records.wording import HEALTH, causes_text, member_states

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from kip848_records.report.fleet import Fleet
    from kip848_records.report.page.alike import Alike
    from kip848_records.report.page.contents import Contents, Fields

HISTORIES_BYTES: Final = 14_000_000
"""How many bytes the histories of all groups may take in the file."""
WORDS_CHARACTERS: Final = 4_000_000
"""How many characters of members, clients, hosts and topics the search knows, those of the worst groups first."""
_SHOWN: Final = 10
_STUCK_SHOWN: Final = 500
_NAMES_SHOWN: Final = 3


@dataclass(frozen=True)
class Page:
    """A page: how many groups it lists, `groups`, deleted ones apart, and how many of all have a timeline."""

    html: str
    groups: int
    deleted: int
    timelines: int


def page(contents: Contents, histories_bytes: int = HISTORIES_BYTES) -> Page:
    """Return the page, with as many histories, those of the worst groups first, as take so many bytes."""
    environment = Environment(
        loader=PackageLoader("kip848_records.report.page"),
        autoescape=True,
        finalize=_shown,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"time": time_text, "clock": clock, "span": span_text, "causes": causes_text}
    environment.tests["names"] = lambda value: isinstance(value, Names)
    histories = _packed(contents, histories_bytes)
    timelines = sum(history is not None for history in histories)
    html = environment.get_template("page.html").render(
        _overview(contents), version=__version__, timelines=timelines, data=_pack(_data(contents)), histories=histories
    )
    deleted = sum(group["health"] == "deleted" for group in contents.groups)
    return Page(html, len(contents.groups) - deleted, deleted, timelines)


def _shown(value: object) -> object:
    """Return text as the page shows it; what is markup already, such as a macro's, stays."""
    return printable(value) if type(value) is str else value


def commands(contents: Contents) -> dict[str, str]:
    """Return the arguments that name the tables from anywhere, and the check that the page has the results of."""
    location = contents.location
    is_named = is_schema(location) or is_of_sources(location) or URI.match(location)
    tables = location_arguments(location if is_named else str(Path(location).absolute()))
    cluster = "" if contents.only is None else f" --cluster {shlex.quote(contents.only)}"
    given = {name: str(Path(path).absolute()) for name, path in contents.files.items() if path is not None}
    files = "".join(f" --{name} {shlex.quote(path)}" for name, path in given.items())
    return {"tables": tables, "check": f"kip848 check {tables}{cluster}{files}"}


def _overview(contents: Contents) -> dict[str, Any]:
    """Return what the template of the overview asks for."""
    several = len(contents.captured) > 1
    listed = {(group["cluster"], group["group_id"]) for group in contents.groups}
    verdict = contents.verdict
    results = () if verdict is None else verdict.results
    not_passed = [result for result in results if result.status not in {PASS, NOT_APPLICABLE}]

    def link(cluster: str, group_id: str | None) -> str | None:
        if (cluster, group_id) not in listed:
            return None
        return "#" + urlencode({"group": group_id} | ({"cluster": cluster} if several else {}))

    return {
        "place": location_text(contents.location),
        "commands": commands(contents),
        "captured": contents.captured,
        "news": contents.news,
        "limits": [line for each in contents.limits.values() for line in words.limits_text(each)],
        "several": several,
        "counts": contents.counts,
        "health": HEALTH,
        "total": sum(contents.counts.values()),
        "listed": len(contents.groups),
        "stuck": [_stuck(cluster) for cluster in _clusters(contents)[:_STUCK_SHOWN]],
        "failing": [_failing(group) for group in contents.groups if group["health"] == "failing"][:_SHOWN],
        "slowest": contents.slowest,
        "not_consumed": [_silent(row) for row in contents.not_consumed[:_SHOWN]],
        "all_consumed": contents.all_consumed,
        "silent": int(sum({row["cluster"]: row["total"] for row in contents.not_consumed}.values())),
        "moves": [_move(cluster, each) for cluster, each in contents.moves.items()],
        "storms": _most(contents.groups, lambda group: group["peak_per_hour"] if group["peak_per_hour"] > 1 else 0),
        "idle": _most(contents.groups, lambda group: group["idle_ms"]),
        "verdict": verdict,
        "checks": "" if verdict is None else words.sentence(verdict),
        "not_passed": sorted(not_passed, key=lambda result: list(words.SAID).index(result.status)),
        "nothing": [(result.name, words.reasons(result)) for result in results if result.status == NOT_APPLICABLE],
        "runbook": entries(),
        "shown": _SHOWN,
        "named": _NAMES_SHOWN,
        "words": words,
        "kinds": KINDS,
        "link": link,
        "figure": _figure(contents),
    }


def _clusters(contents: Contents) -> list[Alike]:
    """Return stuck groups with one cause, each of one Kafka cluster; those with the most groups come first."""
    by_cluster: dict[str, list[Fields]] = defaultdict(list)
    for group in contents.groups:
        if group["health"] == "stuck":
            by_cluster[group["cluster"]].append(group)
    found = [cluster for stuck in by_cluster.values() for cluster in alike(stuck)]
    return sorted(found, key=lambda cluster: (-len(cluster.groups), cluster.groups[0]["since_ms"] or 0))


def _stuck(cluster: Alike) -> Fields:
    """Return a row of the table of stuck groups: one group, or a cluster, whose age is its oldest group's."""
    oldest = cluster.groups[0]
    is_one = len(cluster.groups) == 1
    return oldest | {
        "names": [group["group_id"] for group in cluster.groups[:_NAMES_SHOWN]],
        "groups": len(cluster.groups),
        "for": oldest["stuck_ms"],
        "blocked_by": _blocked_by(oldest) if is_one else alike_text(cluster),
        "waiting": sum(group["waiting"] for group in cluster.groups),
    }


def _blocked_by(group: Fields, *, lasting: bool = True) -> str:
    """Return what a stuck group waits for: no client, if the coordinator is silent."""
    if group["blocker"]["pattern"] == SILENT:
        return silent_text(group["partition"])
    return blocker_text(group["blocker"], lasting=lasting)


def _failing(group: Fields) -> Fields:
    """Return a row of the table of groups that fail over time."""
    return group | {"trouble": failing_text(group), "for": group["failing_ms"]}


def _silent(row: Fields) -> Fields:
    """Return a row of the table of partitions that nobody seems to consume."""
    least, most = row["least_committed"], row["most_committed"]
    committed = "nothing" if least is None else f"{least:,}" if least == most else f"{least:,} to {most:,}"
    places = ranges_text(map(int, row["numbers"].split()))
    return row | {"because": not_consumed_text(row), "places": places, "committed": committed}


def _move(cluster: str, found: Fleet) -> Fields:
    """Return what the page says of a cluster's move: the sections of `kip848 migration`."""
    whole, *others = sections(found)
    return {"cluster": cluster, "whole": whole, "sections": others}


def _most(groups: Sequence[Fields], value: Callable[[Fields], int | None]) -> list[Fields]:
    """Return the groups with most of something; none that has nothing."""
    return sorted((group for group in groups if value(group)), key=lambda group: -(value(group) or 0))[:_SHOWN]


def _figure(contents: Contents) -> dict[str, Any] | None:
    """Return the bars of the rebalances over time, in percent of the figure's width and height."""
    if not contents.begun:
        return None
    first, last = contents.begun[0]["at_s"], contents.begun[-1]["at_s"] + contents.step_s
    most = max(row["rebalances"] for row in contents.begun)
    width = 100 * contents.step_s / (last - first)
    bars = [
        {
            "x": 100 * (row["at_s"] - first) / (last - first),
            "height": 100 * row["rebalances"] / most,
            "ongoing": 100 * row["ongoing"] / most,
            "says": f"{clock(row['at_s'] * 1000)}: {count_text(row['rebalances'], 'rebalance')} began"
            + (f", {row['ongoing']:,} of them ongoing at capture" if row["ongoing"] else ""),
        }
        for row in contents.begun
    ]
    return {
        "bars": bars,
        "width": width,
        "most": most,
        "first": clock(first * 1000),
        "last": clock(last * 1000),
    }


def _data(contents: Contents) -> dict[str, Any]:
    """Return what the page's scripts know from the start."""
    counted: dict[tuple[str, str | None], Counter[str]] = defaultdict(Counter)
    for cluster, group_id, finding in _findings(contents):
        counted[cluster, group_id][finding["severity"]] += 1
    clusters = [cluster for cluster in _clusters(contents) if len(cluster.groups) > 1]
    nth_alike = {id(group): nth for nth, cluster in enumerate(clusters, 1) for group in cluster.groups}
    patterns = {group["blocker"]["pattern"] for group in contents.groups if group["blocker"]}
    patterns |= {row["pattern"] for each in contents.histories.values() for row in each.get("diagnosis", ())}
    present = {group["kind"] for group in contents.groups}
    groups, room = [], WORDS_CHARACTERS
    for group in contents.groups:
        room -= len(group["words"])
        found = counted[group["cluster"], group["group_id"]]
        groups.append(
            group
            | {
                "words": group["words"] if room > 0 else "",
                "trouble": _trouble(group),
                "alike": nth_alike.get(id(group)),
                "errors": found["error"],
                "warnings": found["warn"],
            }
        )
    return {
        **commands(contents),
        "captured": contents.captured,
        "hasCommits": contents.has_commits,
        "groups": _columns(groups),
        "alike": [alike_text(cluster) for cluster in clusters],
        "runbook": {pattern: entries()[pattern] for pattern in sorted(patterns & entries().keys())},
        "health": HEALTH,
        "sections": [section.name for section in (FINDINGS, *SECTIONS)],
        "groupTables": {
            kind: [section.for_page(kind) for section in (FINDINGS, *SECTIONS) if section.columns]
            for kind in KINDS
            if kind in present
        },
        "clockWentBack": CLOCK_WENT_BACK,
        "kinds": {name: kind.for_page() | {"states": member_states(name)} for name, kind in KINDS.items()},
        "hasFindings": contents.verdict is not None,
    }


def _trouble(group: Fields) -> str | None:
    """Return what is wrong with a group, for the list of all groups: a text that has no times in it."""
    if group["health"] == "stuck":
        return _blocked_by(group, lasting=False)
    return failing_text(group) if group["health"] == "failing" else None


def _packed(contents: Contents, limit: int) -> list[str | None]:
    """Return the histories of groups, in their order, in gzip and base64; None for those that have no room left."""
    findings = defaultdict(list)
    for cluster, group_id, finding in _findings(contents):
        findings[cluster, group_id].append(finding)
    packed: list[str | None] = []
    for group in contents.groups:
        key = group["cluster"], group["partition"], group["group_id"]
        history = contents.histories.get(key) if limit > 0 else None
        text = None
        if history is not None:
            tables = history | {FINDINGS.name: FINDINGS.rows_for_page(findings[group["cluster"], group["group_id"]])}
            text = _pack({name: rows if name == "omitted" else _columns(rows) for name, rows in tables.items()})
        limit -= len(text or "")
        packed.append(text if limit > 0 else None)
    return packed


def _columns(rows: Sequence[Fields]) -> Fields:
    """Return rows as columns, which take a third less when they are packed."""
    return {column: [row[column] for row in rows] for column in rows[0]} if rows else {}


def _pack(value: object) -> str:
    """Return a value as JSON in gzip and base64: small, and nothing that an HTML parser takes for markup."""
    text = json.dumps(value, separators=(",", ":"))
    return base64.b64encode(gzip.compress(text.encode(), 6, mtime=0)).decode()


def _findings(contents: Contents) -> Iterator[tuple[str, str | None, Fields]]:
    """Yield every finding with its cluster and group, and its expectation's name."""
    for result in () if contents.verdict is None else contents.verdict.results:
        for found in result.violations:
            yield found.cluster, found.group_id, found.columns() | {"expectation": result.name}
        for found in result.unknown:
            yield found.cluster, found.group_id, found.columns() | {"expectation": result.name, "severity": UNKNOWN}

"""The contents as one HTML file: nothing is loaded from elsewhere, and no id is taken for markup."""

from __future__ import annotations

import base64
import gzip
import json
from collections import Counter, defaultdict
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from plotly.offline import get_plotlyjs

from kip848_records import __version__
from kip848_records.quality.results import PASS, UNKNOWN
from kip848_records.report import words
from kip848_records.report.page.figures import CAUSES, bumps_figure
from kip848_records.report.page.groups import DELETED
from kip848_records.summary import NOT_CONVERGED
from kip848_records.summary import verdict as sentence
from kip848_records.tables.places import place_arguments, place_text
from kip848_records.terminal import count_text, duration_text, ms_text, time_text
from kip848_records.timeline.censoring import CENSORED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from kip848_records.report.page.contents import Contents, Fields

HISTORIES_BYTES: Final = 14_000_000
"""How many bytes the histories of all groups may take in the file."""
_SHOWN: Final = 10
_SECOND, _MINUTE = 1000, 60_000


@dataclass(frozen=True)
class Page:
    """A page: of how many groups it tells at all, `listed`, and of how many what happened, `told`."""

    html: str
    listed: int
    told: int


def page(contents: Contents, histories_bytes: int = HISTORIES_BYTES) -> Page:
    """Return the page, with as many histories, those of the worst groups first, as take so many bytes."""
    environment = Environment(
        loader=PackageLoader("kip848_records.report.page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"time": time_text, "clock": clock, "span": span, "ms": ms_text, "counted": count_text}
    histories = _packed(contents, histories_bytes)
    told = sum(history is not None for history in histories)
    html = environment.get_template("page.html").render(
        _overview(contents),
        version=__version__,
        told=told,
        data=_pack(_data(contents)),
        histories=histories,
        plotly=_pack(get_plotlyjs()),
    )
    return Page(html, len(contents.groups), told)


def span(millis: int | None) -> str:
    """Return a time span for people: all digits below a minute, else its two largest units; "" if it is negative."""
    if millis is None or millis < 0 or millis >= _MINUTE:
        return duration_text(millis)
    return f"{millis} ms" if millis < _SECOND else f"{millis / _SECOND:.3f}".rstrip("0").rstrip(".") + " s"


def clock(millis: int | None) -> str:
    """Return a time without its zone, for the cells of a column that names it."""
    return time_text(millis).removesuffix(" UTC")


def _overview(contents: Contents) -> dict[str, Any]:
    """Return what the template of the overview asks for."""
    convergence, states = Counter[str](), Counter[tuple[str, str]]()
    for (state, group_type, kind), count in contents.counts.items():
        convergence[kind] += count
        states[state, group_type] += count
    deleted = convergence.pop(DELETED, 0)
    several = len(contents.verdict.captured_at) > 1
    places = {(group["cluster"], group["group_id"]) for group in contents.groups}

    def link(cluster: str, group_id: str, epoch: int | None = None) -> str | None:
        if (cluster, group_id) not in places:
            return None
        named = {"group": group_id} | ({"cluster": cluster} if several else {})
        return "#" + urlencode(named | ({} if epoch is None else {"epoch": epoch}))

    return {
        "tables": place_arguments(contents.folder),
        "place": place_text(contents.folder),
        "captured": _captured(contents),
        "several": several,
        "sentence": sentence(convergence) + (f"; {count_text(deleted, 'group')} deleted" if deleted else ""),
        "states": sorted(states.items(), key=lambda item: (item[0][0] == DELETED, item[0])),
        "total": sum(contents.counts.values()),
        "listed": len(contents.groups),
        "behind": [group for group in contents.groups if group["convergence"] == NOT_CONVERGED][:_SHOWN],
        "behind_total": convergence[NOT_CONVERGED],
        "slowest": contents.slowest,
        "storms": _most(contents.groups, lambda group: (group["most"] or {}).get("in_hour")),
        "unowned": _most(contents.groups, lambda group: group["unowned_ms"]),
        "verdict": contents.verdict,
        "checks": words.sentence(contents.verdict),
        "not_passed": [result for result in contents.verdict.results if result.status != PASS],
        "shown": _SHOWN,
        "words": words,
        "causes": {cause: said for cause, (said, _, _) in CAUSES.items()},
        "censored": CENSORED,
        "link": link,
        "has_bumps": bool(contents.bumps),
    }


def _captured(contents: Contents) -> dict[str, int | None]:
    times = contents.verdict.captured_at.items()
    return {cluster: None if at is None else round(at.timestamp() * 1000) for cluster, at in times}


def _most(groups: Sequence[Fields], value: Callable[[Fields], int | None]) -> list[Fields]:
    """Return the groups with most of something; none that has nothing."""
    return sorted((group for group in groups if value(group)), key=lambda group: -(value(group) or 0))[:_SHOWN]


def _data(contents: Contents) -> dict[str, Any]:
    """Return what the page's scripts know from the start."""
    counted: dict[tuple[str, str | None], Counter[str]] = defaultdict(Counter)
    for result in contents.verdict.results:
        for found in result.violations:
            counted[found.cluster, found.group_id][found.severity] += 1
    return {
        "tables": place_arguments(contents.folder),
        "captured": _captured(contents),
        "groups": [group | counted[group["cluster"], group["group_id"]] for group in contents.groups],
        "causes": CAUSES,
        "bumps": bumps_figure(contents.bumps, contents.step_s),
    }


def _packed(contents: Contents, limit: int) -> list[str | None]:
    """Return the histories of groups, in their order, in gzip and base64; None for those that have no room left."""
    findings = defaultdict(list)
    for cluster, group_id, finding in _findings(contents):
        findings[cluster, group_id].append(finding)
    packed: list[str | None] = []
    for group in contents.groups:
        key = group["cluster"], group["group_id"]
        history = contents.histories.get(key) if limit > 0 else None
        text = None if history is None else _pack(_columns(history | {"findings": findings[key]}))
        limit -= len(text or "")
        packed.append(text if limit > 0 else None)
    return packed


def _columns(history: Fields) -> Fields:
    """Return a history with its rows as columns, which take a third less when they are packed."""
    return {
        name: {column: [row[column] for row in rows] for column in rows[0]} if _is_table(rows) else rows
        for name, rows in history.items()
    }


def _is_table(rows: object) -> bool:
    return isinstance(rows, list) and bool(rows) and isinstance(rows[0], dict)


def _pack(value: object) -> str:
    """Return a value as JSON in gzip and base64: small, and nothing that an HTML parser takes for markup."""
    text = json.dumps(value, separators=(",", ":"))
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()


def _findings(contents: Contents) -> Iterator[tuple[str, str | None, Fields]]:
    """Yield every finding with its cluster and group, and its expectation's name."""
    for result in contents.verdict.results:
        for found in result.violations:
            yield found.cluster, found.group_id, asdict(found) | {"expectation": result.name}
        for found in result.unknown:
            yield found.cluster, found.group_id, asdict(found) | {"expectation": result.name, "severity": UNKNOWN}

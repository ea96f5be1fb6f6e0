"""The query of an expectation: its text with limits, shared relations and functions.

A text may use the tables, and:

- `limits`: ``group_id``, ``severity``, and for each limit its value and ``<name>_text``, in readable form. It has a row
  for every group id in the tables that the text names, and one with a null.
- the relations in `shared/`, one file each.
- the functions of `_FUNCTIONS`, which are replaced by their text, so that both engines support them.
- the column ``names_blocker`` of its answer, a boolean: the finding is about the group's ongoing rebalance, so that
  `kip848 check` names the member that blocks it, and adds the sentence that all reports have about it.
- the parameters ``:captured_at`` and ``:dialect`` of the run, and ``:now``. The age of what is open is not measured to
  that time, but to that of its partition: ``group_state.captured_at``, or ``captures.captured_at``.
"""

from __future__ import annotations

import re
from decimal import ROUND_HALF_UP, Decimal
from importlib.resources import files
from typing import TYPE_CHECKING, Final

from kip848_records.queries.tables import words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from kip848_records.expectations.files import Expectation, Setting
    from kip848_records.queries.tables import Parameter

PLACE: Final = ("group_id", "group_epoch", "member_id", "partition", "offset")
DETAIL: Final = (*PLACE, "severity", "message")
NAMES_BLOCKER: Final = "names_blocker"

WITH_GROUPS: Final = frozenset(
    {
        *("group_state", "group_state_timeline", "epoch_timeline", "rebalance", "rebalance_lag", "partition_handover"),
        *("membership", "member_state_timeline", "regex_resolution", "anomaly", "latest_state"),
        *("classic_generation", "classic_member", "connect_assignment", "group_migration"),
        *("ownership", "share_partition_state", "task_handover"),
    }
)
"""The tables that have the column `group_id` in each audit."""

_SHARED: Final = {
    file.name.removesuffix(".sql"): file.read_text(encoding="utf-8")
    for file in files("kip848_records.expectations").joinpath("shared").iterdir()
    if file.name.endswith(".sql")
}

_FUNCTIONS: Final[Mapping[str, Callable[..., str]]] = {
    "verdict": lambda violated, known: (
        f"CASE WHEN ({known}) AND ({violated}) IS NOT NULL "
        f"THEN CASE WHEN {violated} THEN 'violation' ELSE 'pass' END ELSE 'unknown' END"
    ),
    "text": lambda value: f"coalesce(CAST({value} AS string), '?')",
    "seconds": lambda ms: f"regexp_replace(CAST(CAST(({ms}) / 1000 AS decimal(20, 3)) AS string), '[.]?0+$', '')",
    "duration": lambda ms: (
        f"CASE WHEN {ms} >= 0 THEN coalesce(nullif(concat_ws(' ', {', '.join(_units(ms))}), ''), '0 s') ELSE '' END"
    ),
    "span": lambda ms: f"CASE WHEN {ms} >= 0 THEN concat(seconds({ms}), ' s') ELSE {_no_span(ms)} END",
    "no_less": lambda ms: f"concat(CASE WHEN {ms} >= 0 THEN 'at least ' ELSE '' END, span({ms}))",
    "at_least": lambda ms: f"CASE WHEN {ms} >= 0 THEN concat('≥ ', duration({ms})) ELSE {_no_span(ms)} END",
    "counted": lambda count, what: (
        f"concat(CASE WHEN {count} < 1000 THEN CAST({count} AS string) ELSE "
        f"concat({_whole(count, 1000)}, ',', lpad(CAST({count} % 1000 AS string), 3, '0')) END, "
        f"CASE WHEN {count} = 1 THEN ' {what}' ELSE ' {what}s' END)"
    ),
    "ms_between": lambda start, end: f"(unix_millis({end}) - unix_millis({start}))",
    "lasted_ms": lambda start, end: _not_negative(f"ms_between({start}, {end})"),
    "hex_number": lambda digits: "({})".format(
        " + ".join(
            f"{16**power} * (instr('0123456789ABCDEF', substring({digits}, {4 - power}, 1)) - 1)" for power in range(4)
        )
    ),
}
_CALL: Final = re.compile(rf"(?<![\w.])({'|'.join(_FUNCTIONS)})\(")
_COMMENT: Final = re.compile(r"('(?:[^']|'')*')|--[^\n]*")


def query(expectation: Expectation, setting: Setting, kept: int) -> tuple[str, dict[str, Parameter]]:
    """Return a query and its parameters, except those of the run.

    The query returns the first rows of each verdict, errors first: ``verdict, nth``, `DETAIL`, and the counts of all
    rows with this verdict, ``total`` and ``errors``. All passed rows become one row.
    """
    text = _plain(expectation.text)
    shared = _shared(text)
    limits, parameters = _limits(expectation, setting, [text, *shared.values()])
    relations = {**shared, "limits": limits, "evaluated_": text}
    named = ",\n".join(f"{name} AS (\n{body}\n)" for name, body in relations.items())
    detail = (*DETAIL, NAMES_BLOCKER) if NAMES_BLOCKER in words(text) else DETAIL
    alike = ", ".join(f"CASE WHEN verdict <> 'pass' THEN judged_.{name} END AS {name}" for name in detail)
    details = ", ".join(f"judged_.{name}" for name in detail)
    order = ", ".join(f"judged_.{name}" for name in ("severity", *PLACE, "message"))
    places = ", ".join(f"evaluated_.{name}" for name in (*PLACE, "message", *detail[len(DETAIL) :]))
    return (
        f"""WITH {named},
rated_ AS (
    SELECT evaluated_.verdict, {places}, coalesce(evaluated_.severity, limits.severity) AS severity
    FROM evaluated_
    JOIN limits ON limits.group_id IS NOT DISTINCT FROM evaluated_.group_id
    WHERE limits.severity <> 'off'
),
alike_ AS (SELECT verdict, {alike} FROM rated_ AS judged_),
counted_ AS (SELECT verdict, {details}, count(*) AS n FROM alike_ AS judged_ GROUP BY verdict, {details}),
ranked_ AS (
    SELECT
        judged_.*,
        CAST(sum(n) OVER (PARTITION BY verdict) AS bigint) AS total,
        CAST(sum(CASE WHEN severity = 'error' THEN n ELSE 0 END) OVER (PARTITION BY verdict) AS bigint) AS errors,
        row_number() OVER (PARTITION BY verdict ORDER BY {order}) AS nth
    FROM counted_ AS judged_
)
SELECT verdict, nth, total, errors, {details} FROM ranked_ AS judged_ WHERE nth <= {kept} ORDER BY verdict, nth""",  # noqa: S608 - of our own texts
        parameters,
    )


def _no_span(ms: str) -> str:
    """Return the text of a time span that is not known: null, or negative."""
    because = "concat(': the broker', chr(39), 's clock went back')"
    return f"concat('an unknown time', CASE WHEN {ms} < 0 THEN {because} ELSE '' END)"


def _not_negative(value: str) -> str:
    return f"CASE WHEN {value} >= 0 THEN {value} END"


def _whole(number: str, divisor: int) -> str:
    return f"CAST(floor({number} / {divisor}) AS bigint)"


def _units(ms: str) -> Iterator[str]:
    """Yield the parts of a time span as `terminal.duration_text` has them: the two largest units that are not 0."""
    days, hours, minutes = (f"({ms} >= {size})" for size in (86_400_000, 3_600_000, 60_000))
    has_hours, has_minutes = f"({_whole(ms, 3_600_000)} % 24 > 0)", f"({_whole(ms, 60_000)} % 60 > 0)"
    two = f"({days} AND {has_hours})"
    yield _unit(_whole(ms, 86_400_000), "d", days)
    yield _unit(f"{_whole(ms, 3_600_000)} % 24", "h", f"{hours} AND {has_hours}")
    yield _unit(f"{_whole(ms, 60_000)} % 60", "min", f"{minutes} AND {has_minutes} AND NOT {two}")
    three = f"({two} OR (({days} OR {has_hours}) AND {has_minutes}))"
    yield _unit(f"{_whole(ms, 1000)} % 60", "s", f"{_whole(ms, 1000)} % 60 > 0 AND NOT {three}")


def _unit(count: str, unit: str, condition: str) -> str:
    return f"CASE WHEN {condition} THEN concat(CAST({count} AS string), ' {unit}') END"


def relation(name: str) -> str:
    """Return the text of a relation in `shared/` that uses no other one."""
    return _plain(_SHARED[name])


def _shared(text: str) -> dict[str, str]:
    """Return the shared relations that a text names, and those that they name, each behind those."""
    found: dict[str, str] = {}
    for name in sorted(_SHARED.keys() & set(words(text))):
        plain = _plain(_SHARED[name])
        found |= {**_shared(plain), name: plain}
    return found


def _limits(expectation: Expectation, setting: Setting, texts: Sequence[str]) -> tuple[str, dict[str, Parameter]]:
    named = {word for text in texts for word in words(text)}
    sources = sorted(named & WITH_GROUPS) + (["quarantined"] if "quarantined" in named else [])
    ids = " UNION ".join(
        [*(f"SELECT group_id FROM {name}" for name in sources), "SELECT CAST(NULL AS string) AS group_id"]  # noqa: S608
    )
    parameters: dict[str, Parameter] = {}
    columns = {"severity": (setting.severity, [each.severity for each in setting.groups.values()])}
    for name, limit in expectation.limits.items():
        values = [each.limits.get(name, limit.default) for each in (setting, *setting.groups.values())]
        numbers: list[Parameter] = [float(value) for value in values]
        columns[name] = (numbers[0], numbers[1:])  # type: ignore[assignment]
        columns[f"{name}_text"] = (number(values[0]), [number(value) for value in values[1:]])
    for nth, pattern in enumerate(setting.groups):
        parameters[f"pattern_{nth}"] = _like(pattern)
    selected = []
    for name, (default, group_values) in columns.items():
        kind = "double" if name in expectation.limits else "string"
        parameters[f"of_all_{name}"] = default
        cases = ""
        for nth, value in enumerate(group_values):
            parameters[f"of_{nth}_{name}"] = value
            cases += f" WHEN group_id LIKE :pattern_{nth} ESCAPE '!' THEN CAST(:of_{nth}_{name} AS {kind})"
        default_value = f"CAST(:of_all_{name} AS {kind})"
        selected.append(f"CASE{cases} ELSE {default_value} END AS {name}" if cases else f"{default_value} AS {name}")
    return f"SELECT group_id, {', '.join(selected)} FROM ({ids}) AS ids_", parameters  # noqa: S608


def _like(pattern: str) -> str:
    escaped = "".join(f"!{character}" if character in "!%_" else character for character in pattern)
    return escaped.replace("*", "%").replace("?", "_")


def number(value: float) -> str:
    """Return a number in readable form: without an exponent, and without trailing zeros in a fraction."""
    text = format(Decimal(repr(value)).quantize(Decimal("1e-6"), ROUND_HALF_UP), "f")
    return text.rstrip("0").rstrip(".")


def _plain(text: str) -> str:
    """Return a text without comments, with the functions of `_FUNCTIONS` replaced."""
    text = _COMMENT.sub(lambda found: found[1] or "", text)
    while found := _CALL.search(text):
        arguments, end = _arguments(text, found.end())
        text = text[: found.start()] + _FUNCTIONS[found[1]](*arguments) + text[end:]
    return text


def _arguments(text: str, start: int) -> tuple[list[str], int]:
    """Return the arguments of a call, which begin at `start`, and the end of the call."""
    arguments, depth, begin, is_literal = [], 0, start, False
    for place in range(start, len(text)):
        character = text[place]
        if character == "'":
            is_literal = not is_literal
        elif is_literal:
            continue
        elif character == "(":
            depth += 1
        elif character == ")" and depth:
            depth -= 1
        elif (character == "," and not depth) or character == ")":
            arguments.append(text[begin:place].strip())
            begin = place + 1
            if character == ")":
                return arguments, begin
    message = "a parenthesis is not closed"
    raise ValueError(message)

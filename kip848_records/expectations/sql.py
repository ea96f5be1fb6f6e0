"""The query of an expectation: its text with limits, shared relations and functions.

A text may use the tables, and:

- `limits`: ``group_id``, ``severity``, and for each limit its value and ``<name>_text``, in readable form. It has a row
  for every group id in the tables that the text names, and one with a null.
- the relations in `queries/relations/`, one file each.
- the functions of `queries/functions.sql`, which are replaced by their text, so that both engines support them.
- the column ``severity`` of its answer: ``warn`` for a violation that is at most a warning, else null.
- the column ``names_blocker`` of its answer, a boolean: the finding is about the group's ongoing rebalance, so that
  `kip848 check` names the member that blocks it, and adds the sentence that all reports have about it.
- the column ``advice_in_message`` of its answer: the part of the message that says what to do. Reports for people
  say it once for several findings of one cause.
- the column ``lasts_ms`` of its answer: for how long what it finds lasts at the capture, or lasted, in ms. Programs get
  it beside the message, which says it in words.
- the column ``expectation`` of its answer, if the text is that of several expectations of this package
  (`Expectation.is_shared`): which of them a row is about. `limits` then has such a column too, and a row for each of
  them and each group id.
- the parameters ``:captured_at`` and ``:dialect`` of the run, and ``:now``. The age of what is open is not measured to
  that time, but to that of its partition: ``group_state.captured_at``, or ``captures.captured_at``.
"""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal
from typing import TYPE_CHECKING, Final

from kip848_records.queries.tables import words
from kip848_records.queries.texts import literal, plain, read, relations_of, rendered
from kip848_records.specs.tables import WITH_GROUPS
from kip848_records.text import duration_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from kip848_records.expectations.files import Expectation, Setting
    from kip848_records.queries.tables import Parameter

    _Columns = dict[str, tuple[str, list[Parameter]]]

PLACE: Final = ("group_id", "group_epoch", "member_id", "partition", "offset")
SEVERITY: Final = "severity"
VERDICT: Final = "verdict"
EXPECTATION: Final = "expectation"
DETAIL: Final = (*PLACE, SEVERITY, "message")
NAMES_BLOCKER: Final = "names_blocker"
ADVICE: Final = "advice_in_message"
LASTS: Final = "lasts_ms"

_EVALUATED: Final = "expectations/templates/evaluated.sql"
_LIMITS: Final = "expectations/templates/limits.sql"
_SILENCE: Final = "least_silence"
_SILENCE_LIMIT: Final = "min_silence"
_SILENCE_OF_LIMITS: Final = "expectations/templates/least_silence.sql"


def query(
    expectations: Sequence[Expectation],
    settings: Mapping[str, Setting],
    kept: int,
    without: Mapping[str, Sequence[str | None]] | None = None,
    *,
    only: str | None = None,
) -> tuple[str, dict[str, Parameter]]:
    """Return a query about expectations of one text (`grouped_by_text`), and its parameters, except those of the run.

    The query returns the first rows of each verdict, errors first: ``verdict, nth``, `DETAIL`, and the counts of all
    rows with this verdict, ``total`` and ``errors``. All passed rows become one row. A shared text returns these for
    each ``expectation``. `settings`: by the name of each. `without`: the groups of which nothing counts, by the name of
    an expectation; None stands for what concerns many groups. `only`: what is not about this group does not count
    either.
    """
    text = plain(expectations[0].text)
    # How long is too long is a limit of these expectations, and a rule of the relation.
    own = {_SILENCE: read(_SILENCE_OF_LIMITS)} if _SILENCE_LIMIT in expectations[0].limits else {}
    shared = relations_of(text, own)
    own_words = words(text)
    is_shared = expectations[0].is_shared
    named = {word for each in (text, *shared.values()) for word in words(each)}
    limits, parameters = _limits(expectations, settings, sorted(named & WITH_GROUPS), is_shared=is_shared)
    more = tuple(name for name in (NAMES_BLOCKER, ADVICE, LASTS) if name in own_words)
    rows = rendered(
        _EVALUATED,
        relations={"limits": limits, **shared, "evaluated_": text},
        by=(EXPECTATION, VERDICT) if is_shared else (VERDICT,),
        place=PLACE,
        detail=(*DETAIL, *more),
        more=more,
        has_severity=SEVERITY in own_words,
        excluded=[*_excluded(without or {}, is_shared=is_shared), *_not_about(only)],
        kept=kept,
    )
    return rows, parameters


def grouped_by_text(expectations: Iterable[Expectation]) -> list[list[Expectation]]:
    """Return the expectations in groups, of which one query evaluates each: those that share a text, others alone."""
    found: dict[str, list[Expectation]] = {}
    for each in expectations:
        found.setdefault(plain(each.text) if each.is_shared else each.name, []).append(each)
    return [*found.values()]


def _excluded(without: Mapping[str, Sequence[str | None]], *, is_shared: bool) -> Iterator[str]:
    for name, group_ids in without.items():
        of_name = f"evaluated_.expectation = {literal(name)} AND " if is_shared else ""
        if ids := [literal(group_id) for group_id in group_ids if group_id is not None]:
            yield f"{of_name}evaluated_.group_id IN ({', '.join(ids)})"
        if None in group_ids:
            yield f"{of_name}evaluated_.group_id IS NULL"


def _not_about(only: str | None) -> Iterator[str]:
    if only is not None:
        yield f"evaluated_.group_id IS DISTINCT FROM {literal(only)}"


def _limits(
    expectations: Sequence[Expectation], settings: Mapping[str, Setting], tables: Sequence[str], *, is_shared: bool
) -> tuple[str, dict[str, Parameter]]:
    parameters: dict[str, Parameter] = {}
    parts = []
    for part, (names, patterns, columns) in enumerate(_grouped_by_setting(expectations, settings)):
        parts.append(([*map(literal, names)], [(name, type_, len(patterns)) for name, (type_, _) in columns.items()]))
        parameters |= {f"pattern_{part}_{nth}": _like(pattern) for nth, pattern in enumerate(patterns)}
        for name, (_, values) in columns.items():
            places = ("all", *range(len(patterns)))
            parameters |= {f"of_{part}_{place}_{name}": value for place, value in zip(places, values, strict=True)}
    return rendered(_LIMITS, tables=tables, parts=parts, has_names=is_shared), parameters


def _grouped_by_setting(
    expectations: Sequence[Expectation], settings: Mapping[str, Setting]
) -> list[tuple[list[str], list[str], _Columns]]:
    """Return the expectations of equal limits and severities together: their names, patterns of groups, columns."""
    found: list[tuple[list[str], list[str], _Columns]] = []
    for each in expectations:
        setting = settings[each.name]
        patterns, columns = [*setting.groups], _columns(each, setting)
        if (names := next((names for names, *same in found if same == [patterns, columns]), None)) is None:
            found.append(([each.name], patterns, columns))
        else:
            names.append(each.name)
    return found


def _columns(expectation: Expectation, setting: Setting) -> _Columns:
    """Return type and values of each column of `limits`: of all groups, then of those of each pattern."""
    every = (setting, *setting.groups.values())
    columns: _Columns = {SEVERITY: ("string", [each.severity for each in every])}
    for name, limit in expectation.limits.items():
        values = [each.limits.get(name, limit.default) for each in every]
        columns[name] = ("double", [float(value) for value in values])
        columns[f"{name}_text"] = ("string", [limit_text(value, limit.unit) for value in values])
    return columns


def _like(pattern: str) -> str:
    escaped = "".join(f"!{character}" if character in "!%_" else character for character in pattern)
    return escaped.replace("*", "%").replace("?", "_")


def limit_text(value: float, unit: str) -> str:
    """Return a limit in readable form: seconds as a time span, others without an exponent and trailing zeros."""
    if unit == "seconds":
        return duration_text(round(value * 1000))
    text = format(Decimal(repr(value)).quantize(Decimal("1e-6"), ROUND_HALF_UP), "f")
    return text.rstrip("0").rstrip(".")

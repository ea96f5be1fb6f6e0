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
    from collections.abc import Sequence

    from kip848_records.expectations.files import Expectation, Setting
    from kip848_records.queries.tables import Parameter

PLACE: Final = ("group_id", "group_epoch", "member_id", "partition", "offset")
SEVERITY: Final = "severity"
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
    expectation: Expectation,
    setting: Setting,
    kept: int,
    without_groups: Sequence[str | None] = (),
    *,
    only: str | None = None,
) -> tuple[str, dict[str, Parameter]]:
    """Return a query and its parameters, except those of the run.

    The query returns the first rows of each verdict, errors first: ``verdict, nth``, `DETAIL`, and the counts of all
    rows with this verdict, ``total`` and ``errors``. All passed rows become one row. What is about
    `without_groups` does not count; None stands for what concerns many groups. `only`: what is not about this group
    does not count either.
    """
    text = plain(expectation.text)
    # How long is too long is a limit of these expectations, and a rule of the relation.
    own = {_SILENCE: read(_SILENCE_OF_LIMITS)} if _SILENCE_LIMIT in expectation.limits else {}
    shared = relations_of(text, own)
    limits, parameters = _limits(expectation, setting, [text, *shared.values()])
    own_words = words(text)
    more = tuple(name for name in (NAMES_BLOCKER, ADVICE, LASTS) if name in own_words)
    relations = {"limits": limits, **shared, "evaluated_": text}
    detail = (*DETAIL, *more)
    ids = [literal(group_id) for group_id in without_groups if group_id is not None]
    excluded = [f"evaluated_.group_id IN ({', '.join(ids)})"] if ids else []
    excluded += ["evaluated_.group_id IS NULL"] if None in without_groups else []
    excluded += [] if only is None else [f"evaluated_.group_id IS DISTINCT FROM {literal(only)}"]
    values = {"relations": relations, "place": PLACE, "detail": detail, "more": more}
    has_severity = SEVERITY in own_words
    return rendered(_EVALUATED, kept=kept, excluded=excluded, has_severity=has_severity, **values), parameters


def _limits(expectation: Expectation, setting: Setting, texts: Sequence[str]) -> tuple[str, dict[str, Parameter]]:
    named = {word for text in texts for word in words(text)}
    sources = sorted(named & WITH_GROUPS)
    parameters: dict[str, Parameter] = {}
    columns = {"severity": (setting.severity, [each.severity for each in setting.groups.values()])}
    for name, limit in expectation.limits.items():
        values = [each.limits.get(name, limit.default) for each in (setting, *setting.groups.values())]
        numbers: list[Parameter] = [float(value) for value in values]
        columns[name] = (numbers[0], numbers[1:])  # type: ignore[assignment]
        texts_of = [limit_text(value, limit.unit) for value in values]
        columns[f"{name}_text"] = (texts_of[0], texts_of[1:])
    for nth, pattern in enumerate(setting.groups):
        parameters[f"pattern_{nth}"] = _like(pattern)
    selected = []
    for name, (default, group_values) in columns.items():
        parameters[f"of_all_{name}"] = default
        parameters |= {f"of_{nth}_{name}": value for nth, value in enumerate(group_values)}
        selected.append((name, "double" if name in expectation.limits else "string", len(group_values)))
    return rendered(_LIMITS, tables=sources, columns=selected), parameters


def _like(pattern: str) -> str:
    escaped = "".join(f"!{character}" if character in "!%_" else character for character in pattern)
    return escaped.replace("*", "%").replace("?", "_")


def limit_text(value: float, unit: str) -> str:
    """Return a limit in readable form: seconds as a time span, others without an exponent and trailing zeros."""
    if unit == "seconds":
        return duration_text(round(value * 1000))
    text = format(Decimal(repr(value)).quantize(Decimal("1e-6"), ROUND_HALF_UP), "f")
    return text.rstrip("0").rstrip(".")

"""What an expectation is: a name, a rule, and the numbers that its rule takes from the configuration."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pyspark.sql import Column, Window
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType, LongType, StringType, StructField, StructType

from kip848_records.timeline.durations import literal, ms_between

if TYPE_CHECKING:
    from datetime import datetime

    from pyspark.sql import DataFrame, WindowSpec

PASS: Final = "pass"  # noqa: S105 - no password
VIOLATION: Final = "violation"
UNKNOWN: Final = "unknown"

ERROR: Final = "error"
WARN: Final = "warn"

Limits = Callable[[str], Column]
"""The number of that name in the configuration, as a column: of a row's `group_id`, where groups have their own."""

_HOUR: Final = 3600

_PLACE: Final = {
    "group_id": StringType(),
    "group_epoch": IntegerType(),
    "member_id": StringType(),
    "partition": IntegerType(),
    "offset": LongType(),
}
JUDGED_SCHEMA: Final = StructType(
    [StructField(name, kind) for name, kind in ({"verdict": StringType()} | _PLACE).items()]
    + [StructField(name, StringType()) for name in ("severity", "message")]
)
"""What a rule returns: a row for each thing that it looked at.

`verdict`: pass, violation or unknown. Where it is: `group_id`, `group_epoch`, `member_id`, and `partition` and `offset`
in `__consumer_offsets`, each null where it does not apply. `severity`: ``warn`` for a violation that is never more than
a warning, else null. `message`: what was expected and what was seen, in one sentence.
"""


@dataclass(frozen=True)
class Audited:
    """One cluster's rows of the tables of an audit, by the table's name, and what is known of the audit itself."""

    table: Callable[[str], DataFrame]
    captured_at: datetime | None
    dialect: str

    def ms_since(self, time: Column | str) -> Column:
        """Return the ms from a time to when the log was copied; null where nobody knows, as where a clock ran ahead."""
        age = ms_between(time, literal(self.captured_at))
        return F.when(age >= 0, age)


@dataclass(frozen=True)
class Expectation:
    """Something that should hold.

    `name` is its name in configuration and results. `rule` judges the rows of an audit (`JUDGED_SCHEMA`, best made by
    `judged`); the first sentence of its docstring says what is expected. `limits` names the numbers it takes.
    """

    name: str
    rule: Callable[[Audited, Limits], DataFrame]
    limits: tuple[str, ...] = ()

    @property
    def description(self) -> str:
        """What is expected, in a sentence."""
        text = " ".join((self.rule.__doc__ or self.name).split())
        return text.split(". ")[0].removesuffix(".")


def judged(
    rows: DataFrame,
    *,
    violated: Column,
    known: Column | None = None,
    message: Column,
    severity: Column | None = None,
    **place: Column | str | None,
) -> DataFrame:
    """Return a verdict for each row, in the columns of `JUDGED_SCHEMA`.

    `violated`: whether the row violates the expectation; where it is null, nobody can tell. `known`: whether the log
    tells. Columns of `rows` that say where it is are taken as they are; `place` names others.
    """
    is_known = violated.isNotNull() if known is None else known & violated.isNotNull()
    verdict = F.when(is_known, F.when(violated, VIOLATION).otherwise(PASS)).otherwise(UNKNOWN)
    where = {name: name if name in rows.columns else None for name in _PLACE} | place
    return rows.select(
        verdict.alias("verdict"),
        *(_column(where[name]).cast(kind).alias(name) for name, kind in _PLACE.items()),
        (F.lit(None) if severity is None else severity).cast("string").alias("severity"),
        message.alias("message"),
    )


def sentence(template: str, *values: Column | str) -> Column:
    """Return a template with `{}` for each value; a value that is null reads as a question mark."""
    first, *rest = template.split("{}")
    parts = [F.lit(first)]
    for value, text in zip(values, rest, strict=True):
        parts += [F.coalesce(_column(value).cast("string"), F.lit("?")), F.lit(text)]
    return F.concat(*parts)


def number(value: Column) -> Column:
    """Return a number as people write it: without an exponent, and without zeros at the end of a fraction."""
    return F.regexp_replace(value.cast("decimal(38,6)").cast("string"), r"\.?0+$", "")


def seconds(ms: Column | str) -> Column:
    """Return a time in ms as seconds, with as many decimals as there are."""
    return number((_column(ms) / 1000).cast("decimal(20,3)"))


def sliding_hour(*key: str) -> WindowSpec:
    """Return a window over the hour up to a row, that included, among the rows of its key: by ``second`` since 1970."""
    return Window.partitionBy(*key).orderBy("second").rangeBetween(-_HOUR + 1, 0)


def clients(client_id: Column | str, client_host: Column | str) -> Column:
    """Return who a member is, in brackets, behind its id; nothing where nobody knows."""
    named = F.concat_ws(", ", _column(client_id), _column(client_host))
    return F.when(named == "", "").otherwise(F.concat(F.lit(" ("), named, F.lit(")")))


def _column(value: Column | str | None) -> Column:
    if value is None:
        return F.lit(None)
    return F.col(value) if isinstance(value, str) else value

"""Timestamps as columns, and the milliseconds between them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

if TYPE_CHECKING:
    from datetime import datetime

    from pyspark.sql import Column


def literal(time: datetime | None) -> Column:
    """Return a time as a column; None is a time that nobody knows."""
    return F.lit(time).cast("timestamp")


def ms_between(start: Column | str, end: Column | str) -> Column:
    """Return the time from start to end in ms: negative where a clock went back, null where either is."""
    return F.unix_millis(end) - F.unix_millis(start)

"""Kafka's times are ms since 1970, UTC; printed times are UTC too, in any zone of the machine."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# The times that Python and Spark can represent: years 1 to 9999.
FIRST_MS: Final = -62_135_596_800_000
LAST_MS: Final = 253_402_300_799_999

MICROS_PER_MS: Final = 1000

NO_TIMESTAMP_MS: Final = -1
"""The timestamp of a record without one: `RecordBatch.NO_TIMESTAMP` in Kafka."""

CLOCKS_DIFFER_BY_MS: Final = 10 * 60 * 1000
"""The tolerated difference between the clocks of machines; a larger one makes a time wrong."""


def can_be_shown(millis: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which times, in ms since 1970, are in those years: a damaged record may contain any number."""
    return (millis >= FIRST_MS) & (millis <= LAST_MS)


def utc(millis: int) -> datetime:
    """Return a time in ms since 1970 with its zone, UTC; the nearest of the years 1 to 9999 for one outside of them."""
    return datetime.fromtimestamp(min(max(millis, FIRST_MS), LAST_MS) / 1000, UTC)


def known_time(millis: int | None) -> datetime | None:
    """Return a time as `utc` does; None if it is not known."""
    return None if millis is None else utc(millis)


def utc_text(at: datetime) -> str:
    """Return a time for people, to the second: `2026-01-01 12:00:00 UTC`; `at` needs a time zone."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def time_text(millis: int | None) -> str:
    """Return a time in ms since 1970 as readable text."""
    return "" if millis is None else utc_text(utc(millis))

"""Checks the user's time of the capture of a log."""

from __future__ import annotations

from kip848_records.errors import InputError
from kip848_records.times import CLOCKS_DIFFER_BY_MS, utc


def check_captured(captured_ms: int | None, newest_ms: int | None) -> None:
    """Raise InputError for a time at which the log cannot have been copied, because it has much newer records."""
    if captured_ms is not None and newest_ms is not None and captured_ms < newest_ms - CLOCKS_DIFFER_BY_MS:
        raise InputError(
            f"the log was not copied at {utc(captured_ms).isoformat()}: "
            f"its newest record is from {utc(newest_ms).isoformat()}",
            "pass the time of the copy, with its zone, as --captured-at; or omit it to use the newest record's time",
        )


def check_captured_by(captured_ms: int | None, now_ms: int) -> None:
    """Raise InputError for a time in the future, at which no topic can have been read."""
    if captured_ms is not None and captured_ms > now_ms + CLOCKS_DIFFER_BY_MS:
        raise InputError.captured_in_future(utc(captured_ms), utc(now_ms))

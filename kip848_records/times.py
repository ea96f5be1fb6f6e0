"""Kafka's times are ms since 1970, UTC; what people read is UTC too, whatever zone the machine is in."""

from datetime import datetime, timezone


def utc(millis: int) -> datetime:
    """Return a time in ms since 1970 with its zone, UTC."""
    return datetime.fromtimestamp(millis / 1000, timezone.utc)


def utc_text(at: datetime) -> str:
    """Return a time for people, in ms."""
    at = at.astimezone(timezone.utc)
    return f"{at:%Y-%m-%d %H:%M:%S}.{at.microsecond // 1000:03} UTC"

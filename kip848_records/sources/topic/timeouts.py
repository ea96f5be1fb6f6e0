"""How long a client waits for a cluster: Kafka's own limits, below its defaults unless the user sets them."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_WAIT_MS = 20_000
_API, _REQUEST = "default.api.timeout.ms", "request.timeout.ms"


def with_timeouts(settings: Mapping[str, str]) -> dict[str, str]:
    """Return the settings with both timeouts; Kafka requires that a request's timeout is not the longer one."""
    given = {name: _number(settings.get(name)) for name in (_API, _REQUEST)}
    request = given[_REQUEST] or min(_WAIT_MS, given[_API] or _WAIT_MS)
    timeouts = {_API: str(max(_WAIT_MS, request)), _REQUEST: str(request)}
    return timeouts | dict(settings)


def patience_ms(settings: Mapping[str, str]) -> int:
    """Return how long an answer is awaited, in ms."""
    return _number(with_timeouts(settings)[_API]) or _WAIT_MS


def _number(text: str | None) -> int | None:
    """Return the number in a setting; None for other text, which Kafka will reject."""
    with suppress(ValueError):
        return int(text or "")
    return None

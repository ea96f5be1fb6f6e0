"""The severity of an episode: an error calls an operator, an info row is never an alarm."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from kip848_records.replay.diagnosis.episodes import Episode
    from kip848_records.replay.diagnosis.limits import Limits

ERROR: Final = "error"
WARNING: Final = "warning"
INFO: Final = "info"

_BY_COST: Final = frozenset({"restart_loop", "leaves_and_returns", "static_member_flaps", "storm"})
_WHILE_PRESENT: Final = frozenset({"duplicate_instance_id"})


def severity(episode: Episode, limits: Limits) -> str:
    """Return the severity: a present episode is an error by what it costs; a past one is a warning at most."""
    if episode.severity != WARNING or not episode.is_present:
        return episode.severity
    if episode.pattern in _WHILE_PRESENT:
        return ERROR
    is_costly = episode.cost_share is not None and episode.cost_share >= limits.cost_error
    return ERROR if is_costly and episode.pattern in _BY_COST else WARNING

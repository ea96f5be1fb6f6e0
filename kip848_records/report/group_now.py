"""The state of a group now, as its coordinator reports it, beside what the log shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from kip848_records.report.terminal import wrapped
from kip848_records.text import count_text, printable
from kip848_records.times import utc, utc_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType

    from kip848_records.sources.topic.client import GroupNow


def reported_state(now: GroupNow | None) -> Iterator[RenderableType]:
    """Yield the sentence; None: they do not show the group to this user."""
    yield Text("")
    if now is None:
        yield wrapped(
            "The brokers do not say how the group is now: it is gone, or the user may not describe it (Describe on "
            "the group)."
        )
    else:
        members = "" if now.members is None else f" with {count_text(now.members, 'member')}"
        yield wrapped(f"The group's coordinator says at {utc_text(utc(now.at_ms))}: {printable(now.state)}{members}.")

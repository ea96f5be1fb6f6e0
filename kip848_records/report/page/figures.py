"""The overview's figure: how many rebalances began when, and why."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final

import plotly.graph_objects as go

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kip848_records.report.page.contents import Fields

CAUSES: Final = {
    "member_joined": ("member joined", "#0072b2", "triangle-up"),
    "member_left": ("member left, expired or fenced", "#d55e00", "triangle-down"),
    "subscription_changed": ("subscription changed", "#cc79a7", "diamond"),
    "topic_metadata_changed": ("topics changed", "#009e73", "square"),
    "static_member_replaced": ("static member replaced", "#56b4e9", "hexagon"),
    "regex_resolved": ("regular expression resolved", "#e69f00", "cross"),
    "upgraded": ("upgraded from the classic protocol", "#8c6bb1", "star"),
    "unknown": ("unknown: the log does not tell", "#808080", "x"),
}
"""Of each cause in `epoch_timeline`: what people read, and how it is drawn, in colours that the colour-blind see."""


def bumps_figure(bumps: Sequence[Fields], step_s: int) -> dict[str, Any]:
    """Return the rows of `Contents.bumps` as stacked bars, by cause, in Plotly's JSON."""
    by_cause = defaultdict(list)
    for row in bumps:
        by_cause[row["cause"]].append(row)
    figure = go.Figure(layout={"barmode": "stack", "bargap": 0.08})
    for cause, (words, colour, _) in CAUSES.items():
        if rows := by_cause.get(cause):
            figure.add_bar(
                name=words,
                x=[(row["at_s"] + step_s / 2) * 1000 for row in rows],
                y=[row["epochs"] for row in rows],
                width=step_s * 1000,
                marker={"color": colour},
                customdata=[f"{row['partition']} offset {row['bump_offset']}" for row in rows],
                hovertemplate=f"%{{y}} began: {words}<br>the first: __consumer_offsets-%{{customdata}}<extra></extra>",
            )
    figure.update_xaxes(type="date")
    figure.update_yaxes(title="epochs", rangemode="tozero")
    drawn: dict[str, Any] = figure.to_dict()
    # The template of the library's default theme is larger than the figure; the page has colours of its own.
    drawn["layout"].pop("template", None)
    return drawn

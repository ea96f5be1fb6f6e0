"""A group that only commits offsets: it has no record of membership, but Kafka's tools list it, as Empty."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.text import Text

from kip848_records.report.sql import query
from kip848_records.report.terminal import count_text, time_text
from kip848_records.text import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType

    from kip848_records.pipeline.options import Audit
    from kip848_records.queries.tables import Tables

_EMPTY: Final = "Empty, with commits only"
_UNKNOWN: Final = "commits only; its membership is not in this copy of the log"


def commits_only(tables: Tables, group_id: str, cluster: str | None) -> Sequence[RenderableType]:
    """Return what `kip848 explain` says of such a group; nothing for any other group.

    An audit without offset commits has none of them.
    """
    has_commits = any(run.offset_commits for run in tables.runs() if cluster in {None, run.cluster})
    if not has_commits or tables.rows(query("incarnations"), cluster, group=group_id):
        return ()
    return [
        Text(
            f"Group {printable(group_id)} of cluster {printable(row.cluster)}: {_EMPTY if row.is_whole else _UNKNOWN}: "
            f"{count_text(row.commits, 'partition')}, last commit at {time_text(row.last_ms)}"
        )
        for row in tables.rows(query("commits_only"), cluster, group=group_id)
    ]


def commits_only_count(tables: Tables, audit: Audit) -> int:
    """Return how many such groups there are; 0 if the audit skipped offset commits."""
    if not audit.options.offset_commits:
        return 0
    (row,) = tables.rows(query("commits_only_count"), audit.options.cluster)
    return int(row.groups)

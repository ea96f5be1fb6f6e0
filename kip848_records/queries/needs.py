"""The needs of an answer: facts of an audit without which an empty answer would say more than was checked.

The header of each expectation and question names its needs; so does the spec of each metric. Without one of them an
expectation is not applicable, a question is refused, and a metric is absent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from kip848_records.protocol.columns import OFFSET_COMMIT_TABLE
from kip848_records.protocol.messages import KAFKA
from kip848_records.specs.tables import DIAGNOSIS, OF_COMMITS, TOPIC_CONTENT
from kip848_records.tables.errors import TablesError
from kip848_records.tables.location import location_text

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from kip848_records.queries.tables import Run, Tables


class Need(NamedTuple):
    """A fact of an audit: the text that says that it is missing, what to do then, and whether the last run has it.

    `tables`: those that have no rows without it.
    """

    missing: str
    way_out: str | None
    is_met: Callable[[Run], bool]
    tables: tuple[str, ...] = ()


NEEDS: Final[Mapping[str, Need]] = {
    "offset_commits": Need(
        "the audit decoded no offset commits",
        "audit the log with --offset-commits",
        lambda run: run.offset_commits,
        OF_COMMITS,
    ),
    "offset_commit_table": Need(
        "the audit wrote no table of the offset commits",
        "audit the log with --offset-commits --record-tables",
        lambda run: OFFSET_COMMIT_TABLE in run.table_versions,
    ),
    "topic_content": Need(
        "what is in the topic was not counted by key, or a live topic was read more than once",
        "pass --topic-content to the command that reads the log; of a live topic only the first run can count",
        lambda run: run.topic_content,
        (TOPIC_CONTENT.name,),
    ),
    "early_dialect": Need(
        "the log is of Kafka 3.8 or later, where members have no assignors of their own",
        None,
        lambda run: run.dialect != KAFKA.name,
    ),
    "draft_dialect": Need(
        "the log is of no draft of KIP-848, and others let a member use both",
        None,
        lambda run: run.dialect in {"kip-848", "kip-848-draft"},
    ),
    "live_topic": Need(
        "a copy does not show whether each partition was read to its end",
        "audit the live topic",
        lambda run: not run.is_copy,
    ),
    "earlier_run": Need("the cluster was audited once", "audit it again into the same tables", lambda run: run.run > 1),
}
"""All needs by name."""


def lacking(run: Run) -> dict[str, Need]:
    """Return the needs that the last run over a cluster does not meet, by name."""
    return {name: need for name, need in NEEDS.items() if not need.is_met(run)}


def unread(run: Run, names: Collection[str], *, is_empty: bool) -> list[str]:
    """Return why tables that a query names have no rows of a cluster, or not all, in sentences.

    `is_empty`: whether the answer is, too.
    """
    found = []
    for need in lacking(run).values():
        without = [name for name in need.tables if name in names]
        said = [f"{', '.join(without)} {'has' if len(without) == 1 else 'have'} no rows"] if without else []
        if is_empty and need is NEEDS["offset_commits"] and DIAGNOSIS.name in names:
            said.append("troubles of consumption are not looked for")
        found += [f"{need.missing}: {each}; {need.way_out}" for each in said]
    return found


def require(tables: Tables, run: Run, needs: Iterable[str], what: str) -> None:
    """Raise TablesError if a run does not meet a need of `what`, the name of a question or a command."""
    lacks = lacking(run)
    for name in needs:
        if name in lacks:
            need = lacks[name]
            raise TablesError(  # an empty answer would be wrong
                f"{location_text(tables.shown)} cannot answer {what} for cluster {run.cluster!r}: {need.missing}",
                need.way_out or "ask another question",
            )

"""Open transactions with offset commits: what the summary and `kip848 explain` say of them."""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

from rich.text import Text

from kip848_records.machine.paths import with_page_paths
from kip848_records.report.sql import query
from kip848_records.report.terminal import wrapped
from kip848_records.specs.log_columns import TOPIC
from kip848_records.text import count_text, lasting_text, names_text, printable, ranges_text
from kip848_records.times import time_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kip848_records.queries.tables import Tables
    from kip848_records.report.group_history import GroupHistory

LONG_MS: Final = 60_000
"""Kafka clients' default of transaction.timeout.ms: a transaction that is open for less is everyday."""

_PAGE: Final = "docs/runbook.md#hanging_transaction"
_NAMED: Final = 2
_TOPICS_NAMED: Final = 5


def long_transactions(tables: Tables, cluster: str) -> Iterator[Text]:
    """Yield a sentence about the transactions that have been open for longer than `LONG_MS`, if there are any."""
    rows = tables.rows(query("long_transactions"), cluster, longer_ms=LONG_MS)
    if rows:
        groups = sorted({printable(group) for row in rows for group in row.group_ids})
        waiting = count_text(sum(row.waiting for row in rows), "committed offset")
        opened = f"{count_text(len(rows), 'transaction')} open{lasting_text(rows[0].age_ms, is_minimum=True)}"
        yield wrapped(f"{opened}: {waiting} of {names_text(groups, _NAMED)} cannot be read until then")


def transactions_of_group(group: GroupHistory) -> Iterator[Text]:
    """Yield the open transactions that committed offsets of a group wait for, what they block, and what to do."""
    rows = group.rows("transactions_of_group")
    for row in rows:
        whose = "" if row.producer_epoch is None else f" (epoch {row.producer_epoch})"
        unsure = "" if row.status == "open" else ", or it ended among records that were lost"
        since = f" since {time_text(row.first_ms)}" if row.first_ms is not None else ""
        yield Text("")
        yield wrapped(
            f"A transaction of producer {row.producer_id}{whose} is open{since},{lasting_text(row.age_ms)}{unsure}. "
            "A member that gets one of these partitions does not start until it ends: "
            f"{_places(row.keys, group.group_id)}"
        )
        yield wrapped(
            f"{count_text(row.records_behind, 'record')} from offset {row.blocks_from} of "
            f"{TOPIC}-{row.in_partition} on cannot be compacted, and readers with read_committed do not get them",
            "  ",
        )
        abort = f"abort --topic {TOPIC} --partition {row.in_partition} --start-offset {row.first_offset}"
        yield wrapped(
            "Wait until its transaction.timeout.ms, or restart the producer. If it is open for longer than the "
            f"transaction.max.timeout.ms of your brokers: kafka-transactions.sh {abort}",
            "  next     ",
        )
    if rows:
        yield Text(f"  runbook  {with_page_paths(_PAGE)}")


def _places(keys: Sequence[dict[str, Any]], group_id: str) -> str:
    ours = sorted((each for each in keys if each["group_id"] == group_id), key=itemgetter("topic", "partition"))
    topics = groupby(ours, key=itemgetter("topic"))
    named = [f"{printable(topic)} {ranges_text(each['partition'] for each in theirs)}" for topic, theirs in topics]
    return names_text(named, _TOPICS_NAMED)

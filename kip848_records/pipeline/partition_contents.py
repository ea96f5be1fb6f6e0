"""The rows of `partition_content` and `topic_content`: what partitions hold, and where the cleaner has been."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from kip848_records.queries.texts import rendered
from kip848_records.specs.log_columns import KEYS_KEPT
from kip848_records.specs.tables import PARTITION_CONTENT

if TYPE_CHECKING:
    from kip848_records.engines.engine import Engine, Relation
    from kip848_records.log.coverage import Ask
    from kip848_records.queries.tables import Row
    from kip848_records.replay.inputs import ReplayInputs


def partition_contents(ask: Ask, inputs: ReplayInputs) -> pa.Table:
    """Return rows of `specs.tables.PARTITION_CONTENT` without the cluster. `ask`: about the log."""
    found = ask(rendered("pipeline/sql/partition_content.sql", keys_kept=KEYS_KEPT))
    rows = [_with_ages(row, inputs.captured_at_of(row.partition)) for row in found]
    return pa.Table.from_pylist(rows, PARTITION_CONTENT.schema_without("cluster"))


def _with_ages(row: Row, captured_ms: int | None) -> dict[str, object]:
    known: dict[str, object] = row._asdict()
    begins = {"dirty_ms": row.dirty_since_ms, "open_ms": row.open_since_ms}
    ages = {name: None if None in (captured_ms, since) else captured_ms - since for name, since in begins.items()}
    return known | ages


def topic_contents(engine: Engine, log: Relation, contents: pa.Table) -> Relation:
    """Return rows of `specs.tables.TOPIC_CONTENT` without the cluster.

    `log`: with the coverage of files. `contents`: rows of `partition_contents`.
    """
    return engine.sql(rendered("pipeline/sql/topic_content.sql"), log=log, contents=engine.relation(contents))

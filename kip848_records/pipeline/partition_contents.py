"""The rows of `partition_content` and `topic_content`: what partitions hold, and where the cleaner has been."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kip848_records.pipeline.open_transactions import known_partitions
from kip848_records.queries.texts import rendered
from kip848_records.specs.log_columns import KEYS_KEPT

if TYPE_CHECKING:
    from kip848_records.engines.engine import Engine, Relation
    from kip848_records.replay.inputs import ReplayInputs


def partition_contents(engine: Engine, log: Relation, inputs: ReplayInputs) -> Relation:
    """Return rows of `specs.tables.PARTITION_CONTENT` without the cluster. `log`: with the coverage of files."""
    text = rendered("pipeline/sql/partition_content.sql", keys_kept=KEYS_KEPT)
    return engine.sql(text, log=log, captured=engine.relation(known_partitions(inputs)))


def topic_contents(engine: Engine, log: Relation, contents: Relation) -> Relation:
    """Return rows of `specs.tables.TOPIC_CONTENT` without the cluster.

    `log`: with the coverage of files. `contents`: rows of `partition_contents`.
    """
    return engine.sql(rendered("pipeline/sql/topic_content.sql"), log=log, contents=contents)

"""A consumer group (KIP-848) in one of its incarnations.

Names and order follow `ConsumerGroup` in Kafka's group coordinator.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kip848_records.kinds import CONSUMER, Role
from kip848_records.replay.consumer.anomalies import ConsumerAnomalies
from kip848_records.replay.consumer.causes import ConsumerCauses
from kip848_records.replay.consumer.ownership import ConsumerOwnership
from kip848_records.replay.modern.group import ModernGroup
from kip848_records.replay.rows import row_writer
from kip848_records.specs.tables import REGEX_RESOLUTION

if TYPE_CHECKING:
    from collections.abc import Callable

    from kip848_records.replay.records import Record, RegularExpressionValue

_write: Final = row_writer(REGEX_RESOLUTION)


class ConsumerGroup(ModernGroup):
    """One incarnation of a consumer group."""

    kind = CONSUMER
    causes: ConsumerCauses
    new_ownership = ConsumerOwnership
    new_causes = ConsumerCauses
    new_anomalies = ConsumerAnomalies

    def handlers(self) -> list[Callable[[Record], None] | None]:
        """Return the handlers of records, by role."""
        handlers = super().handlers()
        handlers[Role.PARTITION_METADATA] = self.replay_partition_metadata
        handlers[Role.REGULAR_EXPRESSION] = self.replay_regular_expression
        return handlers

    def delete_classic(self) -> None:
        """Replay the tombstone of type 2."""
        super().delete_classic()
        self.causes.classic_deleted()

    def replay_partition_metadata(self, record: Record) -> None:
        """Replay a type 4."""
        self.end.is_eventful = True
        self.causes.partition_metadata(is_tombstone=record.value is None)

    def replay_regular_expression(self, record: Record) -> None:
        """Replay a type 16."""
        self.end.is_eventful = True
        value: RegularExpressionValue | None = record.value
        regex = record.regex or ""
        self.causes.regular_expression(regex, value)
        if value is not None:
            context = self.context
            _write(
                context,
                record.offset,
                regex=regex,
                topics=value.topics,
                version=value.version,
                resolved_at=record.timestamp,
                offset=record.offset,
            )


GROUP = ConsumerGroup

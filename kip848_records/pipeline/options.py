"""The options of an audit, and the results of a finished one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kip848_records.protocol.messages import KAFKA
from kip848_records.tables import DEFAULT_CLUSTER
from kip848_records.tables.location import work_folder

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from kip848_records.log.runs import PartitionRead


@dataclass(frozen=True)
class AuditOptions:
    """The options of an audit.

    `out` is the location of the tables, a folder or `tables.location.schema_place`. For the latter, `scratch` is a
    folder for intermediate files, which no other audit uses at the same time. `dialect` is the writer of the log, a
    name in `protocol.messages.DIALECTS`, or `auto`: found by what decodes. `captured_at` is when the log was copied: by
    default, the newest time in it. `kafka_config` is the file of the client's settings for a live topic. With a folder
    as `checkpoint`, the topic is read as a stream. `record_tables`: write a table for each record type.
    """

    sources: tuple[str, ...]
    out: str
    source_format: str | None = None
    dialect: str = KAFKA.name
    cluster: str = DEFAULT_CLUSTER
    topics: Mapping[str, str] | None = None
    captured_at: datetime | None = None
    offset_commits: bool = False
    record_tables: bool = False
    allow_empty: bool = False
    kafka_config: str | None = None
    checkpoint: str | None = None
    scratch: str | None = None

    @property
    def work_folder(self) -> str:
        """The folder for intermediate files; raises InputError if there is none."""
        return work_folder(self.out, self.scratch)

    @property
    def captured_ms(self) -> int | None:
        """The user's time of the copy of the log, in ms since 1970."""
        return None if self.captured_at is None else round(self.captured_at.timestamp() * 1000)


@dataclass(frozen=True)
class Audit:
    """A finished audit: its tables are written.

    `records`: readable records that were read, by key type; None for those without one. Offset commits that were not
    requested are counted too, once per copy. `group_configurations`: records of type 8 that are not current
    assignments. `aborted`: records of transactions that are known to be aborted, once per copy. `quarantined`: the rows
    that this audit read and could not decode. `run`: the number of the run. `reads`: the range that it read of each
    partition of a live topic. `skipped`: records of groups that Spark's own readers created. `resumed`: this run
    finished the work of an interrupted run.
    """

    options: AuditOptions
    run: int
    dialect: str
    captured_at: datetime | None
    copies: int
    records: Mapping[int | None, int]
    group_configurations: int
    aborted: int
    quarantined: int = 0
    reads: Sequence[PartitionRead] = ()
    skipped: int = 0
    resumed: bool = False

"""The options of an audit, and the results of a finished one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kip848_records.protocol.messages import KAFKA
from kip848_records.tables import DEFAULT_CLUSTER
from kip848_records.tables.location import work_folder

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from kip848_records.log.runs import EndOffset, PartitionRead
    from kip848_records.replay.inputs import ChangedLimit
    from kip848_records.sources.topic.client import Brokers


@dataclass(frozen=True)
class AuditOptions:
    """The options of an audit.

    `sources`: paths of copies, or the `kafka://` address of one live topic. `out`: the location of the tables, a folder
    or `tables.location.schema_location`. `source_format`: as in `read_log`. `dialect`: the writer of the log, a name in
    `protocol.messages.DIALECTS`, or `auto`: found by what decodes. `cluster`: the name of the cluster in the tables.
    `topics`: names of topics by their ids. `captured_at`: when the log was copied; by default the newest time in it.
    `offset_commits`: audit these too. `record_tables`: write a table for each record type. `allow_empty`: a log without
    records is no error. `topic_content`: count what is in the topic by key. `kafka_config`: the file with the client's
    settings for a live topic. `scratch`: a folder for intermediate files, which tables in a catalog need, and which no
    other audit uses at the same time. `limits`: those of the diagnosis that are not the defaults, from
    `config.load_limits`. `offsets_retention_ms`: how long brokers keep an offset after its last commit; None: what the
    broker of a live topic says. `end_offsets`: where the topics of the groups ended, from
    `end_offsets.read_end_offsets`; they need `offset_commits`. A live topic asks for them itself. `partition_of`: the
    id of a group. A run over a live topic then reads only the partition that holds this group, which is enough for a
    question about it. `brokers`: a client of the live topic that the caller has, and closes.
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
    topic_content: bool = False
    allow_empty: bool = False
    kafka_config: str | None = None
    scratch: str | None = None
    limits: tuple[ChangedLimit, ...] = ()
    offsets_retention_ms: int | None = None
    end_offsets: tuple[EndOffset, ...] = ()
    partition_of: str | None = None
    brokers: Brokers | None = field(default=None, compare=False, repr=False)

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

    `run`: the number of the run. `dialect`: the dialect in which the records were decoded. `copies`: how many copies
    were read. `records`: readable records that were read, by key type; None for those without one. Offset commits that
    were not requested are counted too, once per copy. `aborted`: records of transactions that are known to be
    aborted, once per copy. `quarantined`: the rows that this audit read and could not decode. `reads`: the range that
    it read of each partition of a live topic. `skipped`: records of groups that Spark's own readers created. `resumed`:
    this run finished the work of an interrupted run.
    """

    options: AuditOptions
    run: int
    dialect: str
    captured_at: datetime | None
    copies: int
    records: Mapping[int | None, int]
    aborted: int
    quarantined: int = 0
    reads: Sequence[PartitionRead] = ()
    skipped: int = 0
    resumed: bool = False

"""The captures' audits that tests share, and tables as a Delta reader without Spark sees them."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from deltalake import DeltaTable

from kip848_records.pipeline.audit import run_audit
from kip848_records.pipeline.names import read_topics_file
from kip848_records.pipeline.options import Audit, AuditOptions
from kip848_records.simulate.partition_log import KAFKA_ROWS
from tests.dump_log import Record, read_dump_logs
from tests.progress import Watcher

WITH_RECORD_TABLES = "kafka-4.3.1-all-types"
"""The capture whose audit writes a table for each record type."""

CLUSTERS = {
    "kafka-4.0.0-zstd": 'it\'s "4.0" = a/b\\c %2F',
    "kafka-4.3.1": "\N{SNAKE} 4.3.1 [x]",
    "kafka-4.3.1-all-types": "all-types",
}


@dataclass(frozen=True)
class Audits:
    """`out` holds the tables; `audits` has what each audit returned, by capture, and `said` what it told on the way."""

    out: Path
    audits: dict[str, Audit]
    said: dict[str, Watcher]

    def rows(self, capture: str, table: str) -> list[dict[str, Any]]:
        """A capture's rows of a table, in log order if they have a place in the log."""
        return table_rows(self.out, table, CLUSTERS[capture])


def audit_captures(captures: list[Path], out: Path) -> Audits:
    audits, said = {}, {}
    for capture in captures:
        said[capture.name] = Watcher()
        audits[capture.name] = run_audit(None, capture_options(capture, out), said[capture.name])
    return Audits(out, audits, said)


def capture_options(capture: Path, out: Path) -> AuditOptions:
    return AuditOptions(
        sources=(str(capture / "segments"),),
        out=str(out),
        cluster=CLUSTERS[capture.name],
        topics=read_topics_file(str(capture / "topics.json")),
        offset_commits=True,
        record_tables=capture.name == WITH_RECORD_TABLES,
    )


def audit_rows(out: Path, cluster: str, rows: Iterable[dict[str, Any]], **options: Any) -> Audit:
    """Audit a dump of rows of Spark's Kafka source (`KAFKA_ROWS`); their timestamps may be in µs."""
    with TemporaryDirectory() as folder:
        dump = Path(folder) / "log.parquet"
        pq.write_table(pa.Table.from_pylist(list(rows), KAFKA_ROWS), dump)
        return audit_file(out, cluster, dump, **options)


def audit_file(out: Path, cluster: str, file: Path, **options: Any) -> Audit:
    return run_audit(None, AuditOptions((str(file),), str(out), cluster=cluster, **options), Watcher())


def table_rows(out: Path, table: str, cluster: str) -> list[dict[str, Any]]:
    if not (out / table).exists():  # a table begins with its first row
        return []
    rows = DeltaTable(out / table).to_pyarrow_table()
    found = rows.filter(pc.equal(rows["cluster"], cluster)).to_pylist()
    if "offset" not in rows.schema.names:
        return found
    return sorted(found, key=lambda row: [-1 if row[name] is None else row[name] for name in ("partition", "offset")])


def dumped(capture: Path) -> list[Record]:
    return read_dump_logs(capture / "oracle" / "dump-log")

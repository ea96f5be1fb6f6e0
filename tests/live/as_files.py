"""Whether the live topic of a broker, read without Spark, is what the broker's own files are."""

import shutil

from kip848_records.pipeline.audit import run_audit
from kip848_records.pipeline.options import AuditOptions
from kip848_records.tables.registry import TABLES
from tests.audits import table_rows
from tests.broker.clients import commit, commit_in_transaction, make_topic, produce
from tests.broker.settings import PARTITIONS
from tests.progress import Watcher

CLUSTER = "prod"
NAMES = {"copy", "sources", "name", "copies", "file"}
"""Columns with names of sources."""


def fill(broker, subject):
    """Make a topic, and let groups without members commit offsets of it, with transactions of each outcome."""
    make_topic(broker, subject, 4)
    produce(broker, subject, 40)
    for number in range(2 * PARTITIONS):
        commit(broker, f"commits-{number}", {(subject, 0): number}, times=3)
    commit_in_transaction(broker, "commits-1", {(subject, 1): 5})
    commit_in_transaction(broker, "commits-2", {(subject, 1): 6}, abort=True)


def audit(source, out, spark=None, **options):
    return run_audit(spark, AuditOptions((source,), str(out), cluster=CLUSTER, **options), Watcher())


def named_alike(rows):
    """Rows without the names of their sources, and what is known of a live topic alone."""
    return sorted(
        [tuple((k, repr(v)) for k, v in sorted(row.items()) if k not in {*NAMES, "is_read_to_end"}) for row in rows]
    )


def assert_as_files(broker, folder, *, offset_commits):
    """Audit the topic into `folder`/live, and the broker's files into `folder`/files: all rows of tables are equal."""
    counted = {"offset_commits": offset_commits, "topic_content": True}
    live = audit(f"kafka://{broker.bootstrap}", folder / "live", **counted)
    for partition in broker.folder.glob("__consumer_offsets-*"):
        shutil.copytree(partition, folder / "copy" / partition.name)
    retention = {"offsets_retention_ms": 7 * 24 * 3600 * 1000}
    names = {row["topic_id"]: row["topic"] for row in table_rows(folder / "live", "topic_name", CLUSTER)}
    known = {"captured_at": live.captured_at, "topics": names, **counted, **retention}
    audit(str(folder / "copy"), folder / "files", **known)
    compared = 0
    for table in TABLES:
        if table in {"audit_runs", "log", "topic_name"} or not (folder / "files" / table).exists():
            continue
        ours, theirs = (named_alike(table_rows(folder / of, table, CLUSTER)) for of in ("live", "files"))
        assert ours == theirs, table
        compared += len(theirs)
    assert compared > 50
    ours, theirs = (
        [row for row in table_rows(folder / of, "log", CLUSTER) if row["run_info"] is None and row["read"] is None]
        for of in ("live", "files")
    )
    assert named_alike(ours) == named_alike(theirs)

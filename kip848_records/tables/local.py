"""Tables in folders of this machine, without Spark: their log, their schema for delta-rs, and their first commit."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from time import time_ns
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pyarrow as pa

from kip848_records.specs.tables import CLUSTER

if TYPE_CHECKING:
    from pathlib import Path

    from deltalake import Schema

    from kip848_records.specs.columns import TableSpec


def has_commits(log: Path) -> bool:
    """Return whether a log folder contains more than an interrupted commit leaves."""
    return any(file.is_file() and file.name[0] != "." for file in log.rglob("*"))


def newest_version(log: Path) -> int | None:
    """Return the newest version in a log folder; None if there is none."""
    return max((int(file.stem) for file in log.glob("*.json") if file.stem.isdigit()), default=None)


def delta_schema(spec: TableSpec) -> Schema:
    """Return the schema of a table, with comments and NOT NULL."""
    from deltalake import Schema  # noqa: PLC0415 - loading it takes a while

    fields = (
        pa.field(each.name, each.type, nullable=not each.required, metadata={"comment": each.comment})
        for each in spec.columns
    )
    return Schema.from_arrow(pa.schema(fields))


def create_locally(folder: Path, spec: TableSpec) -> None:
    """Create a table if it does not exist, in a millisecond.

    An audit creates dozens: delta-rs takes ten milliseconds for each, Delta's builder in Spark as long as a commit of
    rows. Raises OSError; on volumes without hard links, such as those over an object store, nothing can be committed.
    """
    log = folder / "_delta_log"
    log.mkdir(parents=True, exist_ok=True)
    now = time_ns() // 1_000_000
    protocol = {"minReaderVersion": 1, "minWriterVersion": 2}
    metadata = {
        "id": str(uuid4()),
        "name": None,
        "description": spec.comment,
        "format": {"provider": "parquet", "options": {}},
        "schemaString": delta_schema(spec).to_json(),
        "partitionColumns": [CLUSTER.name],
        "createdTime": now,
        "configuration": {},
    }
    made_by = {"timestamp": now, "operation": "CREATE TABLE", "operationParameters": {}, "engineInfo": "kip848-records"}
    actions = ({"commitInfo": made_by}, {"protocol": protocol}, {"metaData": metadata})
    if _commit_first(log, "\n".join(map(json.dumps, actions))):
        _write_checksum(log, {"metadata": metadata, "protocol": protocol})


def _commit_first(log: Path, actions: str) -> bool:
    """Make the first commit of a table, all of it at once; return False if another run was faster."""
    unfinished = log / f".{uuid4()}"
    try:
        unfinished.write_text(actions, encoding="utf-8")
        os.link(unfinished, log / f"{0:020}.json")
    except FileExistsError:
        return False
    except OSError:
        unfinished.unlink(missing_ok=True)
        with suppress(OSError):  # Spark takes an empty log for that of a damaged table
            log.rmdir()
        raise
    finally:
        unfinished.unlink(missing_ok=True)
    return True


def _write_checksum(log: Path, known: dict[str, Any]) -> None:
    """Write the checksum of the first commit, so that Spark need not read the log.

    Without it the first commit of rows takes Spark one second more. Its format is that of Delta's protocol, "Version
    Checksum File". A checksum is optional.
    """
    counts = {"tableSizeBytes": 0, "numFiles": 0, "numMetadata": 1, "numProtocol": 1}
    none_yet: dict[str, list[object]] = {"setTransactions": [], "domainMetadata": [], "allFiles": []}
    checksum = log / f"{0:020}.crc"
    text = json.dumps(counts | none_yet | known)  # in one piece: `json.dump` writes hundreds
    try:
        checksum.write_text(text, encoding="utf-8")
    except OSError:  # half of it would be worse than none
        checksum.unlink(missing_ok=True)
        raise

"""Tables in folders of this machine, without Spark: their log, and how delta-rs creates and changes them."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

if TYPE_CHECKING:
    from pathlib import Path

    from deltalake import Schema

    from kip848_records.specs.columns import TableSpec

_NAMES: Final = {
    pa.string(): "string",
    pa.binary(): "binary",
    pa.bool_(): "boolean",
    pa.int8(): "byte",
    pa.int16(): "short",
    pa.int32(): "integer",
    pa.int64(): "long",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.timestamp("us", "UTC"): "timestamp",
}
"""Delta's names of types ("Primitive Types" in its protocol)."""


def has_commits(log: Path) -> bool:
    """Return whether a log folder contains more than an interrupted commit leaves."""
    return any(file.is_file() and file.name[0] != "." for file in log.rglob("*"))


def newest_version(log: Path) -> int | None:
    """Return the newest version in a log folder; None if there is none."""
    return max((int(file.stem) for file in log.glob("*.json") if file.stem.isdigit()), default=None)


def delta_schema(spec: TableSpec) -> Schema:
    """Return the schema of a table, with comments and NOT NULL."""
    from deltalake import Schema  # noqa: PLC0415 - loading it takes a while

    fields = [
        {"name": each.name, "type": _kind(each.type), "nullable": not each.required, "metadata": _about(each.comment)}
        for each in spec.columns
    ]
    return Schema.from_json(json.dumps({"type": "struct", "fields": fields}))


def create_locally(folder: Path, spec: TableSpec) -> None:
    """Create a table in milliseconds if it does not exist; Delta's builder in Spark takes as long as a commit of rows.

    Raises OSError or DeltaError; delta-rs cannot commit on some volumes, such as those over an object store.
    """
    from deltalake import DeltaTable  # noqa: PLC0415 - as above

    DeltaTable.create(
        str(folder), delta_schema(spec), mode="ignore", partition_by=["cluster"], description=spec.comment
    )
    _write_checksum(folder / "_delta_log")


def _write_checksum(log: Path) -> None:
    """Write the checksum of the first commit, so that Spark need not read the log.

    Without it the first commit of rows takes Spark one second more. Its format is that of Delta's protocol, "Version
    Checksum File". A checksum is optional, so nothing is lost if another run was faster.
    """
    first = (log / f"{0:020}.json").read_text(encoding="utf-8").splitlines()
    actions = {name: action for line in first for name, action in json.loads(line).items()}
    known = {"metadata": actions["metaData"], "protocol": actions["protocol"]}
    counts = {"tableSizeBytes": 0, "numFiles": 0, "numMetadata": 1, "numProtocol": 1}
    none_yet: dict[str, list[object]] = {"setTransactions": [], "domainMetadata": [], "allFiles": []}
    checksum = log / f"{0:020}.crc"
    with suppress(FileExistsError), checksum.open("x", encoding="utf-8") as file:
        try:
            json.dump(counts | none_yet | known, file)
            file.flush()
        except OSError:  # half of it would be worse than none
            checksum.unlink()
            raise


def _about(comment: str | None) -> dict[str, str]:
    return {} if comment is None else {"comment": comment}


def _kind(kind: pa.DataType) -> Any:  # noqa: ANN401 - JSON
    if pa.types.is_list(kind):
        return {"type": "array", "elementType": _kind(kind.value_type), "containsNull": True}
    if pa.types.is_map(kind):
        keys, values = _kind(kind.key_type), _kind(kind.item_type)
        return {"type": "map", "keyType": keys, "valueType": values, "valueContainsNull": True}
    if pa.types.is_struct(kind):
        fields = ({"name": each.name, "type": _kind(each.type), "nullable": True, "metadata": {}} for each in kind)
        return {"type": "struct", "fields": list(fields)}
    return _NAMES[kind]

"""Tables that already exist, perhaps written by another version of this package: which of them change, and how."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from kip848_records.engines.engine import MissingColumn
from kip848_records.specs.tables import AUDIT_RUNS, CLUSTER
from kip848_records.tables.errors import TablesError
from kip848_records.tables.location import location_text
from kip848_records.tables.log import LOG
from kip848_records.tables.registry import TABLES
from kip848_records.tables.versions import are_outdated

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kip848_records.engines.engine import Engine
    from kip848_records.specs.columns import TableSpec

_KEPT: Final = (LOG.name, AUDIT_RUNS.name)
_VERSIONS: Final = "SELECT cluster, max_by(version, run) AS version FROM audit_runs GROUP BY cluster"


def prepare_tables(engine: Engine, *, migrate: bool = True) -> list[str]:
    """Add this version's columns to the tables of an older one; return the clusters that must be rebuilt.

    Tables that lack columns are older ones too, whatever their version is: between two releases all have the same.
    `log` and `audit_runs` get the missing columns. All other tables are emptied, because a run derives them from the
    log: so all clusters must be rebuilt if one must. Raises InputError for tables of a newer version or with columns of
    one, and if a table of another application has the name of one. With `migrate` false no table changes.
    """
    versions: dict[str, str] = {}
    if _own_columns(engine, AUDIT_RUNS) is not None:
        versions = {row.cluster: row.version for row in engine.ask(_VERSIONS, AUDIT_RUNS.name)}
    is_outdated = are_outdated(engine.out, versions.values()) or (bool(versions) and _lack_columns(engine))
    if migrate and (is_outdated or not versions):
        engine.for_each(lambda spec: _prepare(engine, spec, is_outdated=is_outdated), TABLES.values())
    return sorted(versions) if is_outdated else []


def missing_columns(spec: TableSpec, present: Mapping[str, Any]) -> list[MissingColumn]:
    """Return the columns of a spec, and the fields of its columns at any depth, that a table's schema lacks."""
    known = _types(present)
    return [
        missing
        for column in spec.columns
        for missing in _missing((column.name,), column.type, known.get(column.name), column.comment)
    ]


def _prepare(engine: Engine, spec: TableSpec, *, is_outdated: bool) -> None:
    present = _own_columns(engine, spec)
    if present is None or not is_outdated:
        return
    if spec.name not in _KEPT:
        engine.tables.make_anew(spec)
    elif missing := missing_columns(spec, present):
        engine.tables.add_columns(spec, missing)


def _lack_columns(engine: Engine) -> bool:
    """Return whether one of the tables lacks a column of this version. Raises InputError if one has other columns."""
    lacking: list[MissingColumn] = []

    def compare(spec: TableSpec) -> None:
        if (present := _own_columns(engine, spec)) is not None:
            if unknown := _types(present).keys() - spec.schema.names:
                where = location_text(engine.out)
                raise TablesError(
                    f"the table {spec.name} in {where} has columns that this version does not know: "
                    f"{', '.join(sorted(unknown))}",
                    "install the version that wrote it, or pass another folder with --out",
                )
            lacking.extend(missing_columns(spec, present))

    engine.for_each(compare, TABLES.values())
    return bool(lacking)


def _own_columns(engine: Engine, spec: TableSpec) -> Mapping[str, Any] | None:
    """Return a table's schema. Raises InputError for another application's: here each table has clusters."""
    present = engine.tables.columns(spec.name)
    if present is not None and CLUSTER.name not in _types(present):
        raise TablesError(
            f"the table {spec.name} in {location_text(engine.out)} was not written by an audit",
            "pass another location for the tables",
        )
    return present


def _missing(
    path: tuple[str, ...],
    kind: pa.DataType,
    present: Any,  # noqa: ANN401 - JSON
    comment: str | None = None,
) -> Iterator[MissingColumn]:
    if present is None:
        yield MissingColumn(path, kind, comment)
    elif pa.types.is_list(kind):
        yield from _missing((*path, "element"), kind.value_type, present["elementType"])
    elif pa.types.is_struct(kind):
        known = _types(present)
        for each in kind:
            yield from _missing((*path, each.name), each.type, known.get(each.name))


def _types(struct: Mapping[str, Any]) -> dict[str, Any]:
    return {field["name"]: field["type"] for field in struct["fields"]}

"""The location of tables: a folder, one subfolder each, or a schema of a catalog such as Databricks' Unity Catalog.

A location is a text: the path of a folder, or ``catalog:main.kafka``. Tables of a log that a command audits for its own
answer have no location that a user could name: ``sources:copy --topics topics.json`` stands for them in messages.
"""

from __future__ import annotations

import re
import shlex
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kip848_records.machine.paths import URI, without_parents
from kip848_records.tables.errors import TablesError

if TYPE_CHECKING:
    from collections.abc import Sequence

_CATALOG: Final = "catalog:"
_SOURCES: Final = "sources:"
_GROUPS: Final = "SELECT group_id, group_type, state FROM group_state"


def schema_location(catalog: str, schema: str) -> str:
    """Return the location for a schema of a catalog."""
    return f"{_CATALOG}{_identifier(catalog)}.{_identifier(schema)}"


def sources_location(sources: Sequence[str], options: Sequence[str]) -> str:
    """Return what stands for the tables of sources, which a command audits itself with some options."""
    return f"{_SOURCES}{shlex.join([*sources, *options])}"


def is_of_sources(location: str) -> bool:
    """Return whether a location stands for the tables of sources."""
    return location.startswith(_SOURCES)


def is_schema(location: str) -> bool:
    """Return whether a location is a schema of a catalog, not a folder."""
    return location.startswith(_CATALOG)


def schema_name(location: str) -> str:
    """Return the name of a schema in Spark's SQL."""
    return location.removeprefix(_CATALOG)


def location_text(location: str) -> str:
    """Return a location in readable form: a folder ends in a slash, and of sources only their paths are shown."""
    if is_of_sources(location):
        arguments = shlex.split(location.removeprefix(_SOURCES))
        return ", ".join(takewhile(lambda argument: not argument.startswith("--"), arguments))
    return schema_name(location) if is_schema(location) else f"{location.rstrip('/')}/"


def location_arguments(location: str) -> str:
    """Return a location as arguments of a command, quoted for a shell."""
    if is_of_sources(location):
        return location.removeprefix(_SOURCES)
    if not is_schema(location):
        return shlex.quote(location)
    names = re.findall(r"`(?:[^`]|``)*`|\w+", schema_name(location))
    catalog, schema = (name[1:-1].replace("``", "`") if name[0] == "`" else name for name in names)
    return f"--catalog {shlex.quote(catalog)} --schema {shlex.quote(schema)}"


def groups_command(location: str) -> str:
    """Return a command that lists the groups in the tables at a location."""
    return query_command(location, _GROUPS)


def query_command(location: str, sql: str) -> str:
    """Return a command that asks the tables at a location; `sql` has no double quotes."""
    option = "--sql " if is_of_sources(location) else ""
    return f'kip848 query {location_arguments(location)} {option}"{sql}"'


def work_folder(location: str, scratch: str | None) -> str:
    """Return the folder for intermediate files, `scratch` for a schema; raises InputError if there is none."""
    if not is_schema(location):
        return location
    if scratch is None:
        raise TablesError(
            f"tables in the schema {location_text(location)} need a scratch folder",
            "pass --scratch, such as a folder in a volume, that no other audit uses",
        )
    return scratch


def table_path(location: str, table: str) -> str:
    """Return the absolute path of a table, because Delta reads a relative path as the name of a table."""
    folder = location if URI.match(location) else str(without_parents(Path(location)).absolute())
    return f"{folder.rstrip('/')}/{table}"


def _identifier(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) else f"`{name.replace('`', '``')}`"

"""The versions of this package that wrote tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kip848_records import __version__
from kip848_records.tables.errors import TablesError

if TYPE_CHECKING:
    from collections.abc import Collection


def are_outdated(out: str, versions: Collection[str]) -> bool:
    """Return whether another version than this one wrote tables at `out`. Raises InputError if that is a newer one."""
    if newer := [version for version in versions if _number(version) > _number(__version__)]:
        found = max(newer, key=_number)
        raise TablesError(
            f"the tables in {out} were written by version {found}, and this is {__version__}", "install that version"
        )
    return any(version != __version__ for version in versions)


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())

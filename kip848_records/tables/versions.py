"""The versions of this package that wrote tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kip848_records import __version__
from kip848_records.tables.errors import TablesError

if TYPE_CHECKING:
    from collections.abc import Mapping


def outdated_clusters(out: str, versions: Mapping[str, str]) -> list[str]:
    """Return the clusters whose tables at `out` another version wrote, by the version that wrote those of each.

    Raises InputError if that is a newer version.
    """
    if newer := [version for version in versions.values() if _number(version) > _number(__version__)]:
        found = max(newer, key=_number)
        raise TablesError(
            f"the tables in {out} were written by version {found}, and this is {__version__}", "install that version"
        )
    return sorted(cluster for cluster, version in versions.items() if version != __version__)


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())

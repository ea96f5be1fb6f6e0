"""The versions of this package that wrote tables."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from kip848_records import __version__
from kip848_records.tables.errors import TablesError

if TYPE_CHECKING:
    from collections.abc import Collection

_VERSION: Final = re.compile(r"(\d+(?:\.\d+)*)(?:[-_.]?(dev|a|b|rc|post)[-_.]?(\d*))?")
_STAGES: Final = ("dev", "a", "b", "rc", None, "post")
"""From the first to the last of one release (PEP 440); None: the release itself."""


def are_outdated(out: str, versions: Collection[str]) -> bool:
    """Return whether another version than this one wrote tables at `out`. Raises InputError if that is a newer one."""
    if newer := [version for version in versions if _rank(version) > _rank(__version__)]:
        found = max(newer, key=_rank)
        raise TablesError(
            f"the tables in {out} were written by version {found}, and this is {__version__}", "install that version"
        )
    return any(version != __version__ for version in versions)


def _rank(version: str) -> tuple[list[int], int, int]:
    """Return what orders versions: the numbers of the release, its stage, and the number of that."""
    found = _VERSION.match(version)
    if found is None:
        return [], 0, 0
    return [*map(int, found[1].split("."))], _STAGES.index(found[2]), int(found[3] or 0)

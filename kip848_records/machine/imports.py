"""What this process does not load, because nothing uses it here."""

from __future__ import annotations

import sys
from importlib.abc import MetaPathFinder
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType


def skip_pandas() -> None:
    """Let imports of pandas fail from now on, as if it were not installed.

    Arrow and DuckDB load it if it is there, to recognise a DataFrame in their arguments, which takes most of a second.
    Only for a process that is this package's alone: users need it, and Spark may (`allow_pandas`).
    """
    if "pandas" not in sys.modules:
        sys.meta_path.insert(0, _Skipped())


def allow_pandas() -> None:
    """Let pandas be imported again."""
    sys.meta_path[:] = [each for each in sys.meta_path if not isinstance(each, _Skipped)]


class _Skipped(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        del path, target
        if fullname == "pandas":
            message = "this process does not use pandas"
            raise ModuleNotFoundError(message, name=fullname)
        return None

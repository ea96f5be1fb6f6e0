"""Paths as users write them: on this machine, or on another file system."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

URI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
"""The start of a path that names its file system."""


_PACKAGE: Final = Path(__file__).parent


def with_package(packaged: str, in_checkout: str) -> Path:
    """Return the path of files that come with this package: in the wheel, or in a source checkout."""
    path = _PACKAGE / packaged
    return path if path.exists() else _PACKAGE.parent / in_checkout


def path_on_this_machine(path: str) -> Path | None:
    """Return the local path if this machine's files are the default file system; None for another file system."""
    if path.startswith("file:"):
        return Path(re.sub("^/+", "/", path.removeprefix("file:")))
    return None if URI.match(path) else Path(path)

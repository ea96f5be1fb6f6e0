"""Paths as users write them: on this machine, or on another file system."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

URI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
"""The start of a path that names its file system."""


_PAGE: Final = re.compile(r"(?<![\w/.-])docs/[\w/-]+\.md")
_PACKAGE: Final = Path(__file__).parent


def with_package(packaged: str, in_checkout: str) -> Path:
    """Return the path of files that come with this package: in the wheel, or in a source checkout."""
    path = _PACKAGE / packaged
    return path if path.exists() else _PACKAGE.parent / in_checkout


def with_page_paths(text: str) -> str:
    """Return a text in which each page of the documentation, such as ``docs/runbook.md``, is a path that exists.

    In a clone as the working directory that is the name itself. Elsewhere it is the full path of the page, which comes
    with this package.
    """
    return text if Path("kip848_records", "__init__.py").is_file() else _PAGE.sub(_full_path, text)


def _full_path(page: re.Match[str]) -> str:
    path = with_package(page[0], page[0])
    return str(path) if path.is_file() else page[0]


def path_on_this_machine(path: str) -> Path | None:
    """Return the local path if this machine's files are the default file system; None for another file system."""
    if path.startswith("file:"):
        return Path(re.sub("^/+", "/", path.removeprefix("file:")))
    return None if URI.match(path) else Path(path)

"""Files of this machine, listed without Spark, by the rules of Spark's file index."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from itertools import dropwhile, product
from pathlib import Path
from typing import TYPE_CHECKING

from kip848_records.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_ALTERNATIVES = re.compile(r"\{([^}]*)\}")


def _nothing(path: str, below: str) -> None:
    del path, below


@dataclass(frozen=True)
class Listing:
    """Lists the files at paths, those of this machine in this process.

    `local`: returns a path on this machine; None if it is elsewhere. `elsewhere`: lists the files at such a path, as
    `files` does.
    """

    local: Callable[[str], Path | None]
    elsewhere: Callable[[str, str], list[str] | None] = _nothing

    def files(self, path: str, below: str = "") -> list[str] | None:
        """Return the files at a path that match the pattern `below` it, sorted, none hidden; None if none exists."""
        local = self.local(path)
        return self.elsewhere(path, below) if local is None else list_files(local, below)


def list_files(path: Path, below: str = "") -> list[str] | None:
    """Return the files at a path that match the pattern `below` it, sorted, as `file:` URIs; None if none exists.

    `path`: of `paths.path_on_this_machine`, which has no `..`.

    `*` and `{a,b}` in the pattern are Hadoop's. A folder yields its own files, and those in subfolders with names of
    partition columns, such as `date=2026-11-21`. Files and folders with names that begin with `.` or `_` are hidden
    (Spark's `HadoopFSUtils.shouldFilterOutPathName`). Raises InputError if a folder cannot be listed, or holds folders
    that Spark cannot read together.
    """
    root = path.absolute()
    found = list(_matching(root, below)) if below else [root]
    if not any(each.exists() for each in found):
        return None
    files = [file for each in found for file in (_files_in(each, path) if each.is_dir() else [str(each)])]
    return sorted(f"file://{file}" for file in files if not _is_hidden(Path(file).name))


def _matching(folder: Path, pattern: str) -> Iterator[Path]:
    parts = _ALTERNATIVES.split(pattern.lstrip("/"))
    choices = (part.split(",") if at % 2 else [part] for at, part in enumerate(parts))
    for chosen in product(*choices):
        yield from folder.glob("".join(chosen))


def _files_in(folder: Path, named: Path) -> list[str]:
    """Return the files of a folder that Spark reads; an error contains the name that the user gave.

    The rules are those of `PartitioningUtils.parsePartitions`: names such as `a=1` are partition columns, and all
    folders with files must have the same path up to the first of these names.
    """
    files: dict[tuple[str, ...], list[str]] = {}
    seen = set()
    for parent, folders, names in os.walk(folder, onerror=_refuse, followlinks=True):
        seen.add(os.path.realpath(parent))
        folders[:] = [name for name in folders if not _is_hidden(name) and _real(parent, name) not in seen]
        if visible := [name for name in names if not _is_hidden(name)]:
            files[Path(parent).relative_to(folder).parts] = [str(Path(parent, name)) for name in visible]
    if not any("=" in name for parts in files for name in parts):
        return files.get((), [])
    if len(bases := {_base(parts) for parts in files}) > 1:
        raise InputError.mixed_folders(str(named), (str(Path(named, *parts)) for parts in bases))
    return [file for each in files.values() for file in each]


def _base(parts: tuple[str, ...]) -> tuple[str, ...]:
    """Return the path of a folder up to its first partition column; the whole path if it has none."""
    upwards = list(dropwhile(lambda name: "=" not in name, reversed(parts)))
    return tuple(reversed(list(dropwhile(lambda name: "=" in name, upwards)))) if upwards else parts


def _real(parent: str, name: str) -> str:
    return os.path.realpath(Path(parent, name))


def _is_hidden(name: str) -> bool:
    return name.startswith(".") or (name.startswith("_") and "=" not in name) or name.endswith("._COPYING_")


def _refuse(error: OSError) -> None:
    raise InputError.not_opened(error.filename, error.strerror) from None

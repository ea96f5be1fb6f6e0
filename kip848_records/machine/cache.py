"""A folder of the user for what takes long to make: entries by a key, each a folder, until there are too many.

Entries may be confidential, so only the user can read them. A process holds the lock of an entry while it uses it; the
system releases the lock when the process ends. The lock is that of the folder itself, so no lock files remain.
"""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from kip848_records.machine.disks import free_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MOST_BYTES: Final = 2_000_000_000
"""The size of all entries above which the oldest are removed."""

_LEAST_FREE: Final = 100_000_000
"""The free space, in bytes, that a disk must have for a new entry: a full home is worse than a slow answer."""

_NAME: Final = "kip848-records/audits"
"""A folder of its own: tests and benchmarks keep downloads beside it."""
_UNFINISHED: Final = "."
"""Names of folders that are no entries, not yet or no longer, begin with this."""
_MADE: Final = "made"
"""A file of each entry: it was written when the entry was complete."""


@dataclass(frozen=True)
class Entry:
    """An entry that is in use: its folder, and how many seconds ago it was made."""

    folder: Path
    age_s: float


@dataclass(frozen=True)
class Contents:
    """How many entries there are, and their size in bytes."""

    entries: int
    size: int


class Cache:
    """The entries in a folder."""

    def __init__(self, folder: Path, most_bytes: int = MOST_BYTES) -> None:
        self.folder = folder
        self._most_bytes = most_bytes

    @classmethod
    def of_user(cls, environment: Mapping[str, str] = os.environ) -> Cache | None:
        """Return the user's cache; None if there is no folder for it, or none that is the user's alone.

        Its folder is that of the XDG Base Directory Specification.
        """
        folder = _folder(environment)
        if folder is None:
            return None
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            found = folder.stat()
            if found.st_uid != os.getuid():
                return None
            if found.st_mode & 0o077:
                folder.chmod(0o700)
        except OSError:
            return None
        return cls(folder)

    @contextmanager
    def using(self, key: str) -> Iterator[Entry | None]:
        """Yield the entry of a key, which nobody removes within the block; None if there is none."""
        folder = self.folder / key
        lock = _locked(folder, fcntl.LOCK_SH)
        try:
            made = None if lock is None else _made(folder)
            yield None if made is None else Entry(folder, max(0.0, time.time() - made))
        finally:
            if lock is not None:
                os.close(lock)

    @contextmanager
    def new(self) -> Iterator[New | None]:
        """Yield the folder of an entry to be made; None if the disk, or its permissions, allow none.

        At the end of the block it is removed, unless it was kept.
        """
        folder = self.folder / f"{_UNFINISHED}{uuid4()}"
        lock = _locked(folder, fcntl.LOCK_EX) if _is_made(folder) else None
        if lock is None:  # the disk takes no folder, or has no locks
            rmtree(folder, ignore_errors=True)
            yield None
            return
        new = New(self, folder, lock)
        try:
            yield new
        finally:
            if not new.is_kept:
                rmtree(new.folder, ignore_errors=True)
            os.close(lock)

    def contents(self) -> Contents:
        """Return what is there."""
        entries = self._entries()
        return Contents(len(entries), sum(map(_size, entries)))

    def clear(self) -> Contents:
        """Remove all entries but those that are in use; return what was removed."""
        self._remove_leftovers()
        sizes = {entry: _size(entry) for entry in self._entries()}
        removed = [size for entry, size in sizes.items() if _removed(entry)]
        return Contents(len(removed), sum(removed))

    def make_room(self) -> None:
        """Remove what interrupted runs left, and the oldest entries beyond the limit; none that is in use."""
        self._remove_leftovers()
        entries = sorted(self._entries(), key=lambda entry: _made(entry) or 0.0)
        sizes = {entry: _size(entry) for entry in entries}
        size = sum(sizes.values())
        for entry in entries:
            if size <= self._most_bytes:
                return
            if _removed(entry):
                size -= sizes[entry]

    def fits(self, folder: Path) -> bool:
        """Return whether a folder is small enough to be an entry."""
        return _size(folder) <= self._most_bytes

    def _entries(self) -> list[Path]:
        found = (each for each in self._folders() if not each.name.startswith(_UNFINISHED))
        return [each for each in found if _made(each) is not None]  # others are somebody else's

    def _remove_leftovers(self) -> None:
        for each in self._folders():
            if each.name.startswith(_UNFINISHED):
                _removed(each)

    def _folders(self) -> list[Path]:
        try:
            return [each for each in self.folder.iterdir() if each.is_dir()]
        except OSError:
            return []


class New:
    """The folder of an entry that is being made."""

    def __init__(self, cache: Cache, folder: Path, lock: int) -> None:
        self._cache = cache
        self.folder = folder
        self._lock = lock
        self.is_kept = False

    def keep(self, key: str) -> None:
        """Make the folder the entry of a key, unless another process did that meanwhile, or it is too large."""
        if not self._cache.fits(self.folder):
            return
        entry = self._cache.folder / key
        try:
            (self.folder / _MADE).touch()
            self.folder.rename(entry)  # at once: nobody sees a part of it
        except OSError:
            return
        self.folder = entry
        self.is_kept = True
        fcntl.flock(self._lock, fcntl.LOCK_SH)  # others may read it from now on
        self._cache.make_room()


def _folder(environment: Mapping[str, str]) -> Path | None:
    for variable, below in (("XDG_CACHE_HOME", ""), ("HOME", ".cache")):
        given = environment.get(variable, "")
        if Path(given).is_absolute():  # the specification ignores other ones
            return Path(given, below, _NAME)
    return None


def _is_made(folder: Path) -> bool:
    """Make a folder; return False if its disk does not allow that, or has little space."""
    free = free_bytes(folder.parent)
    if free is not None and free < _LEAST_FREE:
        return False
    try:
        folder.mkdir(mode=0o700)
    except OSError:
        return False
    return True


def _locked(folder: Path, how: int) -> int | None:
    """Return the lock of a folder, which is open until it is closed; None if there is no such folder, or no lock."""
    try:
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return None
    try:
        fcntl.flock(lock, how | fcntl.LOCK_NB)
        # Another process may have removed it, and even made it anew, after it was opened.
        if folder.stat().st_ino == os.fstat(lock).st_ino:
            return lock
    except OSError:
        pass
    os.close(lock)
    return None


def _removed(folder: Path) -> bool:
    """Remove a folder; return False if it is in use."""
    lock = _locked(folder, fcntl.LOCK_EX)
    if lock is None:
        return False
    try:
        gone = folder.with_name(f"{_UNFINISHED}{uuid4()}")
        folder.rename(gone)  # at once: nobody opens a part of it
        rmtree(gone, ignore_errors=True)
    except OSError:
        return False
    finally:
        os.close(lock)
    return True


def _made(entry: Path) -> float | None:
    try:
        return (entry / _MADE).stat().st_mtime
    except OSError:
        return None


def _size(folder: Path) -> int:
    size = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                size += os.lstat(Path(parent, name)).st_size
            except OSError:  # another process removes the entry
                continue
    return size

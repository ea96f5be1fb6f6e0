"""Errors of disks: full, over quota, read-only, without permission; each names the disk and how much of it is free."""

from __future__ import annotations

import errno
import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from kip848_records.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

FULL: Final = os.strerror(errno.ENOSPC)
"""The text of a full disk: that of the system, which Java, Spark, DuckDB and Arrow pass on in their own errors."""

_OTHER_FILE: Final = "name a file in an existing folder"
_SETTINGS: Final = "docs/sizing.md says how"
_UNITS: Final = ("B", "kB", "MB", "GB", "TB")


class DiskError(InputError):
    """Something cannot be written."""

    @classmethod
    def no_file(cls, path: str, reason: str | None, hint: str = _OTHER_FILE) -> Self:
        """Results cannot be written to a file."""
        return cls(f"results cannot be written to {path}: {reason}", hint)

    @classmethod
    def no_parent(cls, path: Path) -> Self:
        """A file's folder does not exist."""
        folder = path.parent
        return cls.no_file(
            str(path), f"there is no folder {folder}", f"make it: mkdir -p {shlex.quote(str(folder))}; or {_OTHER_FILE}"
        )

    @classmethod
    def not_allowed(cls, path: Path, what: str) -> Self:
        """The user may not write to `what`: the file, or its folder; or its disk cannot be written at all."""
        if _is_read_only(path.parent):
            reason = f"the disk of {path.parent} is read-only"
            return cls.no_file(str(path), reason, "name a file on a disk that can be written")
        hint = "run the command as a user with that permission, or name a file in a folder of your own"
        return cls.no_file(str(path), f"no permission to write to {what}", hint)

    @classmethod
    def of_file(cls, path: Path, error: OSError, size: int) -> Self:
        """The system refused to write a file of `size` bytes; `path`: as the user names it."""
        folder = Path(os.path.realpath(path)).parent
        if error.errno == errno.ENOSPC and folder.is_dir() and not _is_device(path):
            reason = f"{FULL}: it takes {bytes_text(size)}, and {_free(folder)} on the disk of {folder}"
            return cls.no_file(str(path), reason, f"free some space on that disk, or {_OTHER_FILE} on another one")
        if error.errno == errno.EDQUOT:
            reason = f"{error.strerror} on the disk of {folder}"
            return cls.no_file(str(path), reason, f"remove files of yours there, or {_OTHER_FILE} on another disk")
        if error.errno in {errno.EACCES, errno.EPERM, errno.EROFS}:
            return cls.not_allowed(path, str(folder))
        if error.errno == errno.ENOENT:
            return cls.no_parent(path)
        return cls.no_file(str(path), error.strerror)

    @classmethod
    def not_writable(cls, out: str, reason: str | None, option: str = "--out") -> Self:
        """The folder `out`, which an option names, cannot be written."""
        hint = f"pass a folder that you can write to with {option}; it need not exist"
        return cls(f"nothing can be written to {out}: {reason}", hint)

    @classmethod
    def of_folder(cls, out: str, error: OSError) -> Self:
        """The system refused to write to the folder `out`, which `--out` names."""
        if error.errno == errno.ENOSPC:
            reason = f"{FULL}, {_free(there)} there now" if (there := existing(Path(out))) else FULL
            return cls(
                f"nothing can be written to {out}: {reason}", "free some space, or pass a folder on a larger disk"
            )
        return cls.not_writable(out, error.strerror)

    @classmethod
    def scratch_full(cls, folder: str, free: int, needed: int, setting: str) -> Self:
        """The disk of a folder in which Spark keeps temporary files is full. `setting`: names the folder."""
        return cls(
            f"Spark cannot start: {bytes_text(free)} is free on the disk of {folder}, it takes {bytes_text(needed)}",
            f"free some space there, or set {setting} to a folder on a larger disk: {_SETTINGS}",
        )

    @classmethod
    def no_scratch(cls, folder: str, reason: str, setting: str) -> Self:
        """Spark may not write to a folder for temporary files."""
        hint = f"set {setting} to a folder that you can write to: {_SETTINGS}"
        return cls(f"Spark cannot start: nothing can be written to {folder}: {reason}", hint)

    @classmethod
    def full(cls, places: Mapping[str, Path]) -> Self:
        """A disk became full; which one, the error does not say. `places`: what was written, by how users name it.

        The run may have removed its files by now, so the numbers are those after it.
        """
        disks: dict[int, str] = {}
        for name, path in places.items():
            if (there := existing(path)) is not None:
                disks.setdefault(there.stat().st_dev, f"{_free(there)} on the disk of {name}")
        said = f" ({', '.join(disks.values())} now)" if disks else ""
        return cls(
            f"there is no space left on a disk{said}",
            "free some space and run the command again, or name folders on a larger disk (docs/sizing.md); "
            "a table is changed completely or not at all",
        )


class AnswerError(DiskError):
    """An answer was found, but cannot be printed."""

    exit_code = 1

    @classmethod
    def full_stdout(cls) -> Self:
        """The disk of stdout is full."""
        path = Path(os.path.realpath("/dev/fd/1"))
        where = f" to {path}" if path.is_file() else ""
        return cls(f"the answer cannot be written{where}: {FULL}", "redirect it to a file on a disk with enough space")


def existing(path: Path) -> Path | None:
    """Return a path, or the nearest of its parents that exists; None if the user may see none."""
    paths = (path.absolute(), *path.absolute().parents)
    return next((each for each in paths if os.path.exists(each)), None)  # noqa: PTH110 - Path.exists may raise an error


def free_bytes(folder: Path) -> int | None:
    """Return how much a user may still write to the disk of a folder; None if it does not say.

    A disk without inodes takes no file, however many bytes are free.
    """
    try:
        disk = os.statvfs(folder)
    except OSError:
        return None
    if not disk.f_blocks:
        return None
    return 0 if disk.f_files and not disk.f_favail else disk.f_bavail * disk.f_frsize


def _free(folder: Path) -> str:
    free = free_bytes(folder)
    return "an unknown number of bytes is free" if free is None else f"{bytes_text(free)} is free"


def bytes_text(count: float, smallest: str = _UNITS[0]) -> str:
    """Return a number of bytes in the unit that fits it, such as 0.5 MB. `smallest`: the name of the smallest unit."""
    unit = 0
    while count >= 1000 and unit < len(_UNITS) - 1:  # noqa: PLR2004 - the step of SI units
        count, unit = count / 1000, unit + 1
    return f"{count:.1f} {_UNITS[unit]}" if unit else f"{count:.0f} {smallest}"


def _is_device(path: Path) -> bool:
    return path.exists() and not path.is_file()


def _is_read_only(folder: Path) -> bool:
    try:
        return bool(os.statvfs(folder).f_flag & os.ST_RDONLY)
    except OSError:
        return False

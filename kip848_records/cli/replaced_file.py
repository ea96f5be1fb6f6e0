"""Files of results: each is written beside the old one and takes its place when it is complete.

If the disk becomes full, or the command is interrupted, the old file stays unchanged, and nothing stays beside it.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
import sys
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from kip848_records.machine.disks import DiskError

if TYPE_CHECKING:
    from collections.abc import Iterator

# A file may be mounted itself, as containers do it: it can be written, but no other can take its place.
_IN_PLACE_ONLY = {errno.EBUSY, errno.EXDEV}
_NO_FOLDER_RIGHTS = {errno.EACCES, errno.EPERM, errno.EROFS}


def check_file(path: Path, *, is_replaced: bool = False) -> None:
    """Raise DiskError if a file cannot be written; commands call this before any work.

    A file that `is_replaced` is never written in place, which takes the right to write to its folder. Any other may be
    written in place if its folder does not allow more.
    """
    target = Path(os.path.realpath(path))
    if os.path.isdir(target):  # noqa: PTH112 - Path.is_dir raises an error below a folder without permission
        raise DiskError.no_file(str(path), "it is a folder", f"name a file in it, such as {path / 'results'}")
    if not os.path.isdir(target.parent):  # noqa: PTH112
        raise DiskError.no_parent(target if os.path.isdir(path.parent) else path)  # noqa: PTH112
    if is_replaced or not os.path.exists(target):  # noqa: PTH110
        if not os.access(target.parent, os.W_OK | os.X_OK):
            raise DiskError.not_allowed(path, str(target.parent))
    elif not os.access(target, os.W_OK):
        raise DiskError.not_allowed(path, "it")


def write_file(path: Path, text: str, *, is_replaced: bool = False) -> None:
    """Write a file; raise DiskError if that fails. `is_replaced`: see `check_file`.

    A link stays a link, and a file keeps its mode and, where the system allows it, its owner. A pipe, a device, and a
    file that this process has open, such as `/dev/stdout`, are written as they are.
    """
    content = text.encode()
    try:
        if (handle := _open_handle(path)) is not None:
            sys.stdout.flush()
            _write_to(os.dup(handle), content)
        elif os.path.exists(path) and not os.path.isfile(path):  # noqa: PTH110, PTH113
            _write_in_place(path, content)
        else:
            _replace(Path(os.path.realpath(path)), content, is_replaced=is_replaced)
    except OSError as error:
        raise DiskError.of_file(path, error, len(content)) from None


def _open_handle(path: Path) -> int | None:
    """Return a descriptor with which the caller lets this process write to a file; None if there is none.

    The caller has it open, so another file in its place would not be the one that it reads. Descriptors that Python
    opened are not inherited by others, and so are not meant.
    """
    from fcntl import F_GETFL, fcntl  # --help works on Windows, which has no descriptors like these

    with suppress(OSError):
        wanted = os.stat(path)  # noqa: PTH116 - as os.fstat
        for handle in map(int, os.listdir("/dev/fd")):  # noqa: PTH208
            with suppress(OSError):  # the listing's own is closed by now
                is_it = os.get_inheritable(handle) and os.path.samestat(os.fstat(handle), wanted)
                if is_it and fcntl(handle, F_GETFL) & os.O_ACCMODE != os.O_RDONLY:
                    return handle
    return None


def _replace(path: Path, content: bytes, *, is_replaced: bool) -> None:
    try:
        with _beside(path) as (part, handle):
            _write_to(handle, content)
            if path.exists():
                _keep_rights(path, part, is_replaced=is_replaced)
            part.replace(path)
    except OSError as error:
        may_not = error.errno in _IN_PLACE_ONLY or (error.errno in _NO_FOLDER_RIGHTS and os.access(path, os.W_OK))
        if is_replaced or not may_not:
            raise
        _write_in_place(path, content)


@contextmanager
def _beside(path: Path) -> Iterator[tuple[Path, int]]:
    """Yield a new file in the same folder, and its descriptor; the block gives the file its name, or it is removed."""
    part = path.with_name(f".kip848-{uuid4().hex}.part")
    try:
        # With the rights of any new file, other than those of tempfile's.
        yield part, os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    finally:
        part.unlink(missing_ok=True)


def _keep_rights(old: Path, new: Path, *, is_replaced: bool) -> None:
    """Give a file the mode, the owner and the access list of another.

    Only root may give a file away. Its group counts more, because the group's rights are those of the mode: raises an
    OSError if it cannot be kept, unless the file is replaced in any case.
    """
    found = old.stat()
    try:
        os.chown(new, found.st_uid, found.st_gid)
    except PermissionError:
        with suppress(OSError) if is_replaced else nullcontext():
            os.chown(new, -1, found.st_gid)
    shutil.copystat(old, new)
    os.utime(new)


def _write_in_place(path: Path, content: bytes) -> None:
    flags = os.O_WRONLY | (os.O_TRUNC if path.is_file() else 0)
    _write_to(os.open(path, flags), content)


def _write_to(handle: int, content: bytes) -> None:
    """Write all content to a descriptor and close it; some disks say that they are full only when asked to keep it."""
    with os.fdopen(handle, "wb") as file:
        file.write(content)
        file.flush()
        if stat.S_ISREG(os.fstat(handle).st_mode):
            os.fsync(handle)

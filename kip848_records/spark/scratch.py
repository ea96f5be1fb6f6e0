"""The folders that a session of our own fills on this machine, and whether their disks have space for it to start."""

from __future__ import annotations

import os
import shlex
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from kip848_records.machine.disks import DiskError, existing, free_bytes
from kip848_records.spark.conf import default_settings, submitted_settings
from kip848_records.spark.setup_errors import SetupError

if TYPE_CHECKING:
    from collections.abc import Mapping

_LOCAL: Final = "spark.local.dir"
_JAVA: Final = "java.io.tmpdir"
_JAVA_OPTION: Final = f"-D{_JAVA}="
# Variables and settings, in the order in which a JVM reads them: the last one counts.
_JAVA_OPTIONS: Final = (
    *("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "SPARK_SUBMIT_OPTS"),
    *("spark.driver.defaultJavaOptions", "spark.driver.extraJavaOptions", "_JAVA_OPTIONS"),
)

_JARS_BYTES: Final = 32 << 20
"""A session copies its jars there: with them an audit of 0.2 MB takes 23 MB."""

_LIBRARIES_BYTES: Final = 4 << 20
"""Java unpacks the native libraries of the codecs."""


class ScratchFolder(NamedTuple):
    """A folder: the setting that names it, and how much of it the start of a session takes, in bytes."""

    setting: str
    folder: Path
    needed: int

    @property
    def name(self) -> str:
        """The folder as errors name it."""
        return f"{self.folder} ({self.setting})"


def check_scratch_disks() -> None:
    """Raise DiskError if a session could not start because a disk is full, or may not be written to."""
    for each in _own_folders():
        there = existing(each.folder)
        if there is None:
            continue
        if not _may_write(each.folder):
            raise DiskError.no_scratch(each.name, f"no permission to write to {there}", each.setting)
        free = free_bytes(there)
        if free is not None and free < each.needed:
            raise DiskError.scratch_full(each.name, free, each.needed, each.setting)


def scratch_places() -> dict[str, Path]:
    """Return the same folders by their names, as `DiskError.full` takes them."""
    try:
        folders = _own_folders()
    except SetupError:
        folders = scratch_folders({})
    return {each.name: each.folder for each in folders}


def _own_folders() -> list[ScratchFolder]:
    return scratch_folders(default_settings() | submitted_settings())


def scratch_folders(settings: Mapping[str, str]) -> list[ScratchFolder]:
    """Return the folders of Spark, of Java and of Python for temporary files, by Spark's settings.

    Spark ignores those of its folders to which it may not write, if there is another (`DiskBlockManager`). It takes one
    on a full disk, and fails when it writes to it.
    """
    java = _java_folder(settings)
    local = os.environ.get("SPARK_LOCAL_DIRS")
    setting, names = ("SPARK_LOCAL_DIRS", local) if local else (_LOCAL, settings.get(_LOCAL) or str(java))
    named = [ScratchFolder(setting, Path(name.strip()), _JARS_BYTES) for name in names.split(",") if name.strip()]
    folders = [each for each in named if _may_write(each.folder)] or named
    folders.append(ScratchFolder(_JAVA, java, _LIBRARIES_BYTES))
    folders.append(ScratchFolder("TMPDIR", _python_folder(), _LIBRARIES_BYTES))
    return folders


def _may_write(folder: Path) -> bool:
    there = existing(folder)
    return there is not None and os.access(there, os.W_OK | os.X_OK)


def _java_folder(settings: Mapping[str, str]) -> Path:
    """Return Java's folder for temporary files, which does not follow TMPDIR on Linux."""
    found = Path("/tmp") if sys.platform == "linux" else _python_folder()  # noqa: S108 - Java's own default
    named = os.environ | settings
    with suppress(ValueError):  # a quote that is not closed: Java will say so
        for option in shlex.split(" ".join(named.get(name, "") for name in _JAVA_OPTIONS)):
            if option.startswith(_JAVA_OPTION):
                found = Path(option.removeprefix(_JAVA_OPTION))
    return found


def _python_folder() -> Path:
    try:
        return Path(tempfile.gettempdir())
    except FileNotFoundError:  # a full disk: Python tried to write to each folder that it knows
        return Path(os.environ.get("TMPDIR") or "/tmp")  # noqa: S108 - Python's default

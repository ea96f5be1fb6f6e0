"""Examines this machine for an audit: Java, installed versions, jars, memory, disk, and the folder of the tables.

Nothing here starts Spark or imports it, so the answer takes a moment, and is there without it.
"""

from __future__ import annotations

import os
import re
import sys
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Final, NamedTuple

from kip848_records import __version__
from kip848_records.machine.budget import whole_memory
from kip848_records.machine.disks import existing, free_bytes
from kip848_records.machine.paths import path_on_this_machine, with_page_paths
from kip848_records.spark.conf import SUBMIT_ARGS, check_versions, default_settings, missing_jars, submitted_settings
from kip848_records.spark.java import check_java, home_of_java
from kip848_records.spark.scratch import scratch_folders
from kip848_records.spark.setup_errors import SetupError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

OK: Final = "ok"
NOTE: Final = "note"
LACKING: Final = "lacking"
"""The statuses of a finding. A note is about something that not every audit needs."""

_FREE_BYTES: Final = 1 << 30
_READERS: Final = ("deltalake", "duckdb", "pyarrow")
_SHIFTS: Final = {"": 0, "k": 10, "m": 20, "g": 30, "t": 40}


class Found(NamedTuple):
    """A finding about a subject; `hint` says how to get what lacks."""

    status: str
    subject: str
    text: str
    hint: str | None = None


def examine(out: str | None = None) -> Iterator[Found]:
    """Yield what there is for an audit that writes to the folder `out`."""
    yield Found(OK, "kip848-records", f"{__version__}, Python {sys.version.split()[0]}")
    if sys.platform == "win32":
        error = SetupError.other_system("Windows")
        yield Found(LACKING, "system", error.message, error.hint)
        return  # the rest would be of no use, and is found in other ways there
    yield _readers()
    if _installed("pyspark") is None:
        what = "not installed: only catalogs and other file systems need it"
        yield Found(NOTE, "Spark", what, SetupError.no_spark("pyspark").hint)
        yield _memory({})
    else:
        yield from _for_spark()
    if out is not None:
        yield _folder(out)
    yield _extra("apprise", "notify", "--webhook")


def _for_spark() -> Iterator[Found]:
    settings: dict[str, str] = {}
    try:
        settings = default_settings() | submitted_settings()
    except SetupError as error:
        yield Found(LACKING, "settings", error.message, error.hint)
    else:
        yield _checked("Spark", lambda: "pyspark {}, delta-spark {}".format(*check_versions()))
    yield _checked("Java", lambda: str(check_java()))
    yield _jars(settings)
    yield _memory(settings)
    yield from _scratch(settings)


def _checked(subject: str, check: Callable[[], str]) -> Found:
    """Return the result of a check that the start of Spark makes too."""
    try:
        return Found(OK, subject, check())
    except SetupError as error:
        return Found(LACKING, subject, error.message, error.hint)


def _installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _readers() -> Found:
    """Find the libraries that read tables."""
    found = {name: _installed(name) for name in _READERS}
    missing = [name for name, installed in found.items() if installed is None]
    if missing:
        return Found(LACKING, "readers", f"{', '.join(missing)}: not installed", f"pip install {' '.join(missing)}")
    return Found(OK, "readers", ", ".join(f"{name} {installed}" for name, installed in found.items()))


def _jars(settings: Mapping[str, str]) -> Found:
    missing = missing_jars(settings, home_of_java())
    if "spark.jars" in settings:
        return Found(OK, "jars", "those of the setting spark.jars")
    if not missing:
        return Found(OK, "jars", "Spark has them, or finds them in its Ivy folder")
    return Found(
        NOTE,
        "jars",
        f"{', '.join(missing)}: not in Ivy's folder yet",
        with_page_paths(
            "the first audit fetches them from a Maven repository; docs/install.md says how to bring them to a machine "
            "without a network"
        ),
    )


def _memory(settings: Mapping[str, str]) -> Found:
    """Compare the memory of this machine, or of its container, with what Spark may take."""
    there, wanted = whole_memory(), _size(settings.get("spark.driver.memory", ""))
    text = f"{there / (1 << 30):.1f} GiB" + (f", spark.driver.memory is {wanted / (1 << 30):g} GiB" if wanted else "")
    if wanted is None or there > wanted:
        return Found(OK, "memory", text)
    hint = 'lower it, which is enough for small logs: {}="--driver-memory 1g pyspark-shell" kip848 ...'
    return Found(NOTE, "memory", text, hint.format(SUBMIT_ARGS))


def _size(text: str) -> int | None:
    """Return the bytes of a size such as `4g`, as Java's option `-Xmx` takes it; None if it is not one."""
    found = re.fullmatch(r"(\d+)([kmgt]?)b?", text, re.IGNORECASE)
    return None if found is None else int(found[1]) << _SHIFTS[found[2].lower()]


def _scratch(settings: Mapping[str, str]) -> Iterator[Found]:
    """Find the folders for temporary files: one may be that of several settings."""
    named: dict[Path, list[str]] = {}
    for each in scratch_folders(settings):
        named.setdefault(each.folder, []).append(each.setting)
    for folder, names in named.items():
        hint = f"set {' and '.join(names)} to a folder on a larger disk: docs/sizing.md says how"
        yield _disk("temporary files", folder, with_page_paths(hint))


def _disk(subject: str, folder: Path, hint: str) -> Found:
    """Examine the disk of a folder, which need not exist."""
    there = existing(folder) or folder
    if not there.is_dir() or not os.access(there, os.R_OK | os.W_OK | os.X_OK):
        reason = "no permission to write to it" if there.is_dir() else "it is a file"
        return Found(LACKING, subject, f"{there}: {reason}", "name a folder that you can write to; it need not exist")
    free = free_bytes(there)
    if free is None:
        return Found(OK, subject, f"an unknown number of bytes is free in {there}")
    text = f"{free / (1 << 30):.1f} GiB free in {there}"
    return Found(OK, subject, text) if free >= _FREE_BYTES else Found(LACKING, subject, text, hint)


def _folder(out: str) -> Found:
    folder = path_on_this_machine(out)
    if folder is None:
        return Found(
            NOTE, "--out", f"{out} is not on this machine, and was not examined", "Spark says whether it can write"
        )
    return _disk("--out", folder, "pass a folder on another disk: tables take about as much as the log")


def _extra(package: str, extra: str, option: str) -> Found:
    installed = _installed(package)
    if installed is not None:
        return Found(OK, option, f"{package} {installed}")
    return Found(NOTE, option, f"{package} is not installed", f"pip install 'kip848-records[{extra}]'")

"""Paths as users write them, and whether they are on this machine or on another file system.

A path without a scheme is on the default file system of Spark. A session knows it; without one, `SPARK_VARIABLES` show
whether it may be another one than that of this machine.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

URI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
"""The start of a path that names its file system."""

SESSION_OFFERS: Final = frozenset({"PYSPARK_GATEWAY_PORT", "SPARK_CONNECT_MODE_ENABLED", "SPARK_REMOTE"})
"""Variables that spark-submit and Spark Connect set: a session is there to be used."""
DATABRICKS: Final = "DATABRICKS_RUNTIME_VERSION"
"""A variable of Databricks, where a session is there too."""
SPARK_SETTINGS: Final = frozenset({"PYSPARK_SUBMIT_ARGS", "SPARK_CONF_DIR"})
"""Variables by which a user configures a session that this process starts."""
SPARK_VARIABLES: Final = SESSION_OFFERS | SPARK_SETTINGS | {"HADOOP_CONF_DIR"}
"""If one of these variables is set, a path without a scheme may be on another file system."""

_FILE_URI: Final = re.compile("^file:/+")

_PAGE: Final = re.compile(r"(?<![\w/.-])docs/[\w/-]+\.md")
_PACKAGE: Final = Path(__file__).parents[1]


def is_session_offered() -> bool:
    """Return whether spark-submit, Spark Connect or Databricks offers a session to this process."""
    return not (SESSION_OFFERS | {DATABRICKS}).isdisjoint(os.environ)


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
    """Return the local path if this machine's files are the default file system; None for another file system.

    It has no `..`: see `without_parents`.
    """
    if path.startswith("file:"):
        return without_parents(Path(re.sub("^/+", "/", path.removeprefix("file:"))))
    return None if URI.match(path) else without_parents(Path(path))


def names_beside(path: str) -> list[str]:
    """Return the other names in the folder of a path; none if that is not on this machine, or cannot be listed."""
    local = path_on_this_machine(path)
    try:
        return [] if local is None else sorted(each.name for each in local.parent.iterdir() if each.name != local.name)
    except OSError:
        return []


def without_parents(path: Path) -> Path:
    """Return a path without `..`, as the operating system follows it: behind a link, the parent is its target's.

    Hadoop and URLs remove the name before each `..` from the text, and would read and write in another folder.
    """
    if ".." not in path.parts:
        return path
    last = len(path.parts) - path.parts[::-1].index("..")
    return Path(os.path.realpath(Path(*path.parts[:last])), *path.parts[last:])


def is_file_uri(path: str) -> bool:
    """Return whether a path names the file system of this machine, as the paths of files do that Spark lists."""
    return _FILE_URI.match(path) is not None


def is_empty(path: str) -> bool:
    """Return whether a file has no byte; false if it is not on this machine."""
    try:
        return Path(without_scheme(path)).stat().st_size == 0
    except OSError:
        return False


def without_scheme(path: str) -> str:
    """Return a path without the scheme of local files: Spark writes one slash in some places and three in others."""
    return _FILE_URI.sub("/", path)


def local_path(spark: SparkSession, path: str) -> Path | None:
    """Return the local path that a session sees at `path`; None if it is on an object store or another file system."""
    if path.startswith("file:"):
        return path_on_this_machine(path)
    jsc = getattr(spark, "_jsc", None)  # a Connect session has none, and its server may be on another machine
    is_default = jsc is not None and jsc.hadoopConfiguration().get("fs.defaultFS").startswith("file:")
    return path_on_this_machine(path) if is_default else None


def path_without_session(path: str) -> Path | None:
    """Return the local path of `path`; None if it is elsewhere, or only a session can resolve it."""
    is_known = path.startswith("file:") or SPARK_VARIABLES.isdisjoint(os.environ)
    return path_on_this_machine(path) if is_known else None


def known_path(path: str) -> Path | None:
    """Return the local path of `path` by the active session, if there is one, else by `path_without_session`."""
    spark = _active_session()
    return path_without_session(path) if spark is None else local_path(spark, path)


def _active_session() -> SparkSession | None:
    if "pyspark.sql" not in sys.modules:  # loading it takes a quarter of a second
        return None
    from pyspark.sql import SparkSession  # noqa: PLC0415 - as above

    return SparkSession.getActiveSession()

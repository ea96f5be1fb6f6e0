"""Files at paths, through Spark's own file access, so that object stores and volumes work alike."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING
from urllib.parse import unquote

from pyspark.errors import IllegalArgumentException, PySparkException

from kip848_records.errors import InputError
from kip848_records.machine.paths import local_path, without_scheme

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

# The messages of Java and of a Python worker about a file that the operating system refuses.
_NOT_OPENED = (
    re.compile(r"java\.io\.FileNotFoundException: (.*?) \((Permission denied)\)"),
    re.compile(r"InputError: (.*?) cannot be read: (.*?); "),
)
# Spark's message about a file that it cannot read.
_UNREADABLE = re.compile(r"\[FAILED_READ_FILE\.\w+\] Encountered error while reading file (.*?)\.\s")


@contextmanager
def reading() -> Iterator[None]:
    """Turn Spark's read failures within the block into InputErrors, which name the file if it is known."""
    try:
        yield
    except Exception as error:
        # Spark's Python classes do not distinguish these failures; their text does.
        for form in _NOT_OPENED:
            if failure := form.search(str(error)):
                raise InputError.not_opened(unquote(failure[1]), failure[2]) from error
        if (file := unreadable_file(error)) is not None:
            raise InputError.unreadable(file) from error
        if "java.lang.OutOfMemoryError" in str(error):
            raise InputError(
                "Spark ran out of memory while it read the source",
                "raise spark.driver.memory, or spark.executor.memory on a cluster; "
                "or copy the segment files to a local folder: local files are read in parts",
            ) from error
        raise


def unreadable_file(error: Exception) -> str | None:
    """Return the file that Spark could not read, by its error; None for another error."""
    failure = _UNREADABLE.search(str(error))
    return None if failure is None else without_scheme(unquote(failure[1]))


def escape_glob(path: str) -> str:
    r"""Return `path` with Hadoop's pattern characters escaped."""
    return re.sub(r"([\\{}\[\]*?,^])", r"\\\1", path.rstrip("/") or "/")


def spark_path(spark: SparkSession, path: str) -> str:
    """Return a path for a reader of Spark: one of this machine as a URI, without `..`."""
    local = local_path(spark, path)
    return path if local is None else f"file://{local.absolute()}"


def list_spark_files(spark: SparkSession, path: str, below: str = "") -> list[str] | None:
    """Return the files at a path that match the pattern `below` it, sorted, none hidden; None if it does not exist."""
    try:
        files = spark.read.format("binaryFile").load(f"{escape_glob(path)}{below}").inputFiles()
    except IllegalArgumentException:  # Hadoop cannot look for a pattern below a folder with a colon in its name
        return None
    except PySparkException as error:
        if error.getCondition() == "PATH_NOT_FOUND":
            return None
        if error.getCondition() == "CONFLICTING_DIRECTORY_STRUCTURES":
            found = (error.getMessageParameters() or {}).get("discoveredBasePaths", "")
            raise InputError.mixed_folders(path, found.split()) from None
        raise
    return sorted(unquote(file) for file in files)

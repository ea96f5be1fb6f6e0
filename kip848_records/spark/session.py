"""The Spark session: the caller's if there is one, else a local one set up for Delta.

`conf/spark-defaults.conf` holds every setting. A session of our own gets it as Spark's
configuration folder, spark-submit as its ``--properties-file``; nothing is set twice. `conf/small-input.conf` changes
some for a session that reads little: it is there to answer soon.
"""

from __future__ import annotations

import atexit
import logging
import os
import re
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

from kip848_records.spark.setup_errors import SetupError

try:
    import pyspark
except ModuleNotFoundError:
    raise SetupError.no_spark("pyspark") from None
from pyspark import SparkConf, SparkContext
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession
from pyspark.sql.utils import is_remote

from kip848_records.machine.disks import FULL, DiskError
from kip848_records.machine.paths import DATABRICKS, SESSION_OFFERS, SPARK_SETTINGS
from kip848_records.spark import logs as spark_logs
from kip848_records.spark.conf import conf_dir, default_settings
from kip848_records.spark.interrupts import deferred_interrupts
from kip848_records.spark.jars import delta_jar
from kip848_records.spark.java import check_java, home_of_java
from kip848_records.spark.process import EndedError, start_jvm
from kip848_records.spark.scratch import check_scratch_disks, scratch_places

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from subprocess import Popen

    from kip848_records.errors import Kip848Error
    from kip848_records.spark.interrupts import Starting

_TIME_ZONE = "spark.sql.session.timeZone"
_PY_FILES = "spark.submit.pyFiles"
_DELTA_EXTENSION = "io.delta.sql.DeltaSparkSessionExtension"
_SMALL_BYTES = 16 << 20
_COMPRESSED_SUFFIXES = (".parquet", ".gz", ".bz2", ".zst")
_COMPRESSED = 20
"""How many bytes a byte of such files may become: offset commits of one group resemble each other."""


def get_session(app_name: str = "kip848", reads: Iterable[str] = ()) -> SparkSession:
    """Return the active session, or the one that spark-submit or Spark Connect offers, or a new local one with Delta.

    `app_name`: the name of a new session. `reads`: the paths that a new session will read; for a few MB it gets
    settings that answer sooner.

    A new session writes its log to a file, not to the terminal. The time zone of the session becomes UTC, because the
    tables' times are read as UTC.

    Raises SetupError if Java, the installed versions, the jars or the session's settings do not allow Delta tables to
    be written.
    """
    # By default workers start the `python3` of the PATH, which is the wrong one in a virtual environment.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    # PySpark prints some errors as JSON besides raising them.
    for name in ("DataFrameQueryContextLogger", "SQLQueryContextLogger"):
        PySparkLogger.getLogger(name).setLevel(logging.CRITICAL + 1)
    spark = SparkSession.getActiveSession()
    if spark is None:
        # Another thread's session is not active in this one, but its context is there.
        builder = SparkSession.builder.appName(app_name)
        if os.environ.get("SPARK_REMOTE", "").startswith("sc:"):
            builder.getOrCreate()  # a server may never answer, and there is no JVM to end: Ctrl-C ends the wait
        try:
            with deferred_interrupts() as starting:
                if SESSION_OFFERS.isdisjoint(os.environ) and SparkContext._active_spark_context is None:  # noqa: SLF001
                    _start_spark(app_name, _small_input() if _is_small(reads) else {}, starting)
                else:
                    builder.getOrCreate()
        except KeyboardInterrupt:
            _forget_ended_jvm()
            raise
        spark = builder.getOrCreate()
    _check_settings(spark)
    return spark


def _check_settings(spark: SparkSession) -> None:
    """Mend the time zone, which can be set late, and refuse a session without Delta."""
    if spark.conf.get(_TIME_ZONE) != "UTC":
        spark.conf.set(_TIME_ZONE, "UTC")
    # A Connect server and Databricks bring Delta in ways of their own.
    if is_remote() or DATABRICKS in os.environ:
        return
    if _DELTA_EXTENSION not in (spark.conf.get("spark.sql.extensions", "") or ""):
        raise SetupError(
            "this Spark session was started without Delta Lake's extension",
            "pass --properties-file conf/spark-defaults.conf to spark-submit, or add those settings to the session",
        )


def _is_small(paths: Iterable[str]) -> bool:
    """Return whether there is something at these paths, on this machine, and no more than `_SMALL_BYTES` in all.

    A user's own Spark settings take precedence.
    """
    if not SPARK_SETTINGS.isdisjoint(os.environ):
        return False
    left = _SMALL_BYTES
    try:
        for path in paths:
            size = _files_size(Path(path), left)
            if not 0 < size <= left:
                return False
            left -= size
    except OSError:  # a broker deletes files while they are looked at; Spark says what it cannot read
        return False
    return left < _SMALL_BYTES


def _files_size(path: Path, limit: int) -> int:
    """Return the bytes of all files at `path` in memory, or some number above `limit`: there may be many files."""
    size = 0
    for file in [path] if path.is_file() else path.rglob("*"):
        if file.is_file():
            size += file.stat().st_size * (_COMPRESSED if file.suffix in _COMPRESSED_SUFFIXES else 1)
        if size > limit:
            break
    return size


def _small_input() -> dict[str, str]:
    """Return the settings that `conf/small-input.conf` changes."""
    lines = (conf_dir() / "small-input.conf").read_text(encoding="utf-8").splitlines()
    named = (line.split(maxsplit=1) for line in lines if line and not line.startswith("#"))
    return {setting[0]: setting[1] for setting in named}


def _start_spark(app_name: str, settings: Mapping[str, str], starting: Starting) -> None:
    """Start a JVM and its context, which the session builder then finds."""
    check_java()
    check_scratch_disks()
    _check_versions()
    spark_logs.remove_ended()
    log, handle = spark_logs.create()
    with os.fdopen(handle, "w") as output:
        try:
            gateway = start_jvm(settings, output, starting)
        except EndedError:
            if starting.is_interrupted:
                log.unlink()
                raise KeyboardInterrupt from None
            raise _why_not_started(log) from None
    atexit.register(_discard_log, log, gateway.proc, starting)
    conf = SparkConf(_jvm=gateway.jvm)
    # The jars of `spark.jars.packages` come as Python files too, in case there are some in them. Python would look
    # through all of them for every module that it imports, here and in the workers.
    files = [file for file in conf.get(_PY_FILES, "").split(",") if not file.endswith(".jar")]
    SparkContext(appName=app_name, gateway=gateway, conf=conf.set(_PY_FILES, ",".join(files)))


def _forget_ended_jvm() -> None:
    """Let the next session start a JVM if an interrupt ended the one that was starting."""
    gateway = SparkContext._gateway  # noqa: SLF001
    process = getattr(gateway, "proc", None)
    if process is not None and process.poll() is not None:
        SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None  # noqa: SLF001


def _discard_log(log: Path, jvm: Popen[bytes], starting: Starting) -> None:
    """Remove the log, unless the JVM died before us, and not by an interrupt: then the log says why."""
    if jvm.poll() is None or starting.is_interrupted:
        log.unlink(missing_ok=True)


def _why_not_started(log: Path) -> Kip848Error:
    said = log.read_text()
    if FULL in said:
        return DiskError.full(scratch_places() | {str(home_of_java()): home_of_java()})  # Ivy's folder is there
    jars = re.findall(r"(?:unresolved dependency|download failed): ([^\s:!\]]+)", said)
    if jars:
        return SetupError(
            f"Spark could not fetch {', '.join(dict.fromkeys(jars))}",
            "connect this machine to a Maven repository, name a mirror with spark.jars.ivySettings or "
            f"spark.jars.repositories, or bring the jars as docs/install.md says (Ivy's report: {log})",
        )
    return SetupError("Spark did not start", f"see the reason in {log}")


def _check_versions() -> None:
    """Compare what is installed with the jars that spark-defaults.conf names."""
    jar = delta_jar(default_settings())
    if jar is None:  # the user's own configuration folder, with jars of its own
        return
    if (error := jar.mismatch(pyspark.__version__, _installed_delta())) is not None:
        raise error
    home = os.environ.get("SPARK_HOME")
    if home and not any(Path(home).glob(f"jars/spark-core_*-{pyspark.__version__}.jar")):
        raise SetupError(
            f"SPARK_HOME={home} is not Spark {pyspark.__version__}, the version of the installed pyspark",
            "unset SPARK_HOME to run the Spark of the installed pyspark",
        )


def _installed_delta() -> str:
    try:
        return version("delta-spark")
    except PackageNotFoundError:
        return "missing"

"""The Spark session: the one that is there or offered, else a new local one with Delta.

`conf/spark-defaults.conf` holds every setting. A session of our own gets it as Spark's configuration folder,
spark-submit as its ``--properties-file``; nothing is set twice.
"""

from __future__ import annotations

import logging
import os
import re
import signal
import sys
import tempfile
from contextlib import contextmanager
from subprocess import PIPE, Popen
from typing import IO, TYPE_CHECKING

from pyspark.errors import PySparkRuntimeError
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession
from pyspark.sql.utils import is_remote

from kip848_records.machine.disks import FULL, DiskError
from kip848_records.machine.paths import DATABRICKS, is_session_offered
from kip848_records.spark.conf import PY_FILES, check_versions, spark_conf_dir, submitted_settings
from kip848_records.spark.interrupts import same_handler
from kip848_records.spark.java import check_java, home_of_java
from kip848_records.spark.scratch import check_scratch_disks, scratch_places
from kip848_records.spark.setup_errors import SetupError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kip848_records.errors import Kip848Error

_TIME_ZONE = "spark.sql.session.timeZone"
_DELTA_EXTENSION = "io.delta.sql.DeltaSparkSessionExtension"


def get_session(app_name: str = "kip848") -> SparkSession:
    """Return the active session, or the one that spark-submit or Spark Connect offers, or a new local one with Delta.

    `app_name`: the name of a new session.

    The log of a new session is not printed. The time zone of the session becomes UTC, because the tables'
    times are read as UTC.

    Raises SetupError if Java, the installed versions, the jars or the session's settings do not allow Delta tables to
    be written.
    """
    # By default workers start the `python3` of the PATH, which is the wrong one in a virtual environment.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    # PySpark prints some errors as JSON besides raising them.
    for name in ("DataFrameQueryContextLogger", "SQLQueryContextLogger"):
        PySparkLogger.getLogger(name).setLevel(logging.CRITICAL + 1)
    try:
        spark = SparkSession.active()
    except PySparkRuntimeError:  # there is none yet
        with same_handler():
            if not is_session_offered():
                _start_spark(app_name)
            spark = SparkSession.builder.appName(app_name).getOrCreate()
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


def _start_spark(app_name: str) -> None:
    """Start a JVM and its context if there is none; the session builder finds it. The user sees nothing that it prints.

    It prints a report of all jars, and the stack trace of each failed task; an error of ours has one line of it.
    """
    # The package `pyspark-client` has none of these: it only asks servers of Spark Connect.
    from pyspark.conf import SparkConf  # noqa: PLC0415 - as above
    from pyspark.core.context import SparkContext  # noqa: PLC0415 - as above
    from pyspark.java_gateway import launch_gateway  # noqa: PLC0415 - as above

    # No public name says whether a program has made a context without a session.
    if SparkContext._active_spark_context is not None:  # noqa: SLF001
        return
    check_java()
    check_scratch_disks()
    check_versions()
    with tempfile.TemporaryFile() as output, _group_of_processes() as group, _variables_of_the_jvm():
        try:
            kept = {"stdout": output, "stderr": output, "process_group": group}
            gateway = launch_gateway(popen_kwargs=kept)  # type: ignore[no-untyped-call]
        except PySparkRuntimeError:
            raise _why_not_started(output) from None
        except BaseException:
            os.killpg(group, signal.SIGTERM)
            raise
    # The jars of `spark.jars.packages` come as Python files too, in case there are some in them. Python would look
    # through all of them for every module that it imports, here and in the workers.
    conf = SparkConf().set(PY_FILES, submitted_settings().get(PY_FILES, ""))
    SparkContext(appName=app_name, gateway=gateway, conf=conf)


@contextmanager
def _group_of_processes() -> Iterator[int]:
    """Yield the id of a new group of processes, to end the JVM with.

    A JVM ends with this process, but not while it fetches jars, which may take minutes. PySpark says only after that
    which process it is.
    """
    with Popen(["cat"], stdin=PIPE, process_group=0) as first:  # noqa: S607 - it ends with the block
        yield first.pid


@contextmanager
def _variables_of_the_jvm() -> Iterator[None]:
    """Set the variables of the JVM's environment within the block: later ones would look like the user's own choice.

    In the language C Java passes on the system's errors as Python does, such as that of a full disk.
    """
    variables = {"SPARK_CONF_DIR": str(spark_conf_dir()), "LANGUAGE": "C"}
    before = {name: os.environ.get(name) for name in variables}
    os.environ |= variables
    try:
        yield
    finally:
        for name, value in before.items():
            del os.environ[name]
            if value is not None:
                os.environ[name] = value


def _why_not_started(output: IO[bytes]) -> Kip848Error:
    output.seek(0)
    said = output.read().decode(errors="replace")
    if FULL in said:
        return DiskError.full(scratch_places() | {str(home_of_java()): home_of_java()})  # Ivy's folder is there
    with tempfile.NamedTemporaryFile("w", prefix="kip848-spark-", suffix=".log", delete=False) as log:
        log.write(said)
    jars = re.findall(r"(?:unresolved dependency|download failed): ([^\s:!\]]+)", said)
    if jars:
        return SetupError(
            f"Spark could not fetch {', '.join(dict.fromkeys(jars))}",
            "connect this machine to a Maven repository, name a mirror with spark.jars.ivySettings or "
            f"spark.jars.repositories, or bring the jars as docs/install.md says (Ivy's report: {log.name})",
        )
    return SetupError("Spark did not start", f"see the reason in {log.name}")

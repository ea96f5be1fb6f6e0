"""Starts the process of Spark's JVM as PySpark does, and can end it while it starts: PySpark keeps it to itself."""

from __future__ import annotations

import os
import shlex
import signal
import struct
from pathlib import Path
from subprocess import PIPE, Popen
from tempfile import TemporaryDirectory
from time import sleep
from typing import IO, TYPE_CHECKING, Any, Final

from pyspark.find_spark_home import _find_spark_home
from pyspark.java_gateway import launch_gateway

from kip848_records.spark.conf import SUBMIT_ARGS, spark_conf_dir

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kip848_records.spark.interrupts import Starting

_LOOK_EVERY_S: Final = 0.1
_PORT, _SECRET = "PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET"  # variables of `launch_gateway`


class EndedError(Exception):
    """The JVM ended before it accepted a connection."""


def start_jvm(settings: Mapping[str, str], output: IO[str], starting: Starting) -> Any:  # noqa: ANN401 - Py4J has no types
    """Return the gateway to a new JVM, which writes to `output` and ends with this process.

    It fetches the session's jars first, which may take minutes. Raises EndedError if it ends meanwhile, as it does
    after an interrupt.
    """
    with TemporaryDirectory(prefix="kip848-jvm-") as folder:
        address = Path(folder) / "address"
        process = _start(settings, address, output)
        starting.began(process)
        while process.poll() is None and not address.is_file():
            sleep(_LOOK_EVERY_S)
        if not address.is_file():
            raise EndedError
        written = address.read_bytes()
    port, length = struct.unpack_from(">ii", written)
    gateway = _connected(port, written[8 : 8 + length].decode())
    gateway.proc = process  # the JVM ends when the pipe of its stdin is closed
    return gateway


def _start(settings: Mapping[str, str], address: Path, output: IO[str]) -> Popen[bytes]:
    command = [str(Path(_find_spark_home()) / "bin" / "spark-submit")]  # type: ignore[no-untyped-call]
    command += [text for name, value in settings.items() for text in ("--conf", f"{name}={value}")]
    command += shlex.split(os.environ.get(SUBMIT_ARGS, "pyspark-shell"))
    # Only the JVM gets our folder of settings: in this process it would look like one that the user has chosen.
    variables = _in_english(os.environ) | {"SPARK_CONF_DIR": str(spark_conf_dir())}
    variables |= {"SPARK_CONNECT_MODE": "0", "_PYSPARK_DRIVER_CONN_INFO_PATH": str(address)}
    return Popen(command, stdin=PIPE, stdout=output, stderr=output, env=variables, preexec_fn=_ignore_interrupts)  # noqa: PLW1509, S603


def _in_english(variables: Mapping[str, str]) -> dict[str, str]:
    """Return variables with which Java passes on the system's errors as Python does, such as that of a full disk.

    LC_ALL takes precedence over all other variables of the locale, so it becomes what all others fall back to.
    """
    found = dict(variables)
    if everything := found.pop("LC_ALL", ""):
        found = {name: value for name, value in found.items() if not name.startswith("LC_")} | {"LANG": everything}
    return found | {"LC_MESSAGES": "C"}


def _ignore_interrupts() -> None:
    """Keep Ctrl-C from the JVM, as PySpark does: a terminal sends it to all processes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _connected(port: int, secret: str) -> Any:  # noqa: ANN401
    os.environ |= {_PORT: str(port), _SECRET: secret}
    try:
        return launch_gateway()  # type: ignore[no-untyped-call]
    finally:
        # They would say that somebody else offers a session.
        del os.environ[_PORT], os.environ[_SECRET]

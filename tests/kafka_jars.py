"""Fetches Kafka's own jars, with the Ivy that PySpark ships: for what is compared with Kafka itself."""

import os
import re
import subprocess
import tempfile
from pathlib import Path

import pyspark

from kip848_records.java import _command

# Kafka's tools bring 85 jars of 44 MB in all.
PATIENCE = 180.0


class JarsUnavailableError(Exception):
    """The jars could not be had; its text is one line that says why, fit for `pytest.skip`."""


def fetch(module: str, version: str, *, dependencies: bool = False, timeout: float = PATIENCE) -> list[Path]:
    """Return the jar of `org.apache.kafka:<module>:<version>`, or with `dependencies` those of its class path.

    They are kept in the user's cache folder. Raises JarsUnavailableError where they are not there and cannot be fetched
    within `timeout` seconds; after a fetch that took too long, at once for the rest of the process.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "kip848-records" / "jars"
    folder = cache / (f"{module}-{version}" + "-and-dependencies" * dependencies)
    if not folder.is_dir():
        try:
            cache.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=cache) as work:
                _retrieve(Path(work), module, version, ["-notransitive"] * (not dependencies), timeout)
                _publish(Path(work) / "jars", folder)
        except OSError as error:
            raise JarsUnavailableError(f"there is no place for jars in {cache}: {error}") from None
    return sorted(folder.glob("*.jar"))


def _retrieve(work: Path, module: str, version: str, options: list[str], timeout: float) -> None:
    """Let Ivy put the jars into `<work>/jars`."""
    wanted = f"org.apache.kafka:{module}:{version}"
    if _slow:
        raise JarsUnavailableError(f"{wanted} was not asked for: {_slow[0]}")
    ivy = next(Path(pyspark.__file__).parent.glob("jars/ivy-*.jar"), None)
    if ivy is None:
        raise JarsUnavailableError(f"{wanted} cannot be fetched: this PySpark ships no Ivy")
    # Ivy's cache is not made for several processes at once, so each has its own.
    command = [_command(), "-jar", ivy, "-cache", work / "cache", *options]
    command += ["-dependency", "org.apache.kafka", module, version, "-confs", "default", "-types", "jar", "bundle"]
    command += ["-retrieve", f"{work}/jars/[artifact]-[revision].[ext]"]
    try:
        answer = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=timeout, check=False
        )
    except OSError as error:
        raise JarsUnavailableError(f"{wanted} cannot be fetched: Java does not run ({error})") from None
    except subprocess.TimeoutExpired:
        _slow.append(f"fetching {wanted} took more than {timeout:g} s")
        raise JarsUnavailableError(_slow[0]) from None
    if answer.returncode or "[FAILED" in answer.stdout or not any(work.glob("jars/*.jar")):
        raise JarsUnavailableError(f"{wanted} cannot be fetched: {_reason(answer.stdout)}")


# What took too long in this process: without a network, every test would wait as long again.
_slow: list[str] = []


def _reason(output: str) -> str:
    """The line of Ivy's report that says most: no answer, else not found, else the last."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    for telling in ("Server access error", r"\[FAILED", "not found"):
        for line in lines:
            if re.search(telling, line):
                return line
    return lines[-1] if lines else "Ivy said nothing"


def _publish(jars: Path, folder: Path) -> None:
    """Give finished jars their name in one step, unless another process was first."""
    try:
        jars.rename(folder)
    except OSError:
        if not folder.is_dir():
            raise

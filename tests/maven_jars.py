"""Fetches jars, with the Ivy that PySpark ships: Kafka's own, and what else lies next to them."""

import re
import subprocess
from pathlib import Path

import pyspark

from kip848_records.spark.java import _command
from tests.downloads import UnavailableError, kept

KAFKA = "org.apache.kafka"

# Kafka's tools bring 85 jars of 44 MB in all.
PATIENCE = 180.0


def fetch(
    module: str, version: str, *, organisation: str = KAFKA, dependencies: bool = False, timeout: float = PATIENCE
) -> list[Path]:
    """Return the jar of `<organisation>:<module>:<version>`, or with `dependencies` those of its class path.

    They are kept in the user's cache folder. Raises UnavailableError where they are not there and cannot be fetched
    within `timeout` seconds; after a fetch that took too long, at once for the rest of the process.
    """

    def jars(work: Path) -> Path:
        wanted = (organisation, module, version)
        return _retrieve(work, wanted, ["-notransitive"] * (not dependencies), timeout)

    folder = kept("jars", f"{organisation}-{module}-{version}" + "-and-dependencies" * dependencies, jars)
    return sorted(folder.glob("*.jar"))


def _retrieve(work: Path, coordinates: tuple[str, str, str], options: list[str], timeout: float) -> Path:
    """Let Ivy put the jars into a folder in `work`."""
    wanted = ":".join(coordinates)
    if _slow:
        raise UnavailableError(f"{wanted} was not asked for: {_slow[0]}")
    ivy = next(Path(pyspark.__file__).parent.glob("jars/ivy-*.jar"), None)
    if ivy is None:
        raise UnavailableError(f"{wanted} cannot be fetched: this PySpark ships no Ivy")
    # Ivy's cache is not made for several processes at once, so each has its own.
    command = [_command(), "-jar", ivy, "-cache", work / "cache", *options]
    command += ["-dependency", *coordinates, "-confs", "default", "-types", "jar", "bundle"]
    command += ["-retrieve", f"{work}/jars/[artifact]-[revision].[ext]"]
    try:
        answer = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=timeout, check=False
        )
    except OSError as error:
        raise UnavailableError(f"{wanted} cannot be fetched: Java does not run ({error})") from None
    except subprocess.TimeoutExpired:
        _slow.append(f"fetching {wanted} took more than {timeout:g} s")
        raise UnavailableError(_slow[0]) from None
    if answer.returncode or "[FAILED" in answer.stdout or not any(work.glob("jars/*.jar")):
        raise UnavailableError(f"{wanted} cannot be fetched: {_reason(answer.stdout)}")
    return work / "jars"


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

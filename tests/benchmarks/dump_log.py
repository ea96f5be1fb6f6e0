"""Kafka's own `kafka-dump-log`, as what people read a log with today. Its jars are fetched once."""

import os
import subprocess
from collections.abc import Iterable
from pathlib import Path

from kip848_records.spark.java import _command
from tests.downloads import UnavailableError
from tests.maven_jars import fetch
from tests.protocol.segment_writer import Record, write_batch

KAFKA = "4.3.1"


def dump_log(*arguments: str, java: tuple[str, ...] = ()) -> list[str] | None:
    """Return the command; None where Kafka's tools cannot be had."""
    try:
        class_path = ":".join(map(str, fetch("kafka-tools", KAFKA, dependencies=True)))
    except UnavailableError as unavailable:
        print(f"\nno kafka-dump-log to compare with: {unavailable}")
        return None
    return [_command(), "-Xmx1g", *java, "-cp", class_path, "org.apache.kafka.tools.DumpLogSegments", *arguments]


def cpu_seconds(command: list[str]) -> float:
    """Return the CPU seconds of a command that prints to nowhere."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"kafka-dump-log ended with {process.returncode}")
    return used.ru_utime + used.ru_stime


def write_segment(folder: Path, rows: Iterable[tuple[bytes, bytes | None]], codec: str, count: int) -> Path:
    """Write keys and values as a segment file, `count` of them in a batch, into a new folder."""
    records = [Record(offset, 1_795_000_000_000 + offset, key, value) for offset, (key, value) in enumerate(rows)]
    folder.mkdir()
    file = folder / f"{0:020}.log"
    with file.open("wb") as out:
        for at in range(0, len(records), count):
            out.write(write_batch(records[at : at + count], codec=codec))
    return file

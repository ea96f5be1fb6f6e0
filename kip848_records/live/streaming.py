"""One run over a live topic as a stream: Structured Streaming reads all there is, and keeps in a checkpoint how far.

The kept log says as well how far, in the commit that has the rows. So a batch that comes again adds nothing.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

from pyspark.errors import AnalysisException
from pyspark.sql import functions as F

from kip848_records.errors import InputError
from kip848_records.landing import Scratch
from kip848_records.live.kept_log import latest
from kip848_records.live.run import Landing, Reading, Run, keep, land, new_ranges
from kip848_records.sources.files import escape_glob

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame, SparkSession

    from kip848_records.sources.topic import LiveTopic


def stream_on(reading: Reading, topic: LiveTopic, folder: Scratch, checkpoint: str) -> Run:
    """Read what is new as a stream that stops when it has read all (``availableNow``), and append it to the kept log.

    Raises InputError for a checkpoint that is further than the kept log: what lies between would be missing.
    """
    starting = _starting(reading)
    if _is_ahead(reading.kept.spark, checkpoint, topic.topic.name, starting):
        raise InputError.checkpoint_ahead(checkpoint, reading.kept.out)
    runs: list[Run] = []
    failures: list[Exception] = []

    def add(batch: DataFrame, number: int) -> None:
        try:
            runs.append(_add(reading, Scratch(f"{folder.path}/batch-{number}"), batch))
        except Exception as error:  # Spark would make a text of it
            failures.append(error)
            raise

    try:
        with topic.reading():
            writer = topic.stream(starting).writeStream.foreachBatch(add).option("checkpointLocation", checkpoint)
            writer.trigger(availableNow=True).start().awaitTermination()
    except Exception:
        if failures:
            raise failures[0] from None
        raise
    if runs:
        return runs[-1]
    return keep(_reached(reading, starting, {}), Landing(), folder)


def _add(reading: Reading, folder: Scratch, batch: DataFrame) -> Run:
    """Append a batch, less what is there already: it may be one that was interrupted after it had been appended."""
    starting = _starting(reading)
    is_new = [(F.col("partition") == partition) & (F.col("offset") >= first) for partition, first in starting.items()]
    wanted = batch.where(reduce(or_, is_new))
    landing = land(wanted, list(starting), folder, offset_commits=reading.wanted.offset_commits)
    return keep(_reached(reading, starting, landing.last), landing, folder)


def _starting(reading: Reading) -> dict[int, int]:
    ranges = new_ranges(latest(reading.kept.reads()), reading.ends)
    return {partition: first for partition, (first, _) in ranges.items()}


def _reached(reading: Reading, starting: Mapping[int, int], last: Mapping[int, int | None]) -> Reading:
    """Let the topic end where a batch has come to: Spark resolves ends of its own."""

    def until(partition: int) -> int:
        offset = last.get(partition)
        return starting[partition] if offset is None else offset + 1

    offsets = {partition: (start, until(partition)) for partition, (start, _) in reading.ends.offsets.items()}
    return replace(reading, ends=replace(reading.ends, offsets=offsets))


def _is_ahead(spark: SparkSession, checkpoint: str, topic: str, starting: Mapping[int, int]) -> bool:
    """Return whether the last batch that a checkpoint has finished ends behind where the kept log does."""
    lines = f"{escape_glob(checkpoint)}/{{}}/*"
    try:
        committed = spark.read.format("binaryFile").load(lines.format("commits")).select("path").collect()
        planned = spark.read.text(lines.format("offsets")).select("value", F.input_file_name().alias("path")).collect()
    except AnalysisException:  # no such checkpoint yet
        return False
    done = {row.path.rpartition("/")[2] for row in committed}
    offsets = [
        json.loads(row.value).get(topic, {})
        for row in planned
        if row.path.rpartition("/")[2] in done and row.value.startswith(f'{{"{topic}"')
    ]
    return any(int(offset) > starting.get(int(p), 0) for each in offsets for p, offset in each.items())

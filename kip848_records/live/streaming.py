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

from kip848_records.landing import Scratch
from kip848_records.live.run import Landing, Reading, Run, keep, land, new_ranges, read_on
from kip848_records.sources.files import escape_glob
from kip848_records.tables.errors import TablesError

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
        raise TablesError.checkpoint_ahead(checkpoint, reading.kept.out)
    runs: list[Run] = []
    failures: list[Exception] = []

    def add(batch: DataFrame, number: int) -> None:
        try:
            planned = _planned(reading.kept.spark, checkpoint, "offsets", topic.topic.name)[number]
            fresh = Reading.of(reading.kept, reading.kept.reads(), reading.live, reading.ends, reading.wanted)
            runs.extend(_add(fresh, Scratch(f"{folder.path}/batch-{number}"), batch, planned))
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
    return reduce(_joined, runs) if runs else keep(_reached(reading, starting, {}), Landing(), folder)


def _add(reading: Reading, folder: Scratch, batch: DataFrame, planned: Mapping[int, int]) -> list[Run]:
    """Append a batch, less what is there already; return no run where that is all of it.

    A batch that was interrupted comes again, and ends where the topic did then. If it had been appended, there is
    nothing to add. If not, what has come since is read with it: a run tells of the topic as it is now, also of what is
    gone.
    """
    starting = _starting(reading)
    if all(planned.get(partition, 0) <= first for partition, first in starting.items()):
        return []
    if any(planned.get(partition, 0) < until for partition, (_, until) in reading.ends.offsets.items()):
        return [read_on(reading, folder)]
    is_new = [(F.col("partition") == partition) & (F.col("offset") >= first) for partition, first in starting.items()]
    wanted = batch.where(reduce(or_, is_new))
    reached = _reached(reading, starting, planned)
    landing = land(wanted, reached.ends.offsets, folder, offset_commits=reading.wanted.offset_commits)
    return [keep(reached, landing, folder)]


def _joined(first: Run, second: Run) -> Run:
    """Return two batches as one run: the one that was interrupted the last time, and what has come since."""
    starts = {read.partition: read.from_offset for read in first.reads}
    reads = [replace(read, from_offset=starts.get(read.partition, read.from_offset)) for read in second.reads]
    commits = dict.fromkeys((*first.offset_commits, *second.offset_commits), 0)
    for run in (first, second):
        for commit, count in run.offset_commits.items():
            commits[commit] += count
    return Run(reads, commits, first.left_out + second.left_out, first.first_run, second.so_far)


def _starting(reading: Reading) -> dict[int, int]:
    return {partition: first for partition, (first, _) in new_ranges(reading.before, reading.ends).items()}


def _reached(reading: Reading, starting: Mapping[int, int], planned: Mapping[int, int]) -> Reading:
    """Let the topic end where a batch ends: Spark resolves ends of its own."""
    offsets = {
        partition: (start, max(starting[partition], planned.get(partition, 0)))
        for partition, (start, _) in reading.ends.offsets.items()
    }
    marks = {partition: end for partition, (_, end) in offsets.items()}
    return replace(reading, ends=replace(reading.ends, offsets=offsets, high_watermarks=marks))


def _is_ahead(spark: SparkSession, checkpoint: str, topic: str, starting: Mapping[int, int]) -> bool:
    """Return whether a batch that a checkpoint has finished ends behind where the kept log does."""
    done = _planned(spark, checkpoint, "commits", topic).keys()
    planned = _planned(spark, checkpoint, "offsets", topic)
    return any(
        offset > starting.get(partition, 0)
        for number in done & planned.keys()
        for partition, offset in planned[number].items()
    )


def _planned(spark: SparkSession, checkpoint: str, what: str, topic: str) -> dict[int, dict[int, int]]:
    """Return, by the number of its batch, where each file of a part of a checkpoint says that partitions end."""
    try:
        lines = spark.read.text(f"{escape_glob(checkpoint)}/{what}/*").select(
            "value", F.input_file_name().alias("path")
        )
        found = lines.collect()
    except AnalysisException:  # no such checkpoint yet
        return {}
    ends: dict[int, dict[int, int]] = {}
    for row in found:
        of_batch = ends.setdefault(int(row.path.rpartition("/")[2]), {})
        if row.value.startswith(f'{{"{topic}"'):
            of_batch |= {int(partition): offset for partition, offset in json.loads(row.value)[topic].items()}
    return ends

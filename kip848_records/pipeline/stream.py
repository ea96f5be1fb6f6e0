"""One run over a live topic as a stream: Structured Streaming reads all records, and stores its end in a checkpoint.

The log stores the same end, in the commit with the rows. So a retried batch adds nothing.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

from pyspark.errors import AnalysisException
from pyspark.sql import functions as F

from kip848_records.pipeline.topic import FinishedRun, TopicRun, commit_run, read_new_records
from kip848_records.pipeline.topic_rows import TopicRows, stage_rows
from kip848_records.spark.files import escape_glob
from kip848_records.tables.errors import TablesError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame, SparkSession

    from kip848_records.sources.topic.live import LiveTopic


def stream_new_records(run: TopicRun, topic: LiveTopic, checkpoint: str) -> FinishedRun:
    """Read the new records as a stream that stops when it has read all (``availableNow``), and append them to the log.

    Raises InputError for a checkpoint that is ahead of the log: the records in between would be missing.
    """
    starting = _starts(run)
    if _is_ahead(run.log.spark, checkpoint, topic.topic.name, starting):
        raise TablesError.checkpoint_ahead(checkpoint, run.log.out)
    finished: list[FinishedRun] = []
    failures: list[Exception] = []

    def add(batch: DataFrame, number: int) -> None:
        try:
            planned = _planned_ends(run.log.spark, checkpoint, "offsets", topic.topic.name)[number]
            current = TopicRun.following(run.log, run.log.knowledge(), run.live, run.ends, run.options)
            finished.extend(_append_batch(current, batch, planned))
        except Exception as error:  # Spark would convert it to text
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
    return reduce(_joined, finished) if finished else commit_run(_ending(run, starting, {}), TopicRows())


def _append_batch(run: TopicRun, batch: DataFrame, planned: Mapping[int, int]) -> list[FinishedRun]:
    """Append a batch without the rows that the log already has; return no run if the log has all of it.

    A failed micro-batch is retried with its original end offsets. If it had been appended, there is nothing to add. If
    not, the run also reads up to the topic's present end, because a run describes the present topic, including records
    that are gone since.
    """
    starting = _starts(run)
    if all(planned.get(partition, 0) <= first for partition, first in starting.items()):
        return []
    if any(planned.get(partition, 0) < until for partition, (_, until) in run.ends.offsets.items()):
        return [read_new_records(run)]
    is_new = [(F.col("partition") == partition) & (F.col("offset") >= first) for partition, first in starting.items()]
    reached = _ending(run, starting, planned)
    staged = stage_rows(
        run.log.engine,
        batch.where(reduce(or_, is_new)),
        reached.ends.offsets,
        offset_commits=run.options.offset_commits,
    )
    return [commit_run(reached, staged)]


def _joined(first: FinishedRun, second: FinishedRun) -> FinishedRun:
    """Return two batches as one run: the one that was interrupted the last time, and the records since then."""
    starts = {read.partition: read.from_offset for read in first.reads}
    reads = [replace(read, from_offset=starts.get(read.partition, read.from_offset)) for read in second.reads]
    commits = dict.fromkeys((*first.offset_commits, *second.offset_commits), 0)
    for run in (first, second):
        for commit, count in run.offset_commits.items():
            commits[commit] += count
    return FinishedRun(reads, commits, first.skipped + second.skipped, first.first_run, second.knowledge)


def _starts(run: TopicRun) -> dict[int, int]:
    return {partition: first for partition, (first, _) in run.new_ranges().items()}


def _ending(run: TopicRun, starting: Mapping[int, int], planned: Mapping[int, int]) -> TopicRun:
    """Set the end of the topic to that of a batch, because Spark resolves its own ends."""
    offsets = {
        partition: (start, max(starting[partition], planned.get(partition, 0)))
        for partition, (start, _) in run.ends.offsets.items()
    }
    return replace(run, ends=replace(run.ends, offsets=offsets))


def _is_ahead(spark: SparkSession, checkpoint: str, topic: str, starting: Mapping[int, int]) -> bool:
    """Return whether a finished batch of a checkpoint ends after the end of the log."""
    done = _planned_ends(spark, checkpoint, "commits", topic).keys()
    planned = _planned_ends(spark, checkpoint, "offsets", topic)
    return any(
        offset > starting.get(partition, 0)
        for number in done & planned.keys()
        for partition, offset in planned[number].items()
    )


def _planned_ends(spark: SparkSession, checkpoint: str, part: str, topic: str) -> dict[int, dict[int, int]]:
    """Return, by batch number, the ends of partitions in each file of a part of a checkpoint."""
    try:
        lines = spark.read.text(f"{escape_glob(checkpoint)}/{part}/*").select(
            "value", F.input_file_name().alias("path")
        )
        found = lines.collect()
    except AnalysisException:  # no such checkpoint yet
        return {}
    ends: dict[int, dict[int, int]] = {}
    for row in found:
        batch_ends = ends.setdefault(int(row.path.rpartition("/")[2]), {})
        if row.value.startswith(f'{{"{topic}"'):
            batch_ends |= {int(partition): offset for partition, offset in json.loads(row.value)[topic].items()}
    return ends

"""The audit of a live topic, run by run: each reads what is new, and brings the tables up to date.

The tables are a function of the kept log (`kept_log`): after any number of runs they are what one run over all of it
would have written. A run that was interrupted is finished by the next.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from kip848_records import __version__
from kip848_records.decode import to_json
from kip848_records.derive import Known, decode_present, group_tables, with_inferred
from kip848_records.landing import Scratch, count_records
from kip848_records.live.kept_log import KeptLog, Read, latest
from kip848_records.live.retention import is_pruned_after, without_ended
from kip848_records.protocol.messages import RECORDS
from kip848_records.replay import last_of_keys, latest_state
from kip848_records.sources.log import group_id
from kip848_records.tables.delta import Change, append, several, upsert, write_tables
from kip848_records.tables.specs import AUDIT_RUNS, RECORD_TABLES, TABLES, TOPIC_NAME
from kip848_records.timeline import partition_losses
from kip848_records.timeline.intervals import with_durations
from kip848_records.times import utc
from kip848_records.topics import topic_names

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from pyspark.sql import SparkSession

_STATE_KEY: Final = ("partition", "key_type", "key")
_HISTORY: Final = "partition int, complete_from bigint, head_missing boolean, last_offset bigint"
_TIMELINES: Final = (
    *("epoch_timeline", "rebalance_lag", "partition_handover", "group_state_timeline", "group_state", "group_event"),
)


@dataclass(frozen=True)
class Names:
    """What topics are called besides what records say: by the user, and by the cluster."""

    given: Mapping[str, str]
    live: Mapping[str, str]


def bring_up_to_date(
    kept: KeptLog, reads: list[Read], names: Names, folder: Scratch, progress: Callable[[str], None]
) -> None:
    """Make the tables say what the kept log says: those of a run that did not finish, of another version, or all new.

    `reads` is what all runs read. Each table changes in one commit, and `audit_runs` last.
    """
    finished = _finished(kept)
    # Apart from what an earlier call kept: an interrupted run is finished before partitions are set aside, or pruned.
    own = Scratch(f"{folder.path}/run-{reads[-1].run}")
    update = _Update(kept, reads, names, own, progress)
    if finished is None or is_pruned_after(reads, finished):
        update.rebuild()
    else:
        update.after(finished)


def _finished(kept: KeptLog) -> int | None:
    """Return the last run that all tables tell of; None if there is none, or if the tables are to be made anew."""
    if not all(kept.is_there(name) for name in TABLES):
        return None
    runs = kept.read(AUDIT_RUNS.name).select("run", "version").collect()
    if not runs or any(run.version != __version__ for run in runs):
        return None
    return int(max(run.run for run in runs))


@dataclass(frozen=True)
class _Update:
    kept: KeptLog
    reads: list[Read]
    names: Names
    folder: Scratch
    progress: Callable[[str], None]

    @property
    def spark(self) -> SparkSession:
        return self.kept.spark

    @property
    def dialect(self) -> str:
        return self.reads[-1].dialect

    @property
    def captured_at(self) -> datetime | None:
        captured = self.reads[-1].captured_ms
        return None if captured is None else utc(captured)

    def rebuild(self) -> None:
        """Replace the cluster's rows in every table by what the whole of the kept log says."""
        log = self.kept.rows()
        counts, configurations = count_records(log)
        offset_commits = self.reads[-1].offset_commits
        decoded = decode_present(log, self.dialect, counts, configurations, offset_commits=offset_commits)
        quarantine = self.folder.keep(decoded.quarantine, "quarantine")
        topics = self._topics(decoded.records)
        known = Known(_known_history(self.spark, self.reads), quarantine, topics, self.captured_at)
        tables = {
            **dict.fromkeys(RECORD_TABLES),
            **with_inferred(decoded.records, self._inferred(log)),
            "latest_state": latest_state(log, dialect=self.dialect),
            "partition_history": self._partition_history(),
            "quarantine": quarantine,
            "unknown_record": decoded.unknown_record if counts.keys() - {None, *RECORDS} else None,
            "topic_name": topics,
            **without_ended(group_tables(log, self.dialect, known, self.folder.keep), self.reads),
        }
        # While the tables are not of one run, none of them is said to be there.
        for part in ({AUDIT_RUNS.name: None}, tables, {AUDIT_RUNS.name: self._runs(after=0)}):
            write_tables(self.spark, self.kept.out, self.kept.cluster, part, self._wrote)

    def after(self, finished: int) -> None:
        """Add the records of later runs, and change what the timelines say of groups for which it is another story."""
        pending = sorted({read.run for read in self.reads if read.run > finished})
        if not pending:
            return
        # Stored apart: each table of records reads it.
        logs = [self.folder.keep(self._log(run).sortWithinPartitions("key"), f"log-{run}") for run in pending]
        later = reduce(DataFrame.unionByName, logs)
        news: dict[str, DataFrame] = {}
        for run, log in zip(pending, logs, strict=True):
            news = self._append_records(run, log)
        if len(pending) > 1:  # an interrupted run and this one
            counts, configurations = count_records(later)
            news = dict(decode_present(later, self.dialect, counts, configurations, offset_commits=True).records)
        topics = self._topics(news)
        changed_names = self.folder.keep(self._changed_names(topics), "changed-names")
        known = self._known(topics)
        touched = self.folder.keep(self._touched(finished, known, changed_names), "touched")
        self._update_timelines(known, touched)
        self._write(
            lambda: self._upsert("latest_state", self._state_change(later)),
            lambda: self._replace("partition_history", self._partition_history()),
            lambda: self._replace("topic_name", topics),
        )
        self._append(AUDIT_RUNS.name, self._runs(after=finished), pending[-1])

    def _log(self, run: int) -> DataFrame:
        return self.kept.rows().where(F.col("run") == run)

    def _append_records(self, run: int, log: DataFrame) -> dict[str, DataFrame]:
        counts, configurations = count_records(log)
        offset_commits = self.reads[-1].offset_commits
        decoded = decode_present(log, self.dialect, counts, configurations, offset_commits=offset_commits)
        records = with_inferred(decoded.records, self._inferred(log))
        rows = {**records, "quarantine": self.folder.keep(decoded.quarantine, f"quarantine-{run}")}
        if counts.keys() - {None, *RECORDS}:
            rows["unknown_record"] = decoded.unknown_record
        self._write(*(lambda name=name, of_it=of_it: self._append(name, of_it, run) for name, of_it in rows.items()))
        return dict(decoded.records)

    def _topics(self, records: Mapping[str, DataFrame]) -> DataFrame:
        """Return the names of topics, those that earlier runs knew too."""
        known = self.kept.read(TOPIC_NAME.name) if self.kept.is_there(TOPIC_NAME.name) else None
        found = topic_names(self.spark, records, self.names.given, live=self.names.live, known=known)
        return self.folder.keep(found, "topics")

    def _changed_names(self, topics: DataFrame) -> DataFrame:
        same = self.kept.read("topic_name").select("topic_id", "topic")
        return topics.join(same, ["topic_id", "topic"], "left_anti").select("topic_id")

    def _known(self, topics: DataFrame) -> Known:
        history = _known_history(self.spark, self.reads)
        return Known(history, self.kept.read("quarantine"), topics, self.captured_at)

    def _touched(self, finished: int, known: Known, changed_names: DataFrame) -> DataFrame:
        """Return the groups of which the timelines may say something else now: ``group_id``, each once.

        Those with new records, those with something open, which is older now, those of partitions of whose history
        something else is known, and those with topics that have a name now.
        """
        log = self.kept.rows()
        partitions = self._changed_partitions(finished, known)
        open_rows = [self.kept.read(name).where("status = 'open'") for name in ("epoch_timeline", "rebalance_lag")]
        renamed = self.kept.read("partition_handover").join(F.broadcast(changed_names), "topic_id", "left_semi")
        groups = log.where((F.col("run") > finished) | F.col("partition").isin(partitions)).select("group_id")
        for rows in (*open_rows, renamed):
            groups = groups.union(rows.select("group_id"))
        return groups.where("group_id IS NOT NULL").distinct()

    def _changed_partitions(self, finished: int, known: Known) -> list[int]:
        before = latest([read for read in self.reads if read.run <= finished])
        after = latest(self.reads)
        changed = {
            partition
            for partition, read in after.items()
            if (old := before.get(partition)) is None
            or (read.complete_from, read.head_missing) != (old.complete_from, old.head_missing)
        }
        if not known.quarantine.isEmpty():
            quarantine = known.quarantine
            ends = self.spark.createDataFrame(
                [(partition, read.until_offset) for partition, read in before.items()], "partition int, until bigint"
            )
            seen = quarantine.join(F.broadcast(ends), "partition").where("offset < until").drop("until")
            old_losses = partition_losses(seen, _known_history(self.spark, list(before.values())))
            losses = partition_losses(quarantine, known.history)
            changed |= {row.partition for row in losses.exceptAll(old_losses).collect()}
        return sorted(changed)

    def _update_timelines(self, known: Known, touched: DataFrame) -> None:
        log = self.kept.rows().join(touched, "group_id", "left_semi")
        quarantine = known.quarantine.withColumn("group_id", group_id())
        of_touched = quarantine.join(touched.withColumn("touched", F.lit(True)), "group_id", "left")  # noqa: FBT003
        of_touched = of_touched.where("group_id IS NULL OR touched").drop("group_id", "touched")
        theirs = Known(known.history, self.folder.keep(of_touched, "quarantine"), known.topics, known.captured_at)
        tables = without_ended(group_tables(log, self.dialect, theirs, self.folder.keep), self.reads)

        def of_groups(rows: DataFrame) -> DataFrame:
            return rows.join(touched, "group_id", "left_semi")

        changes = {name: Change(tables[name], of_groups, _merge_key(name)) for name in _TIMELINES}
        changes["group_state_timeline"] = self._intervals_change(tables["group_state_timeline"], touched)
        self._write(*(lambda name=name, change=change: self._upsert(name, change) for name, change in changes.items()))

    def _intervals_change(self, of_touched: DataFrame, touched: DataFrame) -> Change:
        """Of a group that nothing happened to, the present state lasts for longer now."""
        marked = touched.withColumn("touched", F.lit(True))  # noqa: FBT003

        def changing(rows: DataFrame) -> DataFrame:
            return rows.join(marked, "group_id", "left").where("touched OR to_at IS NULL").drop("touched")

        quiet = self.kept.read("group_state_timeline").where("to_at IS NULL").join(touched, "group_id", "left_anti")
        rows = of_touched.unionByName(with_durations(quiet.drop("cluster"), self.captured_at))
        return Change(rows, changing, _merge_key("group_state_timeline"))

    def _state_change(self, later: DataFrame) -> Change:
        """Of the keys with new records the last one counts; one that is gone, or does not decode, has no state."""
        rows = last_of_keys(later.where("key IS NOT NULL"))
        # One that could not be read ends what was there before, as a tombstone does.
        readable = rows.withColumns({"value": F.when(F.col("error").isNull(), F.col("value")), "error": F.lit(None)})
        last = self.folder.keep(to_json(readable, dialect=self.dialect), "last")
        keys = last.where("key IS NOT NULL").select(*_STATE_KEY)
        live = last.where("value IS NOT NULL AND error IS NULL AND record IS NOT NULL").drop("error")
        return Change(live, lambda rows: rows.join(keys, [*_STATE_KEY], "left_semi"), _STATE_KEY)

    def _inferred(self, log: DataFrame) -> DataFrame | None:
        found = log.where("is_inferred").select("partition", "offset")
        return None if found.isEmpty() else found

    def _partition_history(self) -> DataFrame:
        rows = [
            (
                *(read.partition, read.source, read.first_offset, read.until_offset - 1, read.complete_from),
                *(read.head_missing, 0, True),
            )
            for read in latest(self.reads).values()
        ]
        return self.spark.createDataFrame(
            rows,
            "partition int, copy string, first_offset bigint, last_offset bigint, complete_from bigint, "
            "head_missing boolean, stale_from bigint, is_base boolean",
        )

    def _runs(self, after: int) -> DataFrame:
        """Return the rows of `audit_runs` for the runs after one."""
        of_run: dict[int, list[Read]] = {}
        for read in self.reads:
            if read.run > after:
                of_run.setdefault(read.run, []).append(read)
        rows = [
            (
                *(run, None if reads[0].captured_ms is None else utc(reads[0].captured_ms), [reads[0].source]),
                *(reads[0].dialect, __version__, reads[0].offset_commits, False),
                [(read.partition, read.from_offset, read.until_offset, read.note) for read in reads],
            )
            for run, reads in of_run.items()
        ]
        return self.spark.createDataFrame(rows, AUDIT_RUNS.schema_without("cluster"))

    def _append(self, name: str, rows: DataFrame, run: int) -> None:
        append(self.kept, TABLES[name], rows, self.kept.application, run)
        self._wrote(name)

    def _upsert(self, name: str, change: Change) -> None:
        upsert(self.kept, TABLES[name], change, self.folder.keep)
        self._wrote(name)

    def _replace(self, name: str, rows: DataFrame) -> None:
        write_tables(self.spark, self.kept.out, self.kept.cluster, {name: rows}, self._wrote)

    def _write(self, *steps: Callable[[], None]) -> None:
        several(lambda step: step(), steps)

    def _wrote(self, name: str) -> None:
        self.progress(f"wrote {name}")


def _known_history(spark: SparkSession, reads: list[Read]) -> DataFrame:
    rows = [
        (read.partition, read.complete_from, read.head_missing, read.until_offset - 1)
        for read in latest(reads).values()
    ]
    return spark.createDataFrame(rows, _HISTORY)


def _merge_key(name: str) -> tuple[str, ...]:
    """Return what tells a row of one cluster's from all others, though a group be in two partitions by mistake."""
    partition = "offsets_partition" if name == "partition_handover" else "partition"
    return tuple(dict.fromkeys((partition, *(key for key in TABLES[name].key if key != "cluster"))))

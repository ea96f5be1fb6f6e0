"""The audit of a live topic, run by run: each reads what is new, and brings the tables up to date.

The tables are a function of the kept log (`kept_log`): after any number of runs they are what one run over all of it
would have written. A run that was interrupted is finished by the next.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import TYPE_CHECKING, Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from kip848_records import __version__
from kip848_records.decode import to_json
from kip848_records.derive import Known, decode_present, group_tables, has_unknown, with_inferred
from kip848_records.landing import Scratch, count_records
from kip848_records.live.kept_log import KeptLog, Read, histories_by
from kip848_records.live.reads import audit_runs, inferred, partition_history
from kip848_records.live.retention import is_pruned_after, without_ended
from kip848_records.live.settled import EPOCHS, IS_SINCE, groups_to_tell_on, snapshots, undamaged
from kip848_records.live.touched import Touched, groups_told_anew, of_groups, open_groups
from kip848_records.replay import last_of_keys, latest_state
from kip848_records.sources.log import key_of_types
from kip848_records.tables.delta import Change, append, upsert, write_audit, write_tables
from kip848_records.tables.specs import AUDIT_RUNS, RECORD_TABLES, TABLES, TOPIC_NAME
from kip848_records.threads import both, several
from kip848_records.timeline.intervals import with_durations
from kip848_records.timeline.operations import EVENT_TYPES, GROUP
from kip848_records.times import utc
from kip848_records.topics import topic_names

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from pyspark.sql import SparkSession

_STATE_KEY: Final = ("partition", "key_type", "key")


@dataclass(frozen=True)
class Names:
    """What topics are called besides what records say: by the user, and by the cluster."""

    given: Mapping[str, str]
    live: Mapping[str, str]


def bring_up_to_date(  # noqa: PLR0913
    kept: KeptLog,
    reads: list[Read],
    names: Names,
    folder: Scratch,
    progress: Callable[[str], None],
    *,
    read_from: int | None = None,
) -> None:
    """Make the tables say what the kept log says: those of a run that did not finish, of another version, or all new.

    `reads` is what all runs read; `read_from`: the first run that is the caller's own. If all before it were finished,
    the tables are what they left. Each table changes in one commit, and `audit_runs` last.
    """
    finished = _finished(kept)
    # Apart from what an earlier call kept: an interrupted run is finished before partitions are set aside, or pruned.
    own = Scratch(f"{folder.path}/run-{reads[-1].run}")
    update = _Update(kept, reads, names, own, progress)
    if finished is None or is_pruned_after(reads, finished):
        update.rebuild()
    else:
        update.after(finished, is_undisturbed=read_from == finished + 1)


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
        quarantine, topics = both(
            lambda: self.folder.keep_any(decoded.quarantine, "quarantine"), lambda: self._topics(decoded.records)
        )
        known = Known(histories_by(self.reads), quarantine, topics, self.captured_at)
        records = {
            **dict.fromkeys(RECORD_TABLES),
            **with_inferred(decoded.records, inferred(log, self.reads)),
            "latest_state": latest_state(log, dialect=self.dialect),
            "partition_history": partition_history(self.spark, self.reads),
            "quarantine": quarantine,
            "unknown_record": decoded.unknown_record if has_unknown(counts) else None,
            "topic_name": topics,
        }

        def timelines() -> Mapping[str, DataFrame]:
            return without_ended(group_tables(log, self.dialect, known, self.folder.keep), self.reads)

        write_audit(self.kept, records, timelines, audit_runs(self.spark, self.reads, after=0), self._wrote)

    def after(self, finished: int, *, is_undisturbed: bool) -> None:
        """Add the records of later runs, and change what the timelines say of groups for which it is another story.

        `is_undisturbed`: no table has been changed since the run `finished`.
        """
        pending = sorted({read.run for read in self.reads if read.run > finished})
        if not pending:
            return
        # Stored apart: each table of records reads it.
        rows = self.kept.rows()
        of_runs = {run: rows.where(F.col("run") == run).sortWithinPartitions("key") for run in pending}
        logs = [self.folder.keep(of_run, f"log-{run}") for run, of_run in of_runs.items()]
        later = reduce(DataFrame.unionByName, logs)
        news: dict[str, DataFrame] = {}
        appends: list[Callable[[], None]] = []
        for run, log in zip(pending, logs, strict=True):
            self._write(*appends)  # of the run before: a table takes them in their order alone
            news, appends = self._records(run, log)
        if len(pending) > 1:  # an interrupted run and this one
            counts, configurations = count_records(later)
            news = dict(decode_present(later, self.dialect, counts, configurations, offset_commits=True).records)
        topics = self._topics(news)
        renamed = self.folder.keep_any(self._renamed(topics, is_undisturbed=is_undisturbed), "renamed")
        known = self._known(topics)

        def tell_groups() -> None:
            anew = groups_told_anew(self.kept, self.reads, finished, known, renamed)
            events = later.where(key_of_types(EVENT_TYPES) & F.col("group_id").isNotNull())
            written = events.groupBy(*GROUP).agg(F.min("offset").alias("first_offset"))
            settled = None
            if is_undisturbed:
                settled = groups_to_tell_on(self.kept, self.reads, finished, written, news.get(EPOCHS))
                if known.quarantine is not None:
                    settled = undamaged(settled, known.quarantine)
            opened = self.folder.keep(open_groups(self.kept), "opened")
            groups = written.select("group_id").union(opened)
            changes = self._timeline_changes(known, Touched.of(groups, anew, settled, self.folder))
            self._write(*(partial(self._upsert, name, change) for name, change in changes.items()))

        def add_records() -> None:
            self._write(
                *appends,
                lambda: self._upsert("latest_state", self._state_change(later)),
                lambda: self._replace("partition_history", partition_history(self.spark, self.reads)),
                *([] if renamed is None else [lambda: self._replace("topic_name", topics)]),
            )

        both(tell_groups, add_records)
        self._append(AUDIT_RUNS.name, audit_runs(self.spark, self.reads, after=finished), pending[-1])

    def _records(self, run: int, log: DataFrame) -> tuple[dict[str, DataFrame], list[Callable[[], None]]]:
        """Return a run's records, and what appends them; those in quarantine are appended at once: timelines ask."""
        counts, configurations = count_records(log)
        offset_commits = self.reads[-1].offset_commits
        decoded = decode_present(log, self.dialect, counts, configurations, offset_commits=offset_commits)
        of_run = [read for read in self.reads if read.run == run]
        records = with_inferred(decoded.records, inferred(log, of_run))
        rows = dict(records)
        if (quarantine := self.folder.keep_any(decoded.quarantine, f"quarantine-{run}")) is not None:
            self._append("quarantine", quarantine, run)
        if has_unknown(counts):
            rows["unknown_record"] = decoded.unknown_record
        return dict(decoded.records), [partial(self._append, name, of_it, run) for name, of_it in rows.items()]

    def _topics(self, records: Mapping[str, DataFrame]) -> DataFrame:
        """Return the names of topics, those that earlier runs knew too."""
        known = self.kept.read(TOPIC_NAME.name) if self.kept.is_there(TOPIC_NAME.name) else None
        found = topic_names(self.spark, records, self.names.given, live=self.names.live, known=known)
        return self.folder.keep(found, "topics")

    def _renamed(self, topics: DataFrame, *, is_undisturbed: bool) -> DataFrame:
        """Return ``topic_id`` of the topics of which the tables do not say the same.

        A run that was killed may have left handovers with other names than those in `topic_name`.
        """
        same = self.kept.read(TOPIC_NAME.name)
        renamed = topics.join(same, ["topic_id", "topic", "source"], "left_anti").select("topic_id")
        if is_undisturbed:
            return renamed
        names = topics.select("topic_id", F.col("topic").alias("name"))
        told = self.kept.read("partition_handover").select("topic_id", "topic").distinct()
        misnamed = told.join(names, "topic_id", "left").where("topic != coalesce(name, topic_id)")
        return renamed.union(misnamed.select("topic_id")).distinct()

    def _known(self, topics: DataFrame) -> Known:
        quarantine = self.kept.read("quarantine")
        return Known(histories_by(self.reads), None if quarantine.isEmpty() else quarantine, topics, self.captured_at)

    def _timeline_changes(self, known: Known, touched: Touched) -> dict[str, Change]:
        told_from = touched.told_from()
        log = (
            self.kept.rows()
            .join(told_from, "group_id")
            .where("told_from IS NULL OR (partition = told_from.partition AND offset >= told_from.until)")
            .drop("told_from")
        )
        if touched.settled is not None:
            log = log.unionByName(snapshots(self.kept, touched.settled))
        if known.quarantine is not None:
            theirs = self.folder.keep_any(of_groups(known.quarantine, touched.anew), "quarantine")
            known = replace(known, quarantine=theirs)
        tables = group_tables(log, self.dialect, known, self.folder.keep, touched.settled)
        tables = without_ended(tables, self.reads)

        def told(rows: DataFrame, name: str) -> DataFrame:
            """Return the rows that the new ones take the place of, and of intervals those that last."""
            lasting = "to_at IS NULL" if name == "group_state_timeline" else "false"
            marked = told_from.withColumn("is_touched", F.lit(True))  # noqa: FBT003
            is_since = f"{_log_partition(name)} = told_from.partition AND ({IS_SINCE[name]})"
            is_told = f"{lasting} OR (is_touched AND (told_from IS NULL OR ({is_since})))"
            return rows.join(marked, "group_id", "left").where(is_told).select(*rows.columns)

        tables["group_state_timeline"] = tables["group_state_timeline"].unionByName(self._lasting(told_from))
        return {name: Change(tables[name], partial(told, name=name), _merge_key(name)) for name in IS_SINCE}

    def _lasting(self, touched: DataFrame) -> DataFrame:
        """Return the present states of groups that nothing happened to: they have lasted for longer now."""
        lasting = self.kept.read("group_state_timeline").where("to_at IS NULL")
        quiet = lasting.join(touched, "group_id", "left_anti")
        return with_durations(quiet.drop("cluster"), self.captured_at)

    def _state_change(self, later: DataFrame) -> Change:
        """Of the keys with new records the last one counts; one that is gone, or does not decode, has no state."""
        rows = last_of_keys(later.where("key IS NOT NULL"))
        # One that could not be read ends what was there before, as a tombstone does.
        readable = rows.withColumns({"value": F.when(F.col("error").isNull(), F.col("value")), "error": F.lit(None)})
        last = self.folder.keep(to_json(readable, dialect=self.dialect), "last")
        keys = last.where("key IS NOT NULL").select(*_STATE_KEY)
        live = last.where("value IS NOT NULL AND error IS NULL AND record IS NOT NULL").drop("error")
        return Change(live, lambda rows: rows.join(keys, [*_STATE_KEY], "left_semi"), _STATE_KEY)

    def _append(self, name: str, rows: DataFrame, run: int) -> None:
        append(self.kept, TABLES[name], rows, self.kept.application, run)
        self._wrote(name)

    def _upsert(self, name: str, change: Change) -> None:
        upsert(self.kept, TABLES[name], change, self.folder.keep)
        self._wrote(name)

    def _replace(self, name: str, rows: DataFrame) -> None:
        write_tables(self.kept, {name: rows}, self._wrote)

    def _write(self, *steps: Callable[[], None]) -> None:
        several(lambda step: step(), steps)

    def _wrote(self, name: str) -> None:
        self.progress(f"wrote {name}")


def _merge_key(name: str) -> tuple[str, ...]:
    """Return what tells a row of one cluster's from all others, though a group be in two partitions by mistake."""
    return tuple(dict.fromkeys((_log_partition(name), *(key for key in TABLES[name].key if key != "cluster"))))


def _log_partition(name: str) -> str:
    """Return which column of a table is the partition of `__consumer_offsets`."""
    return "offsets_partition" if name == "partition_handover" else "partition"

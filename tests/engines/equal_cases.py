"""Sources of every kind, which both engines audit: what each function returns are fields of `AuditOptions`."""

import gzip
import json
import random
import shutil
from base64 import b64encode
from dataclasses import replace
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path

import deltalake
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kip848_records.log.runs import EndOffset
from kip848_records.pipeline.names import read_topics_file
from kip848_records.replay.diagnosis.limits import ENABLED
from kip848_records.replay.inputs import ChangedLimit
from kip848_records.simulate import Simulation, simulate
from kip848_records.simulate.partition_log import KAFKA_ROWS
from kip848_records.specs.log_columns import TOPIC
from tests import classic_log, reported
from tests.audits import WITH_RECORD_TABLES
from tests.cli.test_assignments import STORIES
from tests.commits_of_a_broker import SILENCE, options_of
from tests.fuzz_cases import CASES
from tests.log.damaged_segments import damaged_segments
from tests.protocol.samples import vector_records
from tests.protocol.segment_writer import Record, write_batch, write_marker

MILLIS = pa.timestamp("ms", "UTC")
ASSIGNMENTS = ("endless", "ready", "unread", "no-topic", "stays-behind", "one-url", "no-json")
"""Stories of reasons that stand in assignments."""
REPORTED = (
    "commits-of-minus-one",
    "commits-with-a-retention",
    "delete-offsets-of-a-live-group",
    "subscribe-and-assign",
    "partition-stalls-until-the-next-rebalance",
)
EVERYTHING = {"offset_commits": True, "record_tables": True}
EPOCH, COMMIT = b"\0\3\0\1g", b"\0\1\0\1g\0\1t\0\0\0\0"


def segment_file(folder, partition, *batches):
    path = folder / f"{TOPIC}-{partition}" / f"{0:020}.log"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"".join(batches))


def kafka_rows(captures):
    """The rows of Spark's Kafka source of one capture, with times in µs."""
    rows = pq.read_table(captures / WITH_RECORD_TABLES / "kafka-source.parquet").replace_schema_metadata(None)
    return rows.set_column(5, "timestamp", rows["timestamp"].cast(pa.timestamp("us", "UTC")))


def moved(rows, first):
    """The rows of other partitions, so that one audit can read many logs."""
    place = rows.schema.get_field_index("partition")
    return rows.set_column(place, "partition", pc.add(rows["partition"], pa.scalar(first, pa.int32())))


def json_lines(rows, damaged=lambda _: False):
    """Lines of a dump; the values of some are no Base64."""
    for row in rows:
        key, value = (None if row[name] is None else b64encode(row[name]).decode() for name in ("key", "value"))
        line = {"key": key, "value": "***" if damaged(row) else value, "partition": row["partition"]}
        yield json.dumps(line | {"offset": row["offset"], "timestamp": row["timestamp"].isoformat()})


def kinds(captures):
    """The rows of each file of groups of other kinds."""
    return [pq.read_table(file) for file in sorted((captures.parent / "kinds").glob("*.parquet"))]


def of_every_kind(folder, captures):
    """Segments with a damaged file, Parquet, Delta and JSON: most hold the same log, and each has one of its own."""
    capture = captures / WITH_RECORD_TABLES
    damaged, *_ = damaged_segments(captures)
    shutil.copytree(capture / "segments", folder / "segments")
    for partition, damage in enumerate(("crc", "large length", "cut"), start=10):
        segment_file(folder / "segments", partition, damaged[damage])
    segment_file(folder / "segments", 13, b"garbage " * 20)
    segment_file(folder / "segments", 16)
    rows = kafka_rows(captures).filter(pc.field("partition") != 2)  # half of all rows: few are enough
    connect, of_kinds, streams = kinds(captures)
    (folder / "parquet").mkdir()
    pq.write_table(
        pa.concat_tables([rows, moved(streams, 20)], promote_options="default"), folder / "parquet" / "a.parquet"
    )
    table = pa.concat_tables([rows.drop_columns("headers"), moved(connect, 30)], promote_options="default")
    deltalake.write_deltalake(folder / "delta", table, partition_by=["partition"])
    (folder / "json").mkdir()
    lines = chain(
        json_lines(rows.to_pylist(), lambda row: row["key"][:2] == b"\0\3"), json_lines(moved(of_kinds, 40).to_pylist())
    )
    unknown = Record(0, 1000, b"\0\x63\0\1g", b"new"), Record(1, 1001, b"\0", b""), Record(2, 1002, EPOCH, b"\0\7")
    segment_file(folder / "segments", 14, write_batch(list(unknown)))
    opened = write_batch([Record(0, 1000, COMMIT, b"\0\3")], producer_id=5, transactional=True)
    segment_file(folder / "segments", 15, opened)
    (folder / "json" / "log.json.gz").write_bytes(gzip.compress("\n".join([*lines, "{no JSON"]).encode()))
    sources = tuple(str(folder / name) for name in ("segments", "parquet", "delta", "json"))
    topics = read_topics_file(str(capture / "topics.json"))
    limits = (ChangedLimit("restart_loop", "g-ch*", "short_stays", 3), ChangedLimit("job", None, ENABLED, 0))
    ends = (EndOffset("t", 0, None, 9, 1000), EndOffset("t", 1, 2, 9, 1000, 5, 900))
    options = {"sources": sources, "topics": topics, "limits": limits, "end_offsets": ends}
    return {**options, **EVERYTHING, "cluster": 'it\'s "all" = a/b\\c %2F'}


def of_one_partition(folder, captures):
    """Segments, Parquet and Delta, which hold the same partition."""
    segments = captures / WITH_RECORD_TABLES / "segments"
    copy_segments(segments, folder / "segments", 0)
    for partition in (0, 2, 3):
        shutil.rmtree(folder / "segments" / f"{TOPIC}-{partition}")
    rows = kafka_rows(captures).filter(pc.field("partition") == 1)
    (folder / "parquet").mkdir()
    pq.write_table(rows, folder / "parquet" / "a.parquet")
    deltalake.write_deltalake(folder / "delta", rows.drop_columns("headers"))
    return {"sources": tuple(str(folder / name) for name in ("segments", "parquet", "delta")), "offset_commits": True}


def capture(name, **options):
    def made(_, captures):
        fields = {"sources": (str(captures / name / "segments"),), **options}
        at = captures / name / "captured-at"
        if at.exists():
            fields["captured_at"] = datetime.fromisoformat(at.read_text().strip())
        return fields | {"topics": read_topics_file(str(captures / name / "topics.json"))}

    return made


CAPTURES = ("kafka-4.0.0-zstd", "kafka-4.3.1", WITH_RECORD_TABLES, "kafka-4.4.0-coordinator", "lost-segment")
SHAPE = Simulation(groups=6, members=4, hours=0.2, happening_s=20, partitions=2, commit_interval_ms=20_000)
KINDS = replace(SHAPE, groups=2, classic_groups=3, connect_groups=3, share_groups=3, streams_groups=3, seed=3)
COMPACTED = {"compacted": True, "delete_retention_ms": 60_000}
SHAPES = (
    SHAPE,
    replace(SHAPE, release="4.0", **COMPACTED),
    replace(SHAPE, compacted=True, delete_retention_ms=0),
    replace(SHAPE, largest=16, recreations_per_hour=20),
    KINDS,
    replace(KINDS, **COMPACTED),
)


def copy_segments(segments, folder, first):
    """Copy the segments of a log to the partitions from one on."""
    for partition in segments.iterdir():
        number = int(partition.name.rpartition("-")[2])
        shutil.copytree(partition, folder / f"{TOPIC}-{first + number}", dirs_exist_ok=True)


def segments_of_all(folder, captures):
    """One copy, whose partitions are those of all captures, and damaged, odd and random files."""
    log, topics = folder / "log", {}
    for nth, name in enumerate(CAPTURES):
        copy_segments(captures / name / "segments", log, 100 * nth)
        topics |= read_topics_file(str(captures / name / "topics.json"))
    for partition, segment in enumerate(damaged_segments(captures)[0].values(), start=600):
        segment_file(log, partition, segment)
    for partition in range(700, 760):
        # The inputs of `make fuzz`.
        case = CASES["segments"](random.Random(f"audits/{partition}"))  # noqa: S311 - not for secrets
        segment_file(log, partition, *case.items)
    given = {"captured_at": datetime(2100, 1, 1, tzinfo=UTC), "topic_content": True}
    return {"sources": (str(log),), "topics": topics, **given}


def dump_of_all(folder, captures):
    """One dump, whose partitions are those of simulated logs, of groups of other kinds, and of random records."""
    logs = [simulated(shape, folder / str(nth)) for nth, shape in enumerate(SHAPES)]
    logs += [(rows, {}) for rows in kinds(captures)]
    logs += [(vectors(release), {}) for release in ("3.5.2", "4.4.0")]
    logs.append((random_records(), {}))
    pq.write_table(concatenated([rows for rows, _ in logs]), folder / "log.parquet")
    topics = {topic: name for _, named in logs for topic, name in named.items()}
    return {"sources": (str(folder / "log.parquet"),), "topics": topics, **EVERYTHING}


def copies_of_all(folder, captures):
    """Several copies: data folders of brokers, parts of a simulated log, and what public reports describe."""
    brokers = brokers_of(folder / "brokers", captures)
    damaged = damaged_segments(captures)[0]
    for partition, segment in enumerate(damaged.values(), start=100):
        segment_file(brokers[0], partition, segment)
        segment_file(brokers[1], partition, damaged["compacted" if partition % 2 else "whole"])
    write_transactions(brokers)
    fields = commits(folder / "commits")
    copy_segments(folder / "commits" / "segments", brokers[0], 400)
    log, topics = simulated(KINDS, folder / "simulated")
    compacted, _ = simulated(replace(KINDS, **COMPACTED), folder / "compacted")
    parts = [part(log, lambda at, end: at < end / 3), part(log, lambda at, end: at > end / 5), compacted]
    sources = [str(folder / "brokers")]
    for nth, found in enumerate(parts):
        pq.write_table(moved(found, 500), folder / f"part {nth}.parquet")
        sources.append(str(folder / f"part {nth}.parquet"))
    topics |= fields["topics"]
    for nth, name in enumerate(REPORTED, start=6):
        file, named = reported_rows(folder, name, 100 * nth)
        sources.append(str(file))
        topics |= named
    written = [classic_log.rows(*STORIES[name], group=name, partition=2000 + n) for n, name in enumerate(ASSIGNMENTS)]
    pq.write_table(pa.Table.from_pylist([*chain.from_iterable(written)], KAFKA_ROWS), folder / "assignments.parquet")
    sources.append(str(folder / "assignments.parquet"))
    return {**fields, "sources": tuple(sources), "topics": topics, **EVERYTHING}


def concatenated(logs):
    """The rows of several logs, each with partitions of its own."""
    parts = [moved(with_times(rows), 100 * nth) for nth, rows in enumerate(logs)]
    return pa.concat_tables(parts, promote_options="default")


def with_times(rows):
    """The rows, whose timestamps are no numbers of milliseconds."""
    place = rows.schema.get_field_index("timestamp")
    times = rows["timestamp"] if pa.types.is_timestamp(rows["timestamp"].type) else rows["timestamp"].cast(MILLIS)
    return rows.set_column(place, "timestamp", times.cast(pa.timestamp("us", "UTC")))


def simulated(shape, folder):
    """The rows of a simulated log, and the names of its topics."""
    log = simulate(shape, folder).log
    rows = pa.concat_tables([pq.read_table(file) for file in sorted(log.glob("*.parquet"))])
    return rows, read_topics_file(str(folder / "topics.json"))


def part(rows, kept):
    """Those rows of each partition that are kept, by their offset and the last one."""
    last = dict(zip(*rows.group_by("partition").aggregate([("offset", "max")]).to_pydict().values(), strict=True))
    places = zip(rows["partition"].to_pylist(), rows["offset"].to_pylist(), strict=True)
    return rows.filter(pa.array([kept(offset, last[partition]) for partition, offset in places]))


def brokers_of(folder, captures):
    """Data folders of three brokers: whole, behind, and damaged."""
    whole, behind, damaged = (folder / name for name in ("1 whole", "2 [behind]", "3 damaged"))
    for each in (whole, behind, damaged):
        shutil.copytree(captures / "kafka-4.3.1" / "segments", each)
    for file in behind.rglob("*.log"):
        content = file.read_bytes()
        file.write_bytes(content[: len(content) * 2 // 3])
    for file in damaged.rglob("*.log"):
        content = bytearray(file.read_bytes())
        content[len(content) // 2 :: 9973] = b"\xff" * len(content[len(content) // 2 :: 9973])
        file.write_bytes(content)
    return whole, behind, damaged


def write_transactions(copies):
    """What one copy shows as open, another shows as aborted, and a third does not reach; others have no marker.

    One may have its marker among bytes that cannot be read.
    """
    within = write_batch([Record(0, 1000, COMMIT, b"\0\3")], producer_id=5, transactional=True)
    group = write_batch([Record(2, 1003, EPOCH, b"\0\0\0\0\0\1\0")])
    for folder, batches in zip(copies, ([within], [within, write_marker(1, 5, "abort"), group], [group]), strict=True):
        segment_file(folder, 300, *batches)
    ended = [within, write_marker(1, 5, "commit")]
    opened = [
        write_batch([Record(2 + each, 1002 + each, COMMIT, b"\0\3")], producer_id=5 + each, transactional=True)
        for each in range(2)
    ]
    segment_file(copies[0], 301, *ended, *opened, write_batch([Record(4, 1005, EPOCH, b"\0\0\0\0\0\1\0")]))
    segment_file(copies[0], 302, *ended, opened[0], b"\xff" * 200)


def commits(folder):
    """One partition is where its topic ends, another behind it, one beyond it."""
    folder.mkdir()
    places = [("t-skew", 3, 184), ("t-orders", 3, 900), ("t-again", 0, 1)]
    given = tuple(EndOffset(*place, None, end, 1_795_780_250_000) for *place, end in places)
    return options_of(folder, SILENCE) | {"end_offsets": given}


def reported_rows(folder, name, first):
    """The file of a log that was made after a public report, and the names of its topics."""
    options = reported.options_of(name, folder)
    file = Path(*options["sources"])
    rows = map(json.loads, file.read_text().splitlines())
    file.write_text("".join(f"{json.dumps(row | {'partition': row['partition'] + first})}\n" for row in rows))
    return file, options["topics"]


def rows_of(records):
    """Rows of a dump: of each partition its keys and values, in order."""
    rows = [
        {"key": key, "value": value, "partition": partition, "offset": offset, "timestamp": 1_700_000_000_000 + offset}
        for partition, items in enumerate(records)
        for offset, (key, value) in enumerate(items)
    ]
    types = {"key": pa.binary(), "value": pa.binary(), "partition": pa.int32(), "offset": pa.int64()}
    return pa.Table.from_pylist(rows, pa.schema([*types.items(), ("timestamp", pa.int64())]))


def vectors(release):
    return rows_of([vector_records(release)])


def random_records():
    """Keys and values that are right, of other versions, or damaged; those of a case are one partition."""
    dice = (random.Random(f"audits/{partition}") for partition in range(40))  # noqa: S311 - not for secrets
    return rows_of([CASES["records"](each).items for each in dice])


def early_vectors(folder, _):
    pq.write_table(vectors("3.5.2"), folder / "log.parquet")
    return {"sources": (str(folder / "log.parquet"),), "dialect": "auto", **EVERYTHING}


def empty(folder, _):
    segment_file(folder / "log", 0)
    return {"sources": (str(folder / "log"),)}


def garbage(folder, _):
    segment_file(folder / "log", 0, b"garbage " * 20)
    return {"sources": (str(folder / "log"),)}


def other_topic(folder, _):
    segment_file(folder / "log", 0, write_batch([Record(0, 1000, b"key", b"value")]))
    return {"sources": (str(folder / "log"),)}


def cut_parquet(folder, captures):
    shutil.copytree(captures / WITH_RECORD_TABLES / "kafka-source.parquet", folder / "dump")
    last = max((folder / "dump").glob("*.parquet"))
    last.write_bytes(b"PAR1" + last.read_bytes()[:1000])
    return {"sources": (str(folder / "dump"),)}


def cut_gzip(folder, captures):
    text = "\n".join(json_lines(kafka_rows(captures).to_pylist())).encode()
    (folder / "log.json.gz").write_bytes(gzip.compress(text)[:-5000])
    return {"sources": (str(folder / "log.json.gz"),)}


def missing_columns(folder, captures):
    pq.write_table(kafka_rows(captures).drop_columns(["key", "offset"]), folder / "log.parquet")
    return {"sources": (str(folder / "log.parquet"),)}


def wrong_types(folder, captures):
    rows = kafka_rows(captures)
    pq.write_table(rows.set_column(4, "offset", rows["offset"].cast(pa.string())), folder / "log.parquet")
    return {"sources": (str(folder / "log.parquet"),)}


def no_delta(folder, _):
    (folder / "table" / "_delta_log").mkdir(parents=True)
    return {"sources": (str(folder / "table"),)}


def json_of_another_kind(folder, _):
    (folder / "log.json").write_text('{"a": 1}\n' * 3)
    return {"sources": (str(folder / "log.json"),)}


def nothing(folder, _):
    return {"sources": (str(folder / "nowhere"),)}


def early(_, captures):
    return {**capture("kafka-4.3.1")(_, captures), "captured_at": datetime(2020, 1, 1, tzinfo=UTC)}


AUDITS = {
    "nothing, which is allowed": lambda folder, _: empty(folder, _) | {"allow_empty": True},
}

LARGE_AUDITS = {
    "segments of all captures": segments_of_all,
    "an early dialect, auto": early_vectors,
    "a dump of all logs": dump_of_all,
    "copies": copies_of_all,
}

ERRORS = {
    "no records": empty,
    "garbage alone": garbage,
    "another topic": other_topic,
    "a cut Parquet file": cut_parquet,
    "a cut gzip file": cut_gzip,
    "missing columns": missing_columns,
    "columns of other types": wrong_types,
    "an empty Delta log": no_delta,
    "JSON of another kind": json_of_another_kind,
    "nothing at the path": nothing,
    "a copy from before its records": early,
    "a cluster without a name": lambda _, captures: capture("kafka-4.3.1")(_, captures) | {"cluster": ""},
    "a dialect that does not exist": lambda _, captures: capture("kafka-4.3.1")(_, captures) | {"dialect": "none"},
    "a format that does not fit": lambda _, captures: capture("kafka-4.3.1")(_, captures) | {"source_format": "json"},
}

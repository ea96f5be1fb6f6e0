"""Sources of every kind, which both engines audit: what each function returns are fields of `AuditOptions`."""

import gzip
import json
import random
import shutil
from base64 import b64encode
from dataclasses import replace
from datetime import UTC, datetime
from itertools import chain

import deltalake
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kip848_records.log.runs import EndOffset
from kip848_records.pipeline.names import read_topics_file
from kip848_records.replay.diagnosis.changed_limits import ChangedLimit
from kip848_records.replay.diagnosis.settings import ENABLED
from kip848_records.simulate import Simulation, simulate
from kip848_records.specs.log_columns import TOPIC
from tests.audits import WITH_RECORD_TABLES
from tests.commits_of_a_broker import SILENCE, options_of
from tests.fuzz_cases import CASES
from tests.log.damaged_segments import damaged_segments
from tests.protocol.samples import vector_records
from tests.protocol.segment_writer import Record, write_batch, write_marker

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


def capture(name, **options):
    def made(_, captures):
        fields = {"sources": (str(captures / name / "segments"),), **options}
        at = captures / name / "captured-at"
        if at.exists():
            fields["captured_at"] = datetime.fromisoformat(at.read_text().strip())
        return fields | {"topics": read_topics_file(str(captures / name / "topics.json"))}

    return made


def simulated(shape, *, copies=False):
    """A simulated log, or three copies of it: the first third, all but the beginning, and what was compacted of all."""

    def made(folder, _):
        log = simulate(shape, folder / "simulated").log
        topics = read_topics_file(str(folder / "simulated" / "topics.json"))
        options = {"sources": (str(log),), "topics": topics, **EVERYTHING}
        if copies:
            compacted = simulate(replace(shape, compacted=True, delete_retention_ms=60_000), folder / "compacted").log
            options["sources"] = (*parts(log, folder), str(compacted))
        return options

    return made


def parts(log, folder):
    for name, kept in (("early", lambda at, end: at < end / 3), ("late", lambda at, end: at > end / 5)):
        (folder / name).mkdir()
        for file in log.glob("*.parquet"):
            rows = pq.read_table(file)
            end = pc.max(rows["offset"]).as_py()
            wanted = [kept(offset, end) for offset in rows["offset"].to_pylist()]
            pq.write_table(rows.filter(pa.array(wanted)), folder / name / file.name)
        yield str(folder / name)


SHAPE = Simulation(groups=6, members=4, hours=0.2, happening_s=20, partitions=2, commit_interval_ms=20_000)
KINDS = replace(SHAPE, groups=2, classic_groups=3, connect_groups=3, share_groups=3, streams_groups=3, seed=3)


def brokers(folder, captures):
    """Data folders of three brokers: whole, behind, and damaged."""
    segments = captures / "kafka-4.3.1" / "segments"
    for name in ("1 whole", "2 [behind]", "3 damaged"):
        shutil.copytree(segments, folder / "brokers" / name)
    for file in (folder / "brokers" / "2 [behind]").rglob("*.log"):
        content = file.read_bytes()
        file.write_bytes(content[: len(content) * 2 // 3])
    for file in (folder / "brokers" / "3 damaged").rglob("*.log"):
        content = bytearray(file.read_bytes())
        content[len(content) // 2 :: 9973] = b"\xff" * len(content[len(content) // 2 :: 9973])
        file.write_bytes(content)
    return {"sources": (str(folder / "brokers"),)}


def damaged_files(folder, captures):
    for partition, segment in enumerate(damaged_segments(captures)[0].values()):
        segment_file(folder / "log", partition, segment)
    return {"sources": (str(folder / "log"),), **EVERYTHING}


def damaged_and_whole(folder, captures):
    segments = damaged_segments(captures)[0]
    for partition, segment in enumerate(segments.values()):
        segment_file(folder / "damaged", partition, segment)
        segment_file(folder / "other", partition, segments["compacted" if partition % 2 else "whole"])
    return {"sources": (str(folder / "damaged"), str(folder / "other"))}


def transactions(folder, _):
    """What one copy shows as open, another shows as aborted, and a third does not reach."""
    within = write_batch([Record(0, 1000, COMMIT, b"\0\3")], producer_id=5, transactional=True)
    group = write_batch([Record(2, 1003, EPOCH, b"\0\0\0\0\0\1\0")])
    for name, batches in {"a": [within], "b": [within, write_marker(1, 5, "abort"), group], "c": [group]}.items():
        segment_file(folder / "in" / name, 0, *batches)
    return {"sources": (str(folder / "in"),), "offset_commits": True}


def open_transactions(folder, _):
    """Two producers have no marker, and a third may have one among bytes that cannot be read."""
    ended = [
        write_batch([Record(0, 1000, COMMIT, b"\0\3")], producer_id=5, transactional=True),
        write_marker(1, 5, "commit"),
    ]
    opened = [
        write_batch([Record(2 + each, 1002 + each, COMMIT, b"\0\3")], producer_id=5 + each, transactional=True)
        for each in range(2)
    ]
    group = write_batch([Record(4, 1005, EPOCH, b"\0\0\0\0\0\1\0")])
    segment_file(folder / "log", 0, *ended, *opened, group)
    segment_file(folder / "log", 1, *ended, opened[0], b"\xff" * 200)
    return {"sources": (str(folder / "log"),), "offset_commits": True}


def commits(folder, _):
    """One partition is where its topic ends, another behind it, one beyond it."""
    places = [("t-skew", 3, 184), ("t-orders", 3, 900), ("t-again", 0, 1)]
    given = tuple(EndOffset(*place, None, end, 1_795_780_250_000) for *place, end in places)
    return options_of(folder, SILENCE) | {"end_offsets": given}


def vectors(release, dialect):
    def made(folder, _):
        rows = [
            {"key": key, "value": value, "partition": 0, "offset": offset, "timestamp": 1_700_000_000_000 + offset}
            for offset, (key, value) in enumerate(vector_records(release))
        ]
        pq.write_table(pa.Table.from_pylist(rows), folder / "log.parquet")
        return {"sources": (str(folder / "log.parquet"),), "dialect": dialect, **EVERYTHING}

    return made


def random_segments(folder, _):
    """Whole, odd and damaged batches, a file for each: the inputs of `make fuzz`."""
    for partition in range(60):
        case = CASES["segments"](random.Random(f"audits/{partition}"))  # noqa: S311 - not for secrets
        segment_file(folder / "log", partition, *case.items)
    return {"sources": (str(folder / "log"),), **EVERYTHING}


def random_records(folder, _):
    """Keys and values that are right, of other versions, or damaged; those of a case are one partition."""
    rows = [
        {"key": key, "value": value, "partition": partition, "offset": offset, "timestamp": 1_700_000_000_000 + offset}
        for partition in range(40)
        for offset, (key, value) in enumerate(
            CASES["records"](random.Random(f"audits/{partition}")).items  # noqa: S311 - not for secrets
        )
    ]
    pq.write_table(pa.Table.from_pylist(rows), folder / "log.parquet")
    return {"sources": (str(folder / "log.parquet"),), **EVERYTHING}


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


def kinds_dump(number):
    def made(folder, captures):
        pq.write_table(kinds(captures)[number], folder / "log.parquet")
        return {"sources": (str(folder / "log.parquet"),), **EVERYTHING}

    return made


QUICK = {"sources of every kind": of_every_kind}
"""`make test` compares these; the others are slow."""

AUDITS = {
    **{
        f"{name}{' with everything' if options else ''}": capture(name, **options)
        for name in ("kafka-4.0.0-zstd", "kafka-4.3.1", WITH_RECORD_TABLES, "kafka-4.4.0-coordinator", "lost-segment")
        for options in ({}, EVERYTHING)
    },
    "data folders of brokers": brokers,
    "damaged files": damaged_files,
    "damaged files and others": damaged_and_whole,
    "commits": commits,
    "transactions": transactions,
    "open transactions": open_transactions,
    "connect": kinds_dump(0),
    "kinds": kinds_dump(1),
    "streams that are not ready": kinds_dump(2),
    "simulated": simulated(SHAPE),
    "simulated by 4.0, compacted": simulated(replace(SHAPE, release="4.0", compacted=True, delete_retention_ms=60_000)),
    "simulated without tombstones": simulated(replace(SHAPE, compacted=True, delete_retention_ms=0)),
    "simulated with large groups": simulated(replace(SHAPE, largest=16, recreations_per_hour=20)),
    "simulated kinds": simulated(KINDS),
    "simulated kinds, compacted": simulated(replace(KINDS, compacted=True, delete_retention_ms=60_000)),
    "copies of simulated kinds": simulated(KINDS, copies=True),
    "3.5.2, auto": vectors("3.5.2", "auto"),
    "3.7.2, auto": vectors("3.7.2", "auto"),
    "4.4.0, auto": vectors("4.4.0", "auto"),
    "3.5.2 as Kafka's": vectors("3.5.2", "kafka"),
    "random segments": random_segments,
    "random records": random_records,
    "nothing, which is allowed": lambda folder, _: empty(folder, _) | {"allow_empty": True},
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
    "a checkpoint": lambda _, captures: capture("kafka-4.3.1")(_, captures) | {"checkpoint": "/tmp/x"},  # noqa: S108
}

"""Reads what Kafka's own ``kafka-dump-log --offsets-decoder`` printed, the oracle of the captures."""

import gzip
import json
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Record = dict[str, Any]

_FILE = re.compile(r"__consumer_offsets-(?P<partition>\d+)-(?P<base_offset>\d{20})\.txt(\.gz)?")
_BATCH = re.compile(r"baseOffset: \d+ .*?producerId: (?P<producer>-?\d+) .*?isTransactional: (?P<transactional>\w+) ")
_RECORD = re.compile(r"\| offset: (?P<offset>\d+) \w+: (?P<timestamp>-?\d+) .*? headerKeys: \[.*?\] (?P<content>.*)")
_MARKER = re.compile(r"endTxnMarker: (?P<outcome>COMMIT|ABORT) ")
_OUTCOMES = {"COMMIT": "committed", "ABORT": "aborted"}


def read_dump_logs(folder: Path, *, aborted: bool = False) -> list[Record]:
    """The records of all dumped segments in a folder, by partition and offset; control records are left out.

    Each is ``partition, offset, timestamp`` (ms), ``type`` (int), ``key`` and ``value`` (Kafka's own JSON; None for a
    tombstone) and ``transaction`` (none, committed, aborted, pending). Aborted ones are left out unless asked for.
    """
    files = sorted(path for path in folder.iterdir() if _FILE.fullmatch(path.name))
    partitions: dict[int, list[Path]] = defaultdict(list)
    for path in files:
        partitions[_partition(path)].append(path)
    records = [record for partition in sorted(partitions) for record in _read_partition(partitions[partition])]
    return [record for record in records if aborted or record["transaction"] != "aborted"]


def _read_partition(segments: list[Path]) -> list[Record]:
    """A transaction's outcome comes with its producer's next marker, which may be in a later segment."""
    records: list[Record] = []
    undecided: dict[str, list[Record]] = defaultdict(list)
    for segment in segments:
        for producer, transactional, line in _record_lines(segment):
            content = line["content"]
            if marker := _MARKER.match(content):
                for record in undecided.pop(producer, []):
                    record["transaction"] = _OUTCOMES[marker["outcome"]]
                continue
            record = {
                "partition": _partition(segment),
                "offset": int(line["offset"]),
                "timestamp": int(line["timestamp"]),
                **_key_and_value(content),
                "transaction": "pending" if transactional else "none",
            }
            records.append(record)
            if transactional:
                undecided[producer].append(record)
    return records


def _record_lines(segment: Path) -> Iterator[tuple[str, bool, re.Match[str]]]:
    opened = gzip.open if segment.suffix == ".gz" else open
    producer, transactional = "-1", False
    with opened(segment, "rt", encoding="utf-8") as lines:
        for line in lines:
            if batch := _BATCH.match(line):
                producer, transactional = batch["producer"], batch["transactional"] == "true"
            elif record := _RECORD.match(line):
                yield producer, transactional, record
            elif not line.startswith(("Dumping ", "Log starting offset: ")):
                raise ValueError(f"{segment}: neither a batch nor a record: {line[:200]!r}")


def _key_and_value(content: str) -> Record:
    key, end = json.JSONDecoder().raw_decode(content, len("key: "))
    payload = content[end:].removeprefix(" payload: ")
    value = None if payload == "<DELETE>" else json.loads(payload)["data"]
    return {"type": int(key["type"]), "key": key["data"], "value": value}


def _partition(segment: Path) -> int:
    name = _FILE.fullmatch(segment.name)
    assert name is not None
    return int(name["partition"])

"""Small logs of one group each, and what befalls them: tampering, Kafka's cleaner, records that are lost.

A record is a dict `offset, timestamp` (ms), `type, key, value`: as `tests.simulator.scenario.Capture` has them. A value
of bytes stands for itself.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kip848_records.expectations.results import Finding
from kip848_records.simulate.broker.operation import Record
from kip848_records.simulate.broker.releases import KAFKA_4_3
from kip848_records.simulate.encoding import encode
from kip848_records.specs.log_columns import TOPIC
from tests.simulator.scenario import Scenario

END = 1_900_000_000_000
"""When every story ends, and its log is copied: in ms since 1970."""
GARBAGE = b"\x00\x00\xff"
"""A value of version 0 that ends too early."""

PASS, VIOLATION, UNKNOWN = "pass", "violation", "unknown"

Records = list[dict[str, Any]]


@dataclass(frozen=True)
class Case:
    """The log of a group, made of its id; what an expectation says of it, and which findings, as `line` tells them.

    `found`: all violations, unless dots say that there are more; some of what is unknown.
    """

    rule: str
    story: str
    verdict: str
    log: Callable[[str], Records]
    found: tuple[str, ...] = ()

    @property
    def group(self) -> str:
        return f"{self.rule}: {self.story}"

    def __str__(self) -> str:
        return self.group


def line(found: Finding) -> str:
    """A finding as the cases tell it: group epoch, member, offset, severity and sentence; a dash for what is null."""
    place = ["-" if each is None else each for each in (found.group_epoch, found.member_id, found.offset)]
    return "{} {} @{} {}: {}".format(*place, found.severity, found.message)


def told(story: Scenario) -> Records:
    """The log of a story of one group, whose end is now."""
    for record in (records := story.capture().records):
        record["timestamp"] += END - story.now
        record["release"] = story.release
    return records


def where(records: Records, kind: int, nth: int = 0, *, deleted: bool = False, **fields: Any) -> dict[str, Any]:
    """The nth record of a type, of those with these fields in key or value; of tombstones, if `deleted`."""
    of_type = [record for record in records if record["type"] == kind and (record["value"] is None) == deleted]
    return [record for record in of_type if all(_fields(record)[name] == fields[name] for name in fields)][nth]


def _fields(record: dict[str, Any]) -> dict[str, Any]:
    return {**record["key"], **(record["value"] or {})}


def change(records: Records, kind: int, nth: int = 0, *, to: dict[str, Any], **fields: Any) -> Records:
    """The log with other fields in one record's value."""
    record = where(records, kind, nth, **fields)
    record["value"] = {**record["value"], **to}
    return records


def lose(records: Records, kind: int, nth: int = 0, **fields: Any) -> Records:
    """The log, of which one record does not decode."""
    where(records, kind, nth, **fields)["value"] = GARBAGE
    return records


def without(records: Records, *gone: dict[str, Any]) -> Records:
    """The log as if some records had never been written."""
    kept = [record for record in records if record not in gone]
    return [{**record, "offset": offset} for offset, record in enumerate(kept)]


def compacted(records: Records, to: int | None = None) -> Records:
    """What the cleaner leaves if it has been up to an offset, or to the end: of each key there the last record.

    Behind `to` a record of somebody else's has been removed: from there on, and not before, the log is known whole.
    """
    to = len(records) if to is None else to
    last = {repr((record["type"], record["key"])): record["offset"] for record in records if record["offset"] < to}
    kept = [record for record in records if record["offset"] in last.values()]
    return kept + [{**record, "offset": record["offset"] + 1} for record in records if record["offset"] >= to]


def headless(records: Records, to: int) -> Records:
    """What is left if the log was read from an offset on."""
    return [record for record in records if record["offset"] >= to]


def next_operation(record: dict[str, Any], records: Records) -> int:
    """The offset behind the operation of a record."""
    return max(each["offset"] for each in records if each["timestamp"] == record["timestamp"]) + 1


def dump(cases: list[Case]) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """All logs as rows of the Kafka source, each in a partition of its own; and these, by group id."""
    rows, partitions = [], {}
    assert len({case.group for case in cases}) == len(cases)
    for partition, case in enumerate(cases):
        partitions[case.group] = partition
        rows += [row(record, partition) for record in case.log(case.group)]
    return rows, partitions


def row(record: dict[str, Any], partition: int) -> dict[str, Any]:
    value = record["value"]
    is_raw = isinstance(value, bytes)
    known = Record(record["type"], record["key"], None if is_raw else value)
    key, encoded = encode(known, record.get("release", KAFKA_4_3))
    return {
        "key": key,
        "value": value if is_raw else encoded,
        "topic": record.get("topic", TOPIC),
        "partition": partition,
        "offset": record["offset"],
        "timestamp": record["timestamp"] * 1000,
        "timestampType": 0,
    }

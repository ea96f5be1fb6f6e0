"""What a cleaner leaves of a log, what a reader knows of it, and how the rows compare with those of the whole log."""

import random
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from itertools import pairwise
from typing import Any

from kip848_records.replay.inputs import PartitionCoverage
from tests.replay.logs import Rows

Records = list[dict[str, Any]]
Known = dict[int, PartitionCoverage]

SEEN = ("observed", "right_censored")
KEYS = {
    "Epoch": ("group_id", "bump_offset"),
    "RebalanceLag": ("group_id", "group_epoch", "member_id", "target_at"),
    "PartitionHandover": ("group_id", "topic_id", "partition", "acquired_offset", "released_offset", "to_member"),
    "TaskHandover": ("group_id", "subtopology_id", "task", "acquired_offset", "released_offset", "to_member"),
    "OwnershipInterval": ("group_id", "member_id", "topic_id", "subtopology_id", "partition", "role", "from_offset"),
    "OwnedPartition": ("group_id", "topic_id", "topic", "partition", "acquired_offset"),
    "SharePartitionState": ("group_id", "topic_id", "state", "from_offset"),
    "GroupStateInterval": ("group_id", "from_offset"),
    "Rebalance": ("group_id", "began_offset"),
    "MemberStateInterval": ("group_id", "member_id", "from_offset"),
    "Membership": ("group_id", "member_id", "group_type", "joined_offset", "left_offset"),
}
"""What tells a row without its incarnation: the deletions that are counted may be gone."""
_MAY_BE_NULL = {"partitions_moved", "metadata_changed", "returned", "started_empty", "members_before", "was_warm"}
_OF_CAUSE = {"cause", "causes", "trigger_member_ids"}
_NOT_COMPARED = {"incarnation", "awaited"}


def compacted(records: Iterable[Mapping[str, Any]], rng: random.Random) -> tuple[Records, Known]:
    """What one pass of the cleaner leaves, and from where on the log is complete: the first key that is there twice."""
    left: Records = []
    known: Known = {}
    keeps_tombstones = rng.random() < 0.5
    for partition, whole in _by_partition(records).items():
        end = rng.choice(_begins(whole))
        last = {_key(record): record["offset"] for record in whole if record["offset"] < end}
        kept = [record for record in whole if record["offset"] >= end or _survives(record, last, keeps_tombstones)]
        seen: set[Any] = set()
        repeated = next((r["offset"] for r in kept if _key(r) in seen or seen.add(_key(r))), None)
        behind = whole[-1]["offset"] + 1
        ranges = () if repeated is None else ((repeated, behind),)
        known[partition] = PartitionCoverage(ranges, last_offset=behind - 1)
        left += kept
    return left, known


def read_by_night(records: Iterable[Mapping[str, Any]], rng: random.Random, nights: int = 4) -> tuple[Records, Known]:
    """What the reads of some nights find while the cleaner is at it, and the ranges of which nothing is missing."""
    found: Records = []
    known: Known = {}
    for partition, whole in _by_partition(records).items():
        begins, behind = _begins(whole), whole[-1]["offset"] + 1
        ends = [*(begins[len(begins) * nth // nights] for nth in range(1, nights)), behind]
        ranges = [(0, ends[0])]
        for begin, end in zip([0, *ends], ends, strict=False):
            between = [each for each in begins if begin < each < end]
            cleaned = rng.choice(between) if between and begin in ends[::2] else begin
            last = {_key(record): record["offset"] for record in whole if record["offset"] < min(cleaned, end)}
            there = [record for record in whole if begin <= record["offset"] < end]
            found += [record for record in there if record["offset"] >= cleaned or _survives(record, last, keeps=True)]
            if cleaned > begin:
                ranges.append((cleaned, end))
            else:
                ranges[-1] = ranges[-1][0], end
        known[partition] = PartitionCoverage(tuple(ranges), last_offset=behind - 1)
    return found, known


def wrong_values(whole: Rows, part: Rows, odd: Collection[str] = ()) -> tuple[Counter[str], Counter[Any]]:
    """How many rows of part of a log claim to be seen, by table; and which of their columns are not those of the whole.

    `odd`: groups that are left out.
    """
    seen: Counter[str] = Counter()
    wrong: Counter[Any] = Counter()
    for table, names in KEYS.items():
        truth = {tuple(getattr(row, name) for name in names): row for row in whole[table]}
        for row in part[table]:
            if row.history in SEEN and row.group_id not in odd:
                seen[table] += 1
                true = truth.get(tuple(getattr(row, name) for name in names))
                wrong.update((table, column) for column in _differing(row, true))
    return seen, wrong


def odd_groups(whole: Rows) -> set[str]:
    """Groups that do what no coordinator does: two owners, epochs that go back or jump."""
    rows = (row for table in KEYS for row in whole[table])
    return {row.group_id for row in rows if row.history not in SEEN} | {row.group_id for row in whole["Anomaly"]}


def _differing(row: Any, true: Any) -> Iterable[str]:
    if true is None:
        return ["no such row"]
    ours, theirs = row._asdict(), true._asdict()
    skipped = set(_NOT_COMPARED)
    # The first record of a member may be gone: then nobody knows whether it joined.
    if ours.get("cause") == "unknown" or "causes" in ours:
        skipped |= _OF_CAUSE
    skipped |= {name for name in _MAY_BE_NULL if ours.get(name, 0) is None}
    return [name for name, value in ours.items() if name not in skipped and value != theirs[name]]


def _survives(record: Mapping[str, Any], last: Mapping[Any, int], keeps: bool) -> bool:  # noqa: FBT001
    return last.get(_key(record)) == record["offset"] and (keeps or record["value"] is not None)


def _by_partition(records: Iterable[Mapping[str, Any]]) -> dict[int, Records]:
    partitions: dict[int, Records] = defaultdict(list)
    for record in records:
        partitions[record["partition"]].append(dict(record))
    return {partition: sorted(of_it, key=lambda each: each["offset"]) for partition, of_it in partitions.items()}


def _begins(records: Records) -> list[int]:
    """What an operation writes is one batch, and neither the end of a log nor the cleaner cuts one."""
    return [now["offset"] for before, now in pairwise(records) if now["timestamp"] != before["timestamp"]]


def _key(record: Mapping[str, Any]) -> Any:
    return record["type"], tuple(sorted(record["key"].items()))

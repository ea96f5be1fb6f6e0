"""The stays of a broker's log against what its clients wrote down when they were assigned partitions, and gave them up.

`groups.parquet` has the records of 32 groups of Kafka 4.4.0 without their offset commits. `clients.jsonl.gz` has the
events of their clients: time (`t`), client (`c`), group (`g`), member id (`m`) and partitions (`o`).
"""

import gzip
import json
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq

from tests.replay.logs import inputs_of
from tests.replay.owned import overlapping
from tests.replay.segment_copies import replayed_batch

FOLDER = Path(__file__).parent
CAPTURED_AT = 1_795_780_320_909
TOPICS = {
    "KiptkmiXSduvA9yqIkYXgw": "t-orders",
    "R6Y0p0zYT_q_aq7y0HVZ1g": "t-pay",
    "5ekq9NpMTSWlTZ1AsUuFig": "t-idle",
    "PO3flnwrTCiMe8gKT8xGjg": "t-skew",
    "ENTynsWDRLO4_vbN_eOSPg": "t-burst",
    "b0_jqrmnQsaVUjfPTeQezw": "t-grow",
    "5N2OmQDuSVCrpeHe7lkuJw": "t-again",
    "Pvmxd4DfR0CFQTA3UNKJ6g": "t-again",
}
"""The topic t-again was deleted and created anew."""
WITHOUT_LOG = {"g-java-cla", "g-java-con"}
"""Kafka's console consumer writes no events."""
EAGER = {"g-auto-cla", "g-crash-cla", "g-grow-e"}
"""Their members give up all partitions in each rebalance, and mostly get them again: a stay goes on."""

Key = tuple[str, str, int, str]


class Held(NamedTuple):
    """A time in which a client had a partition; `how` it ended, `open` if it had not when the log was captured."""

    since: int
    until: int
    how: str


@cache
def held() -> dict[Key, list[Held]]:
    """The times of clients by group, topic, partition and member id."""
    found: dict[Key, list[Held]] = defaultdict(list)
    have: dict[str, dict[tuple[str, int], tuple[int, str]]] = defaultdict(dict)
    group_of: dict[str, str] = {}
    with gzip.open(FOLDER / "clients.jsonl.gz", "rt") as lines:
        events = sorted(map(json.loads, lines), key=lambda event: event["t"])
    for event in events:
        if event["t"] > CAPTURED_AT:
            break
        client, has = event["c"], have[event["c"]]
        group_of[client] = event["g"]
        partitions = [tuple(each) for each in event.get("o", list(has))]
        if event["ev"] != "assigned":
            for each in partitions:
                since, member_id = has.pop(each)
                found[(event["g"], *each, member_id)].append(Held(since, event["t"], event["ev"]))
        elif event["m"] is not None:  # without a member id, the client assigned them to itself
            for each in partitions:
                has.setdefault(each, (event["t"], event["m"]))
    for client, has in have.items():
        for each, (since, member_id) in has.items():
            found[(group_of[client], *each, member_id)].append(Held(since, CAPTURED_AT, "open"))
    return found


@cache
def stays() -> dict[Key, list[Any]]:
    """The stays by group, topic, partition and member id."""
    (batch,) = pq.read_table(FOLDER / "groups.parquet").combine_chunks().to_batches()
    rows = replayed_batch(batch, inputs_of(dict.fromkeys(range(3), 0), CAPTURED_AT))["OwnedPartition"]
    assert overlapping(rows) == []
    found: dict[Key, list[Any]] = defaultdict(list)
    for row in rows:
        if row.group_id not in WITHOUT_LOG:
            topic = row.topic or TOPICS[row.topic_id]
            found[row.group_id, topic, row.partition, row.member_id].append(row)
    return found


def test_a_stay_is_the_time_in_which_a_client_has_a_partition() -> None:
    assert held().keys() == stays().keys()
    several: Counter[str] = Counter()
    counted = 0
    for key, rows in stays().items():
        times = list(held()[key])
        for row in rows:
            until = CAPTURED_AT if row.released_at is None else row.released_at
            within = [each for each in times if row.acquired_at <= each.since <= until]
            assert within, row
            times = [each for each in times if each not in within]
            counted += 1
            several[key[0]] += len(within) > 1
            last = within[-1]
            assert (row.released_at is None) == (last.how == "open"), (row, last)
            if last.how == "revoked":
                # The coordinator knows it later, but for a cooperative member, which revokes behind the type 2.
                assert -500 <= until - last.until <= 2100, (row, last)
        assert times == [], key
    assert counted == 213
    assert set(+several) == EAGER


def test_how_fast_a_client_learns_what_it_owns() -> None:
    late = sorted(min(each.since for each in held()[key]) - rows[0].acquired_at for key, rows in stays().items())
    assert (late[0], late[len(late) // 2], late[-1]) == (0, 72, 481)

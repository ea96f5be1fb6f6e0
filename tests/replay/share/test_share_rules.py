"""Without revocations a consumer group converges as a share group does: both replays agree on everything but owners.

The replay is its own oracle: it shows that two kinds of groups agree, not that they are right.
`tests/replay/test_coordinator.py` and `test_simulated.py` compare those with others.
"""

import random
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from kip848_records.replay.inputs import ReplayInputs
from tests.replay.captures import CAPTURED_AT
from tests.replay.compaction import compacted, odd_groups, read_by_night, wrong_values
from tests.replay.logs import inputs_of, replayed
from tests.replay.random_log import random_records
from tests.replay.test_same_rules import DIFFERENT, Records, both_kinds
from tests.seeds import daily_seeds, nightly

_TYPES = {3: 11, 4: 15, 5: 10, 6: 12, 7: 13, 8: 14}
_TABLES = ("Epoch", "RebalanceLag", "Rebalance", "MemberStateInterval", "Membership")
_OF_OWNERS = {"partitions_moved", "unowned_ms", "longest_unowned_ms"}
_TOPICS = [{"topicId": topic, "topicName": topic, "partitions": [0, 1, 2]} for topic in ("t0", "t1")]


def without_revocations(records: Iterable[Mapping[str, Any]]) -> Records:
    """Records of consumer groups whose members are always STABLE, and never away."""
    consumers, _ = both_kinds(records)
    found = []
    for record in consumers:
        value = record["value"]
        if record["type"] == 8 and value is not None:
            value = {
                **value,
                "state": 0,
                "memberEpoch": max(value["memberEpoch"], 0),
                "partitionsPendingRevocation": [],
            }
        elif record["type"] == 5 and value is not None:
            value = {**value, "instanceId": None}
        found.append({**record, "value": value})
    return found


def as_share(consumers: Records, seed: int) -> Records:
    """The same records of share groups; where a group's life begins, some topics are initialized."""
    rng = random.Random(seed)  # noqa: S311 - no secret
    found = []
    for record in consumers:
        value = record["value"]
        if record["type"] == 4:
            value = {"initializedTopics": rng.sample(_TOPICS, rng.randrange(3)), "initializingTopics": []}
        found.append({**record, "type": _TYPES[record["type"]], "value": value})
    return found


def comparable(row: Any) -> str:
    skipped = DIFFERENT | _OF_OWNERS
    return repr([value for name, value in row._asdict().items() if name not in skipped])


@pytest.mark.parametrize("seed", [0, *nightly(daily_seeds(8, "share rules"))])
def test_share_groups_converge_as_consumer_groups_do(seed: int) -> None:
    consumers = without_revocations(random_records(seed, groups=120, operations=30, partitions=3))
    inputs = inputs_of(dict.fromkeys(range(3), 0), CAPTURED_AT)
    expected, found = replayed(consumers, inputs), replayed(as_share(consumers, seed), inputs)
    for table in _TABLES:
        ours, theirs = Counter(map(comparable, found[table])), Counter(map(comparable, expected[table]))
        assert theirs.total() > 5
        assert (table, ours - theirs, theirs - ours) == (table, Counter(), Counter())
    assert {row.state for row in found["GroupStateInterval"]} <= {"Stable", "Empty"}
    measured = [row for row in found["Rebalance"] if row.duration_ms is not None and not row.clock_skew]
    for row in measured:
        assert row.assigning_ms + row.late_ms == row.duration_ms
    assert sum(row.unowned_ms for row in measured) > 0
    assert not {row.kind for row in found["Anomaly"]} & {"two_owners", "target_overlap"}


@pytest.mark.parametrize("read", [compacted, read_by_night])
@pytest.mark.parametrize("seed", [0, *nightly(daily_seeds(8, "share rules"))])
def test_no_claim_about_a_compacted_log_is_false(seed: int, read: Any) -> None:
    consumers = without_revocations(random_records(seed, groups=120, operations=30, partitions=3))
    records = as_share(consumers, seed)
    whole = replayed(records, inputs_of(dict.fromkeys(range(3), 0), CAPTURED_AT))
    left, known = read(records, random.Random(seed))  # noqa: S311 - no secret
    seen, wrong = wrong_values(whole, replayed(left, ReplayInputs("kafka", CAPTURED_AT, known)), odd_groups(whole))
    assert wrong == Counter()
    assert sum(seen.values()) > 5

"""Connect clusters with a generation whose payloads do not parse: rows of later generations are still true."""

from random import Random

import pytest

from tests.seeds import daily_seeds, nightly
from tests.simulator.walked import replayed, written
from tests.simulator.walks.connect import ObservedConnectWalk


@pytest.mark.parametrize("seed", [*range(2), *nightly(daily_seeds(20, "damaged payloads"))])
def test_moved_is_true_or_unknown(seed):
    rng, damaged = Random(seed), []  # noqa: S311 - a log, not a secret

    def damage(records):
        with_members = [n for n, record in enumerate(records) if record.value and record.value.get("members")]
        damaged.append(rng.choice(with_members[2:-5]))
        for member in records[damaged[0]].value["members"]:
            member["assignment"] = b"\xff"

    rows, captured_at, truth = written(ObservedConnectWalk(seed), 80, damage)
    found = replayed(rows, captured_at)
    true, ours = ({row["offset"]: row["moved"] for row in tables["classic_generation"]} for tables in (truth, found))
    assert ours.keys() == true.keys()
    assert ours[damaged[0]] is None
    assert {offset: moved for offset, moved in ours.items() if moved not in {None, true[offset]}} == {}
    assert any(moved is not None for offset, moved in ours.items() if offset > damaged[0])

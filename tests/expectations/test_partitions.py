"""Whether groups are in the partitions of __consumer_offsets that their ids say."""

import pytest

from kip848_records.expectations import EXPECTATIONS
from kip848_records.expectations.files import Setting
from kip848_records.protocol.group_partition import offsets_partition
from kip848_records.queries.duck import DuckTables
from tests.expectations.evaluated import evaluated
from tests.expectations.logs import PASS, UNKNOWN, VIOLATION
from tests.made_tables import write

LOWEST_HASH = "polygenelubricants"
IDS = [
    "",
    "g",
    "checkout",
    "bücher",
    "\N{SNAKE}",
    "a\N{GRINNING FACE}\uffff",
    249 * "z",
    249 * "\N{SNAKE}",
    LOWEST_HASH,
]
GROUPS = [f"group-{number}" for number in range(40)]
(RULE,) = (each for each in EXPECTATIONS if each.name == "group_in_its_partition")
NOT_KNOWN = "how many partitions __consumer_offsets has is not known: set offsets_partitions"


def java_hash(text):
    """Java's `String.hashCode`, apart from what the package has: over UTF-16 code units, as an int32."""
    units = text.encode("utf-16-be", "surrogatepass")
    value = 0
    for at in range(0, len(units), 2):
        value = (31 * value + int.from_bytes(units[at : at + 2], "big")) & 0xFFFFFFFF
    return value - (1 << 32) if value >= 1 << 31 else value


@pytest.fixture
def judged(tmp_path_factory):
    """What is found of groups, by partition, of a log of which the partitions below `read` were read."""

    def judged(groups, read, offsets_partitions=0):
        out = tmp_path_factory.mktemp("partitions")
        places = [
            {"group_id": group, "partition": partition, "group_id_hash": abs(java_hash(group)) & 0x7FFFFFFF}
            for group, partition in groups.items()
        ]
        run = {"run": 1, "dialect": "kafka"}
        history = [{"partition": each} for each in range(read)]
        write(out, "c", audit_runs=[run], group_state=places, partition_history=history)
        settings = {RULE.name: Setting("error", {"offsets_partitions": offsets_partitions})}
        return {
            row.group_id: (row.verdict, row.message)
            for row in evaluated(DuckTables(str(out)), RULE, settings[RULE.name])
        }

    return judged


def verdicts(found):
    return {verdict for verdict, _ in found.values()}


def in_place(partitions, groups=GROUPS):
    return {group: offsets_partition(group, partitions) for group in groups}


def test_a_group_in_its_partition(judged):
    assert java_hash(LOWEST_HASH) == -(1 << 31)
    for partitions in (50, 7, 2_000_000_011):
        found = judged(in_place(partitions, IDS), 1, partitions)
        assert found.keys() == set(IDS)
        assert verdicts(found) == {PASS}


def test_a_group_in_another_partition_than_its_own(judged):
    right = in_place(50)
    wrong = right["group-3"] + 1
    found = judged({**right, "group-3": wrong}, 50, 50)
    sentence = f"expected partition {right['group-3']} of 50, seen in {wrong}"
    assert found.pop("group-3") == (VIOLATION, sentence)
    assert verdicts(found) == {PASS}
    # Of so many groups one or two do not make the others wrong.
    found = judged({**right, "group-3": wrong}, 48)
    assert found.pop("group-3") == (VIOLATION, sentence)
    assert verdicts(found) == {PASS}


@pytest.mark.parametrize("partitions", [2, 7, 100])
def test_the_number_of_partitions_is_told_by_what_was_read(judged, partitions):
    assert verdicts(judged(in_place(partitions), partitions)) == {PASS}


def test_a_number_that_few_groups_show_is_not_believed(judged):
    right = in_place(7, GROUPS[:9])
    found = judged({**right, "group-3": (right["group-3"] + 1) % 7}, 7)
    assert set(found.values()) == {(UNKNOWN, NOT_KNOWN)}


def test_a_single_partition_shows_nothing(judged):
    """Of a log of many the first may have been copied alone; whatever is in there would be in its place."""
    assert set(judged({"g": 0}, 1).values()) == {(UNKNOWN, NOT_KNOWN)}
    assert verdicts(judged({"g": 0}, 1, 1)) == {PASS}
    first = {group: 0 for group in GROUPS if offsets_partition(group, 4) == 0}
    assert verdicts(judged(first, 1)) == {UNKNOWN}


def test_more_partitions_than_kafkas_default_are_not_held_against_it(judged):
    """53 of 100 partitions were copied: nearly all groups are where 50 partitions would put them, too."""
    found = judged({group: at for group, at in in_place(100, map(str, range(200))).items() if at < 53}, 53)
    assert len(found) > 50
    assert verdicts(found) == {UNKNOWN}


def test_half_a_partition_is_none(judged):
    assert verdicts(judged(in_place(7), 7, 0.5)) == {PASS}


def test_without_groups_nothing_is_judged(judged):
    assert judged({}, 0) == {}

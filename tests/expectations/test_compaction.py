"""The expectation about the cleaner of `__consumer_offsets`."""

import pytest

from kip848_records.expectations import EXPECTATIONS
from kip848_records.expectations.files import Setting
from kip848_records.queries.duck import DuckTables
from tests.expectations.evaluated import evaluated
from tests.expectations.logs import PASS, UNKNOWN, VIOLATION
from tests.made_tables import write

(RULE,) = (each for each in EXPECTATIONS if each.name == "compaction_alive")
CLEANED = {
    "copy": "log",
    "cleaned_until": 9,
    "files": 3,
    "bytes": 1000,
    "dirty_files": 2,
    "dirty_records": 10,
    "dirty_bytes": 900,
    "dirty_ms": 1000,
}
LEFT = CLEANED | {"files": 9, "bytes": 5001, "dirty_files": 8, "dirty_bytes": 5000, "dirty_ms": 5000}
OTHERS = [CLEANED | {"partition": number} for number in (1, 2)]


@pytest.fixture
def found(tmp_path):
    def found(*rows):
        write(tmp_path, "c", audit_runs=[{"run": 1}], partition_content=rows)
        of_partitions = evaluated(DuckTables(str(tmp_path)), RULE, Setting("error", {}))
        return {row.partition: row.verdict for row in of_partitions}

    return found


@pytest.mark.parametrize(
    ("columns", "verdict"),
    [
        ({}, VIOLATION),
        ({"cleaned_until": None}, VIOLATION),
        ({"dirty_ms": 4999}, PASS),  # it has more records than others, and is cleaned as often
        ({"dirty_bytes": 4499}, PASS),  # it is quiet
        ({"dirty_files": 2}, PASS),  # the last segment, and one that waits for its turn
        ({"bytes": 10_000}, PASS),  # min.cleanable.dirty.ratio
    ],
)
def test_one_partition_beside_others(found, columns, verdict):
    assert found(LEFT | columns, *OTHERS) == {0: verdict, 1: PASS, 2: PASS}


def test_without_others_nothing_is_known(found):
    assert found(LEFT) == {0: UNKNOWN}
    assert found(LEFT, OTHERS[0] | {"copy": "other"}) == {0: UNKNOWN, 1: PASS}


def test_a_copy_without_a_trace_of_the_cleaner_is_said_once_and_is_no_fault(found):
    nothing = {"cleaned_until": None}
    assert found(LEFT | nothing, *(LEFT | nothing | {"partition": number} for number in (1, 2))) == {0: UNKNOWN}


def test_what_is_too_short_to_be_cleaned_is_not_looked_at(found):
    assert found(CLEANED | {"cleaned_until": None}) == {}


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"open_transactions": None}, "that has died, a hanging transaction, or a record that is too large"),
        ({"open_transactions": 0}, "or a record that is too large: no transaction is open"),
        (
            {"open_transactions": 1, "open_groups": ["g", "h"], "open_from": 12},
            "A transaction of g, h is open from offset 12 on: the cleaner does not pass it",
        ),
    ],
)
def test_a_transaction_that_stops_the_cleaner_is_named_if_it_is_known(tmp_path, columns, said):
    write(tmp_path, "c", audit_runs=[{"run": 1}], partition_content=[LEFT | columns, *OTHERS])
    row, *_ = evaluated(DuckTables(str(tmp_path)), RULE, Setting("error", {}))
    assert row.message.endswith(said)

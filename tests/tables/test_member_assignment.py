"""`member_assignment` beside the last values of the records themselves, and beside tables that count the same."""

import json

import pytest

from kip848_records.queries.duck import DuckTables
from tests.audits import CLUSTERS

TARGETS, CURRENT = (7, 13, 21), (8, 14, 22)
PLACES = {"": None, "active": "active", "standby": "standby", "warmup": "warmup"}

_ASSIGNED = "SELECT * FROM member_assignment WHERE group_type <> 'classic'"
_PRESENT = "SELECT group_id, group_type FROM group_state WHERE state <> 'unknown'"
_STATES = "SELECT * FROM member_state_timeline WHERE to_at IS NULL"


@pytest.fixture(params=[*CLUSTERS, "group-kinds", "connect", "streams-not-ready"])
def tables(request, audits, kinds):
    """The tables of one capture."""
    if request.param in CLUSTERS:
        return lambda sql: DuckTables(str(audits.out)).arrow(sql, CLUSTERS[request.param]).to_pylist()
    found = DuckTables(str(kinds))
    if request.param not in {run.cluster for run in found.runs()}:
        pytest.fail(f"kinds/ has no {request.param}: {[run.cluster for run in found.runs()]}")
    return lambda sql: found.arrow(sql, request.param).to_pylist()


def numbers(value, prefix, suffix=""):
    """What a record's value says of a member: topic id, or role and subtopology, with its numbers."""
    found = {}
    for role in ("active", "standby", "warmup"):
        for each in value.get(f"{role}Tasks{suffix}", ()):
            found[role, each["subtopologyId"]] = each["partitions"]
    for each in value.get(prefix) or ():
        found[None, each["topicId"]] = each["partitions"]
    return found


def test_it_is_what_the_last_records_say(tables):
    present = {(row["group_id"], row["group_type"]) for row in tables(_PRESENT)}
    rows = tables(_ASSIGNED)
    assert {(row["group_id"], row["group_type"]) for row in rows} <= present
    groups = {group for group, kind in present if kind != "classic"}
    expected = {}
    for record in tables("SELECT key_type, group_id, member_id, value FROM latest_state"):
        if record["group_id"] not in groups or record["key_type"] not in {*TARGETS, *CURRENT}:
            continue
        value = json.loads(record["value"])
        parts = {"target": numbers(value, "topicPartitions")}
        if record["key_type"] in CURRENT:
            pending = numbers(value, "partitionsPendingRevocation", "PendingRevocation")
            parts = {"present": numbers(value, "assignedPartitions"), "pending": pending}
            if record["key_type"] == CURRENT[2]:
                parts["present"] = numbers(value, "")
        for column, places in parts.items():
            for place, units in places.items():
                expected.setdefault((record["group_id"], record["member_id"], *place), {})[column] = set(units)
    found = {
        (row["group_id"], row["member_id"], row["role"], row["topic_id"] or row["subtopology_id"]): {
            "present": set(row["present"]) - set(row["pending"]),
            "target": set(row["target"] or ()),
            "pending": set(row["pending"]),
        }
        for row in rows
    }
    empty = {"present": set(), "target": set(), "pending": set()}
    assert found == {place: empty | units for place, units in expected.items() if any(units.values())}


def test_its_numbers_are_those_of_the_members_states(tables):
    present = {(row["group_id"], row["group_type"]) for row in tables(_PRESENT)}
    counted = {}
    for row in tables(_ASSIGNED):
        held, target = counted.get((row["group_id"], row["member_id"]), (0, 0))
        counted[row["group_id"], row["member_id"]] = held + row["present_units"], target + (row["target_units"] or 0)
    states = [row for row in tables(_STATES) if (row["group_id"], row["group_type"]) in present]
    for row in states:
        assert counted.get((row["group_id"], row["member_id"]), (0, 0)) == (
            row["owned_units"],
            row["target_units"] or 0,
        )


def test_classic_members_have_what_their_generation_gave_them(tables):
    last = {
        (row["group_id"], row["generation"])
        for row in tables("SELECT group_id, generation FROM group_state WHERE generation IS NOT NULL")
    }
    given = {}
    for row in tables("SELECT group_id, generation, member_id, assigned FROM classic_member"):
        if (row["group_id"], row["generation"]) in last:
            for each in row["assigned"] or ():
                given[row["group_id"], row["member_id"], each["topic"]] = each["partitions"]
    for row in tables("SELECT group_id, generation, member_id, running FROM connect_assignment"):
        if (row["group_id"], row["generation"]) in last:
            for each in row["running"] or ():
                given[row["group_id"], row["member_id"], each["connector"]] = each["tasks"]
    found = {}
    for row in tables("SELECT * FROM member_assignment WHERE group_type = 'classic' ORDER BY role"):
        assert row["target"] is None
        found.setdefault((row["group_id"], row["member_id"], row["topic"] or row["connector"]), []).extend(
            row["present"]
        )
    stays = tables("SELECT group_id, member_id FROM membership WHERE left_offset IS NULL AND group_type = 'classic'")
    present = {(row["group_id"], row["member_id"]) for row in stays}  # not those that were replaced in a generation
    assert found == {place: units for place, units in given.items() if place[:2] in present}

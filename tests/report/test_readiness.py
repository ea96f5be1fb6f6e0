"""What `kip848 explain` says about a broker that loads a group, and about a classic group's upgrade."""

from datetime import UTC, datetime

import pytest
from rich.console import Console

from kip848_records.queries.duck import DuckTables
from kip848_records.replay.classic import upgrade
from kip848_records.report.group_history import GroupHistory
from kip848_records.report.readiness import REASONS, readiness, refused_records, upgrade_reasons
from tests import made_tables

AT = datetime(2026, 1, 2, tzinfo=UTC)
GROUP = {"group_id": "g", "group_type": "classic", "state": "Stable", "generation": 4, "members": 2}
REFUSED = {
    "kind": "record_not_loadable",
    "group_id": "other",
    "offset": 7,
    "seen": "the group is a classic one",
    "releases": "4.1.1 to 4.4.0",
    "known_bug": "KAFKA-21117",
}


def text_of(out, part, state, **tables):
    made_tables.write(
        out,
        "made",
        audit_runs=[{"run": 1, "captured_at": AT}],
        group_state=[GROUP | state],
        group_state_timeline=[{"group_id": "g", "group_type": "classic", "state": "Stable", "from_at": AT}],
        **{"classic_member": [], "anomaly": [], **tables},
    )
    console = Console(width=250, highlight=False)
    with console.capture() as captured:
        for each in part(GroupHistory(DuckTables(str(out)), "g", "made")):
            console.print(each)
    return captured.get()


def test_every_reason_has_words():
    constants = {name: value for name, value in vars(upgrade).items() if name.isupper() and not name.startswith("_")}
    reasons = {name for name, value in constants.items() if isinstance(value, str)} - {
        "CONSUMER_PROTOCOL_TYPE",
        "STREAMS_ASSIGNOR",
    }
    assert {constants[name] for name in reasons} == REASONS.keys()


def test_a_malformed_subscription_names_its_client(tmp_path):
    member = {"group_id": "g", "generation": 4, "member_id": "m2", "client_id": "stock", "client_host": "/192.0.2.7"}
    malformed = member | {"subscription_error": "version 1 ends before ownedPartitions"}
    text = text_of(
        tmp_path,
        readiness,
        {"upgradable": False, "upgradable_reason": "malformed_subscription"},
        classic_member=[member | {"member_id": "m1"}, malformed],
    )
    assert "Upgrade to the consumer protocol: a broker refuses a consumer member\n" in text
    why = "A subscription lacks a field of its version"
    step = "Replace the clients that write it, or stop all members, then start them with the new protocol"
    assert f"  {why}. {step}\n" in text
    assert "m2 (stock @ 192.0.2.7), subscription: version 1 ends before ownedPartitions\n" in text
    assert "m1" not in text


def test_data_of_an_assignor_names_its_member(tmp_path):
    member = {"group_id": "g", "generation": 4, "client_id": "own", "client_host": "/192.0.2.7"}
    text = text_of(
        tmp_path,
        readiness,
        {"upgradable": False, "upgradable_reason": "assignor_user_data"},
        classic_member=[member | {"member_id": "m1", "user_data_bytes": 12}, member | {"member_id": "m2"}],
    )
    assert "m1 (own @ 192.0.2.7), assignment: 12 bytes of its assignor\n" in text
    assert "m2" not in text


@pytest.mark.parametrize(
    ("state", "verdict"),
    [
        ({"upgradable": True}, "a consumer member can join, and converts the group"),
        ({"upgradable": True, "members": 0}, "a consumer member replaces it"),
        ({"upgradable": None}, "unknown, its last record is lost or unreadable"),
    ],
)
def test_the_verdict(tmp_path, state, verdict):
    assert f"Upgrade to the consumer protocol: {verdict}\n" in text_of(tmp_path, readiness, state)


def test_nothing_is_said_of_a_connect_cluster(tmp_path):
    assert not text_of(tmp_path, readiness, {"upgradable": True, "members": 0, "protocol_type": "connect"})


def test_a_record_of_another_group_keeps_brokers_from_loading_the_partition(tmp_path):
    text = text_of(tmp_path, refused_records, {}, anomaly=[REFUSED | {"is_proven": True}])
    assert text.startswith(
        "\nKafka 4.1.1 to 4.4.0, before the fix of KAFKA-21117, cannot load partition 0 of __consumer_offsets, "
        "and with it none of its groups: a record of group other at offset 7 is refused: "
        "the group is a classic one\n"
    )
    assert "other releases load it" not in text


def test_a_refusal_that_is_not_proven_says_so(tmp_path):
    text = text_of(tmp_path, refused_records, {}, anomaly=[REFUSED | {"is_proven": False}])
    assert "other releases load it, or earlier records are missing here\n" in text


def test_an_application_of_streams_gets_one_advice() -> None:
    (advice,) = upgrade_reasons("assignor_user_data, streams_application")
    assert "group.protocol=streams" in advice
    assert "group.protocol=consumer" not in advice

"""What `kip848 migration` says of a fleet: the plan, the reasons, who is half-way; as text, Markdown and JSON."""

import json
from datetime import timedelta

import pytest

from kip848_records.cli import main
from kip848_records.expectations import loadable_by
from kip848_records.queries.duck import DuckTables
from kip848_records.replay.refusals import FIRST_WITH_STREAMS, KNOWN_BUGS
from kip848_records.report.fleet import applications, as_json, fleet, sections
from kip848_records.report.page.contents import contents
from kip848_records.report.page.page import page
from kip848_records.report.terminal import plain_text
from kip848_records.tables.registry import TABLES
from tests.report.fleets import AT, Fleet, large

GO_CANNOT = (
    "go cannot move now: can move once all members have stopped (after_stop: malformed_subscription; cluster {}, "
    "partition 0)\n"
)


@pytest.fixture
def found(tmp_path):
    """Write a made fleet, and return what is known of it."""

    def found(made, **run):
        made.write(tmp_path, **run)
        tables = DuckTables(str(tmp_path))
        return fleet(tables, *tables.chosen_runs("c"))

    return found


@pytest.fixture
def printed(tmp_path, capsys):
    """Run the command over a made fleet; return its exit code, stdout and stderr."""

    def printed(made, *options, run=None):
        made.write(tmp_path, **(run or {}))
        code = main(["migration", str(tmp_path), "--quiet", *options])
        said = capsys.readouterr()
        return code, said.out, said.err

    return printed


def section(fleet, title):
    return next(each for each in sections(fleet) if each.title.startswith(title))


def sections_text(fleet):
    return "\n".join(note for each in sections(fleet) for note in each.notes)


@pytest.mark.parametrize(
    ("columns", "verdict", "kind"),
    [
        ({}, "online", "consumer"),
        ({"members": 0, "protocol": None, "protocol_type": None}, "replaced", "consumer"),
        ({"reason": "malformed_subscription"}, "after_stop", "consumer"),
        ({"reason": "assignor_user_data"}, "after_stop", "consumer"),
        ({"reason": "streams_application", "protocol": "stream"}, "streams_after_stop", "streams_application"),
        ({"reason": "protocol_type", "protocol_type": "connect"}, "not_a_consumer", "connect"),
        ({"reason": "protocol_type", "protocol_type": "sr"}, "not_a_consumer", "other"),
        ({"reason": "duplicate_instance, malformed_subscription"}, "unloadable", "consumer"),
        ({"reason": "duplicate_member"}, "unloadable", "consumer"),
    ],
)
def test_the_verdict_about_a_classic_group(found, columns, verdict, kind) -> None:
    made = Fleet()
    made.classic("g", **columns)
    ((group,),) = [found(made).groups]
    assert (group.verdict, group.kind) == (verdict, kind)
    assert group.size_needed == (3 if verdict == "online" else None)


def test_a_group_whose_record_is_lost_is_unknown(found) -> None:
    made = Fleet()
    made.classic("g")
    made.rows["group_state"][0] |= {"upgradable": None}
    ((group,),) = [found(made).groups]
    assert group.verdict == "unknown"


def test_an_application_of_streams_that_is_empty_is_still_one(found) -> None:
    made = Fleet()
    made.classic("g", 0, protocol="stream")
    ((group,),) = [found(made).groups]
    assert (group.kind, group.verdict) == ("streams_application", "streams_after_stop")
    assert group.meaning.endswith(f"on brokers from {FIRST_WITH_STREAMS} on")


@pytest.mark.parametrize(("protocol_type", "kind"), [("connect", "connect"), ("sr", "other")])
def test_a_group_that_has_no_other_protocol_cannot_move_when_it_is_empty(printed, protocol_type, kind) -> None:
    made = Fleet()
    made.classic("workers", 0, protocol=None, protocol_type=protocol_type)
    code, out, err = printed(made, "--json", "--require-upgradable", "*")
    ((group,),) = [json.loads(out)["groups"]]
    assert (group["kind"], group["verdict"]) == (kind, "not_a_consumer")
    why = "no other protocol exists, as for Kafka Connect (not_a_consumer; cluster c, partition 0)"
    assert (code, err) == (1, f"workers cannot move now: {why}\n")


@pytest.mark.parametrize("protocol_type", ["", "consumer", None])
def test_an_empty_group_of_consumers_is_replaced(found, protocol_type) -> None:
    made = Fleet()
    made.classic("g", 0, protocol=None, protocol_type=protocol_type)
    ((group,),) = [found(made).groups]
    assert group.verdict == "replaced"


def test_the_verdicts_are_in_the_order_of_the_question(found) -> None:
    made = Fleet()
    made.classic("empty", 0, protocol=None)
    made.classic("app", protocol="stream", reason="streams_application")
    made.classic("java")
    made.mixed("half", 1, {"client_id": "old"})
    fleet = found(made)
    verdicts = [row.verdict for row in fleet.groups]
    assert verdicts == ["mixed", "online", "replaced", "streams_after_stop"]
    assert [line.rpartition("(")[2].rstrip(")") for line in section(fleet, "2 of 3").notes] == verdicts


def test_each_reason_names_the_member_and_its_client(found) -> None:
    made = Fleet()
    made.classic("go", reason="malformed_subscription", subscription_error="version 1 ends before ownedPartitions")
    made.rows["classic_member"][0]["subscription_error"] = None
    fleet = found(made)
    assert [(each.reason, each.member_id, each.client_id, each.client_host) for each in fleet.reasons] == [
        ("malformed_subscription", "go-1", "go-app-1", "/192.0.2.1")
    ]
    ((reason, groups, _, _, names, _, clients),) = section(fleet, "Cannot move").cells.rows
    assert (reason, groups, names, clients) == ("malformed_subscription", "1", ("go",), ("go-app-1 @ 192.0.2.1",))
    assert section(fleet, "What the move changes").cells.rows[-1][0] == "a client that writes malformed bytes"


def test_who_is_left_in_a_group_that_is_half_way(found) -> None:
    made = Fleet()
    made.mixed("half", 1, {"client_id": "old", "client_host": "/192.0.2.9", "instance_id": "i1"})
    made.rows["group_migration"] = [
        {"group_id": "half", "direction": "upgrade", "from_type": "classic", "at": AT - timedelta(hours=3)}
    ]
    made.mixed("stuck", 0, {"client_id": "older"})
    made.mixed("moved", 2)
    made.mixed("new", 1)
    upgraded = {"direction": "upgrade", "from_type": "classic", "at": AT - timedelta(hours=9)}
    made.rows["group_migration"] += [upgraded | {"group_id": each} for each in ("stuck", "moved")]
    fleet = found(made)
    assert [(row.groups, row.members, row.moved) for row in fleet.others] == [(2, 3, 1)]
    assert "2 consumer groups without classic members, 1 of them from the classic protocol" in sections_text(fleet)
    assert [(row.group_id, group.verdict, row.client_id) for group, row in fleet.left] == [
        ("half", "mixed", "old"),
        ("stuck", "only_classic", "older"),
    ]
    left = section(fleet, "Half-way")
    assert left.cells.rows[0][:4] == (
        "half",
        "1 classic, 1 consumer",
        "2026-03-01 09:00:00 UTC",
        "old @ 192.0.2.9 (instance i1)",
    )
    assert any(note.startswith("half: has one consumer member") for note in left.notes)
    assert any(note.startswith("stuck: no member left") for note in left.notes)


@pytest.mark.parametrize(
    ("how", "because"),
    [
        ("downgraded", "the last consumer member left"),
        ("replaced", "a classic member took the place of a static one"),
        (None, "the log does not show why"),
    ],
)
def test_why_a_group_went_back(found, how, because) -> None:
    made = Fleet()
    made.classic("back", 1)
    made.rows["membership"][0] |= {"joined_offset": 9, "joined_how": how}
    change = {"group_id": "back", "direction": "downgrade", "from_type": "consumer", "offset": 9, "at": AT}
    made.rows["group_migration"] = [change | {"converted": 1}]
    assert section(found(made), "Went back").cells.rows == [("back", "2026-03-01 12:00:00 UTC", "1", because)]


def test_applications_are_named_without_what_changes_from_member_to_member(found) -> None:
    made = Fleet()
    made.classic("orders", client_id="billing-2f1c9a4e-7c1d-4a53-9d0e-3c5b2f7a9e11")
    made.classic("refunds", client_id="billing-0a9b8c7d-7c1d-4a53-9d0e-3c5b2f7a9e12")
    made.classic("audit-7", client_id="consumer-audit-7-1")
    names = {app["application"]: app["groups"] for app in applications(found(made))}
    assert names == {"billing-*": ["orders", "refunds"], "audit-*": ["audit-7"]}


def test_what_the_move_changes(found) -> None:
    made = Fleet()
    made.classic("never", rebalance_timeout_ms=2**31 - 1, session_timeout_ms=45_000)
    made.classic("short", session_timeout_ms=10_000, protocol="mine")
    made.classic("long", session_timeout_ms=60_000, protocol="range", rebalance_timeout_ms=300_000)
    made.classic("usual", session_timeout_ms=45_000, protocol="sticky", rebalance_timeout_ms=300_000)
    rows = {row[0]: str(row[2]) for row in section(found(made), "What the move changes").cells.rows}
    assert rows == {
        "assignor range": "long, never",
        "assignor of its own": "short",
        "sticky or round-robin assignor": "usual",
        "session timeout": "long, short",
        "max.poll.interval.ms of 2^31 - 1": "never",
    }


def test_a_fleet_of_2000_groups_names_the_ten_to_begin_with_and_all_that_cannot_move(found) -> None:
    made, truth = large()
    fleet = found(made)
    assert {row.group_id for row in fleet.canaries} == truth["canaries"]
    by_reason = {row[0]: int(row[1]) for row in section(fleet, "Cannot move while").cells.rows}
    assert by_reason == {
        "malformed_subscription": len(truth["malformed"]),
        "streams_application": len(truth["streams"]),
    }
    ((reason, groups, *_),) = section(fleet, "Cannot move at all").cells.rows
    assert (reason, int(groups)) == ("protocol_type", len(truth["connect"]))
    assert fleet.gaining[0].group_id.startswith(("own-", "static-"))
    assert not {row.group_id for row in fleet.gaining} & truth["malformed"]
    assert len(fleet.groups) == 2000


def test_json_has_every_group_with_its_reasons(found) -> None:
    made = Fleet()
    made.classic("go", reason="malformed_subscription", subscription_error="cut")
    made.classic("java", rebalances=20)
    answer = json.loads(json.dumps(as_json(found(made)), default=plain_text))
    groups = {each["group_id"]: each for each in answer["groups"]}
    assert [each["client_id"] for each in groups["go"]["reasons"]] == ["go-app-0", "go-app-1"]
    assert (groups["java"]["reasons"], groups["java"]["stopped_per_hour"]) == ([], 12.0)
    assert groups["java"]["conditions"] == ["policy", "size_needed"]
    assert answer["plan"] == {"canaries": ["java"], "gain_most": []}
    assert answer["verdicts"] == {"online": 1, "after_stop": 1}


def test_a_group_id_of_two_partitions_is_two_groups(found) -> None:
    made = Fleet()
    made.classic("go", reason="malformed_subscription", subscription_error="cut")
    made.classic("go", rebalances=20)
    half = len(made.rows["membership"]) // 2
    for name, rows in made.rows.items():
        for row in rows[half if name in {"membership", "classic_member"} else 1 :] if name != "rebalance" else rows:
            row["partition"] = 1
    groups = {each["partition"]: each for each in as_json(found(made))["groups"]}
    assert [(groups[nth]["verdict"], len(groups[nth]["reasons"])) for nth in (0, 1)] == [
        ("after_stop", 2),
        ("online", 0),
    ]


def test_the_command_prints_the_plan_in_each_form(printed) -> None:
    made = Fleet()
    made.classic("java", rebalances=20)
    made.classic("go|<b>", reason="malformed_subscription", subscription_error="cut")
    code, out, _ = printed(made)
    assert code == 0
    assert "1 of 2 classic groups can move now" in out
    assert "Begin with these" in out


def test_markdown_writes_ids_as_code(printed) -> None:
    made = Fleet()
    made.classic("go|<b>", reason="malformed_subscription", subscription_error="cut")
    code, out, _ = printed(made, "--markdown")
    assert code == 0
    assert "`go\\|<b>`" in out
    assert "### Cannot move while their members run" in out


@pytest.mark.parametrize(
    ("pattern", "code", "said"),
    [
        ("java*", 0, ""),
        ("ha?f", 0, ""),
        ("*", 1, GO_CANNOT.format("c")),
    ],
)
def test_a_pipeline_can_require_that_groups_can_move(printed, pattern, code, said) -> None:
    made = Fleet()
    made.classic("java-1")
    made.classic("go", reason="malformed_subscription", subscription_error="cut")
    made.mixed("half", 1, {"client_id": "old"})
    found, _, err = printed(made, "--require-upgradable", pattern)
    assert (found, err) == (code, said)


def test_a_group_that_cannot_move_is_named_with_its_cluster(tmp_path, capsys) -> None:
    for cluster in ("a", "b"):
        made = Fleet()
        made.classic("go", reason="malformed_subscription", subscription_error="cut")
        made.write(tmp_path, cluster)
    assert main(["migration", str(tmp_path), "--quiet", "--require-upgradable", "*"]) == 1
    assert capsys.readouterr().err == GO_CANNOT.format("a") + GO_CANNOT.format("b")


def test_a_pattern_that_matches_no_group_is_an_error(printed) -> None:
    made = Fleet()
    made.classic("java")
    code, out, err = printed(made, "--require-upgradable", "jawa*")
    assert (code, out) == (2, "")
    assert err.startswith("error: --require-upgradable jawa* matches no group\n")


def test_a_release_says_what_it_loads_and_lacks(printed) -> None:
    made = Fleet()
    made.classic("app", protocol="stream", reason="streams_application")
    made.rows["refused_record"] = [
        {"group_id": "app", "offset": 7, "record_type": 17, "seen": "no", "refused_by": ["4.1.1"], "is_proven": True}
    ]
    code, out, _ = printed(made, "--release", "4.1.1", "--json")
    answer = json.loads(out)["release"]
    assert code == 0
    assert (answer["evaluated_as"], answer["partitions_loaded"]) == ("4.1.1", 0)
    assert [(each["verdict"], each["offset"]) for each in answer["findings"]] == [("refused", 7)]


@pytest.mark.parametrize(
    ("release", "named"),
    [
        ("3.9.0", {"KAFKA-18134"}),
        ("3.9.1-old", set()),
        ("3.8.1", set()),
        ("4.0.0", {"KAFKA-20662", "KAFKA-19720", "KAFKA-19546"}),
        ("4.1.1", {"KAFKA-20662", "KAFKA-19720", "KAFKA-19570"}),
        ("4.4.0", set()),
    ],
)
def test_a_release_has_the_bugs_that_its_groups_can_meet_once(printed, release, named) -> None:
    made = Fleet()
    made.classic("own", reason="assignor_user_data", user_data_bytes=9)
    made.classic("go", reason="malformed_subscription", subscription_error="cut")
    made.classic("static", instance_id="i")
    made.classic("app", protocol="stream", reason="streams_application")
    code, out, _ = printed(made, "--release", release)
    assert code == 0
    assert {name for name in KNOWN_BUGS if f"{name}:" in out} == named
    assert out.count("KAFKA-18134") == ("KAFKA-18134" in named)
    assert ("this coordinator has no consumer protocol: no group can move there" in out) == release.startswith(
        ("3.8", "3.9.1-")
    )
    assert ("migration policy is disabled there by default" in out) == (release == "3.9.0")


@pytest.mark.parametrize("release", ["3.9.1", "4.0.0", "4.1.1"])
def test_a_release_has_no_bug_of_which_the_log_has_nothing(printed, release) -> None:
    made = Fleet()
    made.classic("app")
    out = printed(made, "--release", release)[1]
    assert not [name for name in KNOWN_BUGS if f"{name}:" in out]


def test_a_value_of_an_unknown_version_names_its_bug(printed) -> None:
    made = Fleet()
    made.classic("app")
    made.rows["quarantine"] = [
        {"partition": 0, "offset": 5, "key_type": 3, "error_code": "value_unknown_version", "position": 0}
    ]
    assert "KAFKA-18672:" in printed(made, "--release", "3.9.0")[1]


def test_what_a_release_loads_is_not_certain_if_commits_were_not_read(printed) -> None:
    made = Fleet()
    made.classic("app")
    made.rows["partition_history"] = [{"partition": 0, "is_base": True, "log_start_missing": False, "copy": "c"}]
    _, out, _ = printed(made, "--release", "4.1.2")
    assert "Kafka 4.1.2 loads 1 of 1 partition\n  - evaluated by its fixes: 4.1.2 was not tried\n" in out
    assert "records of offset commits are not looked at" in " ".join(out.split())


def test_json_has_what_a_release_was_not_asked_about(printed) -> None:
    made = Fleet()
    made.classic("app")
    _, out, _ = printed(made, "--release", "4.1.2", "--json")
    (without,) = json.loads(out)["release"]["without"]
    assert "records of offset commits are not looked at" in without


def test_what_a_release_loads_is_certain_if_commits_were_read(printed) -> None:
    made = Fleet()
    made.classic("app")
    made.rows["partition_history"] = [{"partition": 0, "is_base": True, "log_start_missing": False, "copy": "c"}]
    made.rows["latest_state"] = []
    _, out, _ = printed(made, "--release", "4.1.1", run={"offset_commits": True})
    assert "Kafka 4.1.1 loads 1 of 1 partition for certain\n" in out


def test_a_query_that_fails_is_a_fault_of_the_command(printed, monkeypatch) -> None:
    made = Fleet()
    made.classic("app")
    monkeypatch.setattr(loadable_by, "rendered", lambda *_, **__: "SELECT verdict FROM no_table_of_this_name")
    code, out, err = printed(made, "--release", "4.1.1")
    assert (code, out) == (70, "")
    assert "no_table_of_this_name" in err


def test_the_page_names_the_groups_to_begin_with_and_those_that_cannot_move(tmp_path) -> None:
    made = Fleet()
    made.classic("java", rebalances=20)
    for nth in range(5):
        made.classic(f"go-{nth}", reason="malformed_subscription", subscription_error="cut")
    made.rows = dict.fromkeys(TABLES.keys() - {"log", "audit_runs"}, ()) | made.rows
    made.write(tmp_path)
    html = page(contents(DuckTables(str(tmp_path)))).html
    assert '<a href="#at=move1">1 of 6 classic groups can move now, as far as the log shows</a>' in html
    section = html[html.index('id="move1"') :]
    first, refused = section[: section.index("kip848 migration")].split("Cannot move while their members run")
    assert ">java<" in first
    assert ">go-" not in first
    assert [f">go-{nth}<" in refused for nth in range(5)] == [True] * 5
    assert "go-0-app-0 @ 192.0.2.0" in refused
    assert "replace the clients that write it" in refused
    assert "group.consumer.migration.policy must allow upgrades" in refused


def test_a_group_to_move_with_care_says_so_and_columns_without_a_value_are_left_out(found) -> None:
    made = Fleet()
    for nth in range(11):
        made.classic(f"first-{nth}", 2, rebalances=30)
    made.classic("static", 2, rebalances=50, instance_id="i", protocol="mine")
    gaining = section(found(made), "Then those that gain most").cells
    care = gaining.columns.index("take care")
    assert {row[0]: row[care] for row in gaining.rows}["static"] == "static members, assignor of its own"
    assert "take care" not in section(found(made), "Begin with these").cells.columns


def test_the_page_of_groups_of_the_new_protocols_has_no_such_section(tmp_path) -> None:
    made = Fleet()
    made.mixed("moved", 2)
    made.rows = dict.fromkeys(TABLES.keys() - {"log", "audit_runs"}, ()) | made.rows
    made.write(tmp_path)
    assert "Move to the consumer protocol" not in page(contents(DuckTables(str(tmp_path)))).html


def test_members_without_a_common_assignor_are_named(found) -> None:
    made = Fleet()
    made.mixed("half", 1, {"classic_protocols": ["range"]}, {"classic_protocols": ["mine"]})
    made.mixed("fine", 1, {"classic_protocols": ["range"]}, {"classic_protocols": ["mine", "range"]})
    notes = section(found(made), "Half-way").notes
    assert [note.partition(":")[0] for note in notes if "no assignor in common" in note] == ["half"]


def test_the_check_finds_the_groups_that_the_command_refuses(printed, tmp_path) -> None:
    made, file = Fleet(), tmp_path / "check.json"
    made.mixed("half", 1, {"client_id": "old"})
    made.classic("java")
    made.classic("empty", 0, protocol=None)
    made.classic("go", reason="malformed_subscription")
    made.classic("workers", 0, protocol=None, protocol_type="connect")
    made.classic("unread")
    made.rows["group_state"][-1]["upgradable"] = None
    _, _, err = printed(made, "--require-upgradable", "*")
    refused = {line.partition(" ")[0] for line in err.splitlines()}
    assert main(["check", str(tmp_path), "--select", "upgradable", "--quiet", "--json", str(file)]) == 1
    (result,) = json.loads(file.read_text())["expectations"]
    assert {each["group_id"] for each in result["violations"]} == {"go", "workers"}
    assert {each["group_id"] for each in result["unknown"]} == {"unread"}
    assert refused == {"go", "workers", "unread"}
    assert result["passed"] == 3


def test_a_time_without_an_owner_and_a_stop_that_are_not_known_are_empty(found) -> None:
    made = Fleet()
    made.classic("g", rebalances=1)  # without unowned_ms
    stop = {"group_id": "g", "group_type": "classic", "kind": "changed", "history": "observed", "is_idle": False}
    made.rows["consumption_stop"] = [stop | {"stop_max_ms": None}]
    (row,) = found(made).groups
    assert (row.rebalances, row.unowned_ms, row.stop_max_p95_ms) == (1, None, None)

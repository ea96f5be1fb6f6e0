"""Whether a named release can load each partition: what the check says, and what Kafka's coordinators answered."""

import gzip
import json
from base64 import b64decode
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kip848_records.cli import main
from kip848_records.errors import InputError
from kip848_records.expectations.files import Setting
from kip848_records.expectations.loadable_by import loadable_by
from kip848_records.queries.duck import DuckTables
from kip848_records.queries.texts import completed
from kip848_records.replay import refusals
from tests.expectations.evaluated import evaluated
from tests.expectations.logs import PASS, UNKNOWN, VIOLATION
from tests.made_tables import write

LOGS = Path(__file__).parents[1] / "replay" / "loadable" / "logs.jsonl.gz"
REFUSED = {"group_id": "g", "record_type": 8, "seen": "no", "refused_by": ["4.0.0", "4.1.1"], "offset": 7}
# Which groups consist of offset commits is known for groups of types that refuse them in a release from 4.0 on.
BEHIND_COMMITS = {"kafka-17306-behind-commits", "r000022"}
# 3.9 reads such a value by another version, and may load it.
READ_BY_3_9 = {"value-version-1-of-3", "value-version-5-of-1", "value-version-5-of-2", "value-version-negative"}


@pytest.fixture
def found(tmp_path):
    """The verdicts about partition 0 of made tables, with the offsets."""

    def found(release, *, is_whole=False, **tables):
        names = ("refused_record", "group_state", "group_state_timeline", "quarantine", "unknown_record")
        history = {"partition": 0, "is_base": True, "log_start_missing": not is_whole, "copy": "c"}
        run = {"run": 1, "dialect": "kafka", "captured_at": datetime(2026, 1, 1, tzinfo=UTC)}
        rows = dict.fromkeys(names, ()) | {"partition_history": [history]} | tables
        write(tmp_path, "c", audit_runs=[run], **rows)
        rows = evaluated(DuckTables(str(tmp_path)), loadable_by(release), Setting())
        return [(row.verdict, row.severity, row.offset, row.message) for row in rows]

    return found


def test_a_release_refuses_a_partition_by_its_first_certain_record(found) -> None:
    rows = [REFUSED | {"is_proven": True}, REFUSED | {"offset": 3, "is_proven": False}]
    ((verdict, severity, offset, message),) = found("4.1.1", refused_record=rows)
    assert (verdict, severity, offset) == (VIOLATION, "error", 7)
    assert message.startswith("Kafka 4.1.1 does not load partition 0, with 0 groups: the record of type 8 at offset 7")


def test_a_refusal_that_missing_records_may_explain_is_unknown(found) -> None:
    ((verdict, _, _, message),) = found("4.1.1", refused_record=[REFUSED | {"is_proven": False}])
    assert verdict == UNKNOWN
    assert "or records are missing here" in message


def test_a_whole_partition_is_what_a_broker_loads(found) -> None:
    ((verdict, *_),) = found("4.1.1", is_whole=True, refused_record=[REFUSED | {"is_proven": False}])
    assert verdict == VIOLATION


@pytest.mark.parametrize(("is_whole", "verdict"), [(True, PASS), (False, UNKNOWN)])
def test_without_a_refused_record_a_partition_is_loaded_if_nothing_is_missing(found, is_whole, verdict) -> None:
    ((said, *_),) = found("4.2.0", is_whole=is_whole, refused_record=[REFUSED])
    assert said == verdict


def test_a_release_that_does_not_know_a_group_loses_it(found) -> None:
    groups = [{"group_id": "s", "group_type": "streams"}, {"group_id": "g", "group_type": "consumer"}]
    (passed, (verdict, severity, _, message)) = sorted(found("4.0.0", is_whole=True, group_state=groups))
    assert passed[0] == PASS
    assert (verdict, severity) == (VIOLATION, "warn")
    assert "this streams group" in message
    assert message.endswith(
        "its committed offsets stay. Stop its members before; do not delete it: that deletes its offsets too."
    )


def test_of_a_share_group_that_is_lost_no_offsets_are_named(found) -> None:
    groups = [{"group_id": "s", "group_type": "share"}]
    ((_, _, _, message), *_) = [each for each in found("3.9.1", group_state=groups) if each[0] == VIOLATION]
    assert message.endswith("share group: it is gone there. Stop its members before.")


@pytest.mark.parametrize("bug", [None, *(name for name, bug in refusals.KNOWN_BUGS.items() if bug.ends_load)])
def test_who_is_told_to_delete_a_group_is_told_that_its_offsets_go(found, bug) -> None:
    ((_, _, _, message),) = found("4.1.1", refused_record=[REFUSED | {"is_proven": True, "bug": bug}])
    step = message[message.index(": no") :]
    assert "delete the group" not in step.lower() or "deletes its offsets" in step


def test_a_value_of_an_unknown_version_is_refused_from_4_0_on(found) -> None:
    row = {"partition": 0, "offset": 5, "key_type": 3, "error_code": "value_unknown_version", "position": 0}
    assert [each[0] for each in found("4.0.0", quarantine=[row])] == [VIOLATION]


def test_3_9_reads_a_value_of_an_unknown_version_as_another(found) -> None:
    row = {"partition": 0, "offset": 5, "key_type": 3, "error_code": "value_unknown_version", "position": 0}
    assert [each[0] for each in found("3.9.1", quarantine=[row])] == [UNKNOWN]


def test_a_release_ignores_what_does_not_decode_of_a_type_that_it_does_not_know(found) -> None:
    row = {"partition": 0, "offset": 5, "key_type": 17, "error_code": "value_truncated", "position": 0}
    assert [each[0] for each in found("4.0.0", is_whole=True, quarantine=[row])] == [PASS]


@pytest.mark.parametrize(
    ("release", "said"),
    [
        ("4.1.1", ""),
        ("4.1.2", ", evaluated by its fixes: 4.1.2 was not tried"),
        ("4.0.9", ", evaluated as 4.0.2: 4.0.9 was not tried, nor was 4.0.2"),
        ("5.0.0", ", evaluated as 4.4.0: 5.0.0 was not tried"),
        ("3.9.1", ", with the consumer protocol turned on there"),
        ("3.9", ", evaluated as 3.9.1: 3.9 was not tried, with the consumer protocol turned on there"),
        ("3.8.1", ", evaluated as the default coordinator of 3.9"),
        ("3.9.1-old", ""),
    ],
)
def test_another_release_than_one_that_was_tried_says_by_which_it_is_judged(release, said) -> None:
    assert loadable_by(release).description == f"Kafka {release} can load every partition of the log{said}"


def test_a_release_counts_as_tried_if_its_coordinator_gave_answers() -> None:
    with gzip.open(LOGS, "rt", encoding="utf-8") as lines:
        assert set(refusals.TRIED) == {release for log in lines for release in json.loads(log)["refused"]}


def test_what_is_no_release_is_refused() -> None:
    with pytest.raises(InputError, match="'five' is not a release of Kafka from"):
        loadable_by("five")


@pytest.mark.slow
def test_the_command_answers_as_the_coordinators_of_all_releases(tmp_path, capsys) -> None:
    with gzip.open(LOGS, "rt", encoding="utf-8") as lines:
        logs = [log for log in map(json.loads, lines) if not log["name"].startswith("value ")]
    for nth, log in enumerate(logs):
        folder = tmp_path / "log" / f"__consumer_offsets-{nth}"
        folder.mkdir(parents=True)
        (folder / f"{0:020}.log").write_bytes(b64decode(log["log"]))
    out, file = str(tmp_path / "out"), tmp_path / "check.json"
    assert main(["audit", str(tmp_path / "log"), "--out", out, "--offset-commits", "--quiet"]) == 0
    compared = 0
    for release in refusals.LOADERS:
        assert main(["check", out, "--release", release, "--quiet", "--json", str(file)]) == 1
        (result,) = json.loads(file.read_text())["expectations"]
        refused = {each["partition"]: each["offset"] for each in result["violations"] if each["severity"] == "error"}
        unknown = {logs[each["partition"]]["name"] for each in result["unknown"]}
        assert unknown == (READ_BY_3_9 if release == "3.9.1" else set())
        for nth, log in enumerate(logs):
            known = release in log["refused"] and log["name"] not in unknown
            if known and not (release == "3.9.1" and log["name"] in BEHIND_COMMITS):
                assert refused.get(nth) == log["refused"][release], (release, log["name"])
                compared += 1
    capsys.readouterr()
    assert compared > 1500
    verdicts = "SELECT partition, group_id, verdict FROM migration_now"
    found = DuckTables(out).rows(completed(verdicts), "default")
    converted = {
        (row.partition, row.group_id): row.verdict in {"online", "replaced"}
        for row in found
        if row.verdict not in {"mixed", "only_classic"}
    }
    answers = {(nth, group): can for nth, log in enumerate(logs) for group, can in log.get("converts", {}).items()}
    both = answers.keys() & converted.keys()
    wrong = {logs[nth]["name"] for nth, group in both if answers[nth, group] != converted[nth, group]}
    # Kafka converts it in the moment before its members have an assignment.
    assert wrong == {"convert-streams-application-not-synced"}
    assert len(both) == len(answers)


def test_the_command_refuses_what_is_no_release(capsys) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["check", "out", "--release", "newest"])
    assert ended.value.code == 2
    assert "'newest' is not a release of Kafka from 3.5 on, such as 4.1.1" in capsys.readouterr().err

"""A topic whose name is not known: members own ids, commits name topics, and those of Kafka before 4.3 have no ids."""

import json
from base64 import b64decode, b64encode

import pytest

from kip848_records.expectations import EXPECTATIONS
from kip848_records.expectations.files import Setting
from kip848_records.pipeline.audit import run_audit
from kip848_records.pipeline.names import read_topics_file
from kip848_records.pipeline.options import AuditOptions
from kip848_records.protocol.encode import encode_message
from kip848_records.protocol.messages import RECORDS
from kip848_records.queries.texts import completed
from tests import reported
from tests.expectations.evaluated import evaluated
from tests.progress import Watcher

NAME = "delete-offsets-of-a-live-group"
OFFSETS_PARTITION = 28  # of billing-consumer
PAYMENTS = "HuiO6UCuf9_Zk-e-slLt_A"
RULES = {each.name: each for each in EXPECTATIONS}


def without_ids(row):
    """Return a row as a broker before 4.3 wrote it: a commit without the topic's id."""
    key, value = b64decode(row["key"]), row["value"] and b64decode(row["value"])
    if key[:2] != b"\0\1" or not value:
        return row
    offset = int.from_bytes(value[2:10], signed=True)
    layout = RECORDS[1].value_layouts(3)[0]
    commit = {"offset": offset, "leaderEpoch": -1, "metadata": "", "commitTimestamp": row["timestamp"]}
    return row | {"value": b64encode(encode_message(layout, commit)).decode()}


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    file = reported.unpacked(NAME, tmp_path_factory.mktemp("without-ids"))
    rows = [row for row in map(json.loads, file.read_text().splitlines()) if row["partition"] == OFFSETS_PARTITION]
    file.write_text("".join(f"{json.dumps(without_ids(row))}\n" for row in rows))
    return file


def audited(log, out, topics):
    options = {"topics": topics, "cluster": "c", "offset_commits": True}
    run_audit(None, AuditOptions((str(log),), str(out), **options), Watcher())
    return reported.tables_of(out)


@pytest.fixture(scope="module")
def unnamed(log, tmp_path_factory):
    return audited(log, tmp_path_factory.mktemp("unnamed") / "out", {})


@pytest.fixture(scope="module")
def named(log, tmp_path_factory):
    topics = read_topics_file(str(reported.FOLDER / f"{NAME}.topics.json"))
    return audited(log, tmp_path_factory.mktemp("named") / "out", topics)


def states(tables):
    rows = tables.rows(completed("SELECT * FROM consumption_now"), "c")
    return {(row.topic, row.partition): row.state for row in rows}


@pytest.mark.slow
def test_what_is_owned_is_not_called_uncommitted(unnamed, named):
    assert states(unnamed) == {(PAYMENTS, partition): "unnamed_topic" for partition in range(4)}
    assert states(named) == {("payments", partition): "progress" for partition in range(4)}


def test_commits_of_a_name_may_be_the_owner_s(unnamed, named):
    """Its id may be one of those that members own: no commit is called one that no member owned."""
    rows = unnamed.rows("SELECT * FROM commit_progress WHERE commits > 0", "c")
    assert {(row.owner, row.is_unnamed) for row in rows} == {("unknown", False)}
    rows = named.rows("SELECT * FROM commit_progress WHERE commits > 0", "c")
    assert {(row.owner, row.is_unnamed) for row in rows} == {("member", False)}


@pytest.mark.slow
def test_explain_says_what_to_pass(unnamed, capsys):
    said = reported.printed(capsys, "explain", unnamed.shown, "--group", "billing-consumer")
    assert f"{PAYMENTS} 0-1 progress: its name is not in this log, and commits name topics: pass --topics" in said
    assert "nothing committed" not in said
    assert "commits nothing" not in said


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["owned_not_consumed", "blocked_by_transaction"])
def test_what_nobody_can_see_does_not_pass(unnamed, named, rule):
    for tables, verdict in ((unnamed, "unknown"), (named, "pass")):
        rows = evaluated(tables, RULES[rule], Setting("error", {"min_silence": 0}))
        assert [row.verdict for row in rows] == [verdict] * 4

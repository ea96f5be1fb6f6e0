"""Logs made after public reports, and captures: what is told of each group, and of the healthy ones nothing."""

import json
from base64 import b64decode

import pytest

from tests.protocol.samples import read_capture
from tests.replay.diagnosis.scripted import diagnosed
from tests.replay.log_batches import CAPTURES, group_rows

FOLDER = CAPTURES[0].parent / "reports"
COMMITS = (b"\0\0", b"\0\1")
TOLD = {
    "duplicate-instance-id-classic": {("dup-instance", "duplicate_instance_id", "error", 19)},
    "poll-timeout-loop": {("poll-timeout-loop", "leaves_and_returns", "warning", 5)},
    "members-without-partitions": {
        ("regex-nothing", "no_topic", "warning", 1),
        ("regex-unresolved", "no_topic", "warning", 1),
        ("share-no-topic", "no_topic", "warning", 1),
        ("typo-topic", "no_topic", "warning", 1),
    },
}


def decoded(name):
    lines = (FOLDER / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    for row in map(json.loads, lines):
        yield row | {field: row[field] and b64decode(row[field]) for field in ("key", "value")}


SHORT_LIVED = {
    ("churn", "restart_loop", 7),
    ("churn", "restart_loop", 9),
    ("g-churn", "restart_loop", 10),
}
"""The captures' clients that come and go each few seconds, side by side: true of those logs."""


def alarms(log):
    """The alarms of a log: group, pattern, severity, count."""
    rows = diagnosed(group_rows(log), max(row["timestamp"] for row in log))
    return {
        (row["group_id"], row["pattern"], row["severity"], row["count"]) for row in rows if row["severity"] != "info"
    }


@pytest.mark.parametrize("name", sorted(path.stem for path in FOLDER.glob("*.jsonl")))
def test_what_is_told_of_a_report(name):
    log = list(decoded(name))
    has_group = any(row["key"][:2] not in COMMITS for row in log)
    assert (alarms(log) if has_group else set()) == TOLD.get(name, set())


@pytest.mark.parametrize("capture", CAPTURES, ids=lambda capture: capture.name)
def test_what_is_told_of_a_capture(capture):
    found = {(group_id, pattern, count) for group_id, pattern, _, count in alarms(list(read_capture(capture)))}
    assert len(found) == 1
    assert found <= SHORT_LIVED

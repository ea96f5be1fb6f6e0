"""The diagnosis of groups of a real broker (Kafka 4.3.1) whose clients crash, miss their polls, or are deployed.

`brokers/twelve-minutes.parquet` is the log of `tests.live.clients_in_trouble.all_at_once` with members that worked for
ten minutes before they were deployed; its sessions of 5 and 6 s are too short to tell who was killed. In
`brokers/default-sessions.parquet` a process is killed each ten seconds, and members have sessions of 45 s; `c` groups
have the consumer protocol, `k` groups the classic one, and the number says how many other members each has.

`brokers/never-settles.parquet` is of Kafka 4.4.0: a member was killed each 24 s for 43 minutes, so that all of it is
one rebalance of 212 epochs, which began before the loop. Its last corpse left 0.3 s before the capture.
"""

import io
from contextlib import redirect_stdout
from datetime import timedelta
from pathlib import Path

import pytest

from kip848_records.cli import main
from tests.audits import audit_file, table_rows

FOLDER = Path(__file__).parent / "brokers"
NEVER_SETTLES = FOLDER / "never-settles.parquet"
CAPTURED_AT = "2026-11-28T20:58:43Z"
EXPECTED = {
    "twelve-minutes": {
        "crashes-classic": ("restart_loop", "killed_or_ended", "billing-worker", 7),
        "crashes-consumer": ("restart_loop", "killed_or_ended", "billing-worker", 7),
        "polls-classic": ("restart_loop", "poll_timeout", "slow-classic", 8),
        "polls-consumer": ("leaves_and_returns", "poll_timeout", "slow-consumer", 7),
        "deployed-classic": ("rolling_restart", "deployment", "orders-*", 6),
        "deployed-consumer": ("rolling_restart", "deployment", "orders-*", 6),
    },
    # `k0` is not among them: its process always dies before its generation is complete, and leaves nothing in the log.
    "default-sessions": {
        **{f"c{others}": ("restart_loop", "killed", "billing-worker", 23) for others in (0, 1, 3)},
        **{f"k{others}": ("restart_loop", "killed", "billing-worker", 23) for others in (1, 3)},
    },
}


@pytest.mark.parametrize("name", EXPECTED)
def test_each_group_has_its_trouble_and_no_other(tmp_path, name):
    audit_file(tmp_path, "c", FOLDER / f"{name}.parquet")
    rows = table_rows(tmp_path, "diagnosis", "c")
    found = {row["group_id"]: told(row) for row in rows}
    assert found == EXPECTED[name]
    assert len(rows) == len(found)
    assert {row["subject"]["members_of_that_name"] for row in rows if row["pattern"] != "rolling_restart"} == {1}


def told(row):
    """The pattern of a row, its cause, whom it is about, and how often it happened."""
    subject = row["subject"]
    return row["pattern"], row["probable_cause"], subject["client_id"] or subject["what"], row["count"]


@pytest.fixture(scope="module")
def never_settles(tmp_path_factory):
    """The tables of that log, and the summary of its audit."""
    out, printed = tmp_path_factory.mktemp("tables"), io.StringIO()
    with redirect_stdout(printed):
        code = main(["audit", str(NEVER_SETTLES), "--captured-at", CAPTURED_AT, "--out", str(out), "--quiet"])
    assert code == 0
    return out, printed.getvalue().splitlines()


def test_the_worst_loop_is_an_error_by_what_its_group_lost(never_settles):
    tables, _ = never_settles
    (row,) = table_rows(tables, "diagnosis", "default")
    assert told(row) == ("restart_loop", "killed", "shipping-worker", 106)
    assert (row["severity"], row["is_present"], row["rebalances"], row["epochs"]) == ("error", True, 2, 213)
    begin, end = row["first_seen"] - timedelta(minutes=1), row["last_seen"] + timedelta(seconds=90)
    gaps = [
        (gap["released_at"], gap["released_at"] + timedelta(milliseconds=gap["unowned_ms"]))
        for gap in table_rows(tables, "partition_handover", "default")
        if gap["wanted"]
    ]
    lost = [min(end, until) - max(begin, since) for since, until in gaps if since < end and until > begin]
    assert row["unowned_ms"] == row["lost_ms"] == sum(lost, timedelta()) // timedelta(milliseconds=1)
    assert 0.11 < row["cost_share"] < 0.13


def test_a_client_that_is_no_member_any_more_blocks_nobody(never_settles):
    _, printed = never_settles
    stuck = next(line for line in printed if line.startswith("  shipping  "))
    assert stuck.endswith("(restart loop)")

"""The diagnosis of groups of a real broker (Kafka 4.3.1) whose clients crash, miss their polls, or are deployed.

`brokers/twelve-minutes.parquet` is the log of `tests.live.clients_in_trouble.all_at_once` with members that worked for
ten minutes before they were deployed; its sessions of 5 and 6 s are too short to tell who was killed. In
`brokers/default-sessions.parquet` a process is killed each ten seconds, and members have sessions of 45 s; `c` groups
have the consumer protocol, `k` groups the classic one, and the number says how many other members each has.
"""

from pathlib import Path

import pytest

from tests.audits import audit_file, table_rows

FOLDER = Path(__file__).parent / "brokers"
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

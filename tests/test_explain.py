"""One group's story in the terminal, from the audits of the captures."""

import re

import pytest

from kip848_records import cli
from tests.audits import CLUSTERS

STUCK = "kafka-4.3.1"


@pytest.fixture
def explain(audits, capsys):
    """Run the command on the captures' tables: exit code, stdout, stderr."""

    def run(group, *options, cluster=CLUSTERS[STUCK], out=audits.out):
        code = cli.main(["explain", str(out), "--group", group, "--cluster", cluster, *options])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run


def table(printed, title):
    """The rows of the table under a title, each a list of cells."""
    lines = printed[printed.index(title) :].splitlines()[3:]
    rows = lines[: next((n for n, line in enumerate(lines) if not line), len(lines))]
    return [re.split(r"\s{2,}", line.strip()) for line in rows]


def test_a_group_that_is_stuck(explain):
    code, out, err = explain("stuck")
    assert (code, err) == (0, "")
    assert f"Group stuck of cluster {CLUSTERS[STUCK]}: Reconciling since 2026-11-21 08:18:46.358 UTC, for 28 s" in out
    epochs = {row[0]: row for row in table(out, "Epochs:")}
    assert epochs["2"][2:] == ["member_joined", "0 ms", "0 ms", "1", "0", "converged", "observed"]
    assert epochs["3"][-2:] == ["superseded by 4", "right_censored"]
    assert epochs["4"][-2:] == ["open", "right_censored"]
    blocker, waiting, *_ = [row[0] for row in table(out, "Members at assignment epoch 4:")]
    asked = f"  {blocker} (stuck-app, /127.0.0.1): behind for 28 s, has been asked to give up partitions for"
    assert re.search(re.escape(asked) + r" 2\d s of the 5 min that it may take\n", out)
    assert f"  {waiting} (stuck-app, /127.0.0.1): behind for 28 s, waits for 12 partitions\n" in out
    assert f"    clicks 12-23 held by {blocker} (stuck-app, /127.0.0.1)\n" in out


def test_one_epoch(explain):
    code, out, _ = explain("slow-revoke", "--epoch", "4")
    assert code == 0
    ((epoch, *_, to_stable, members, moved, status, _),) = table(out, "Epochs:")
    assert (epoch, to_stable, members, moved, status) == ("4", "7,008 ms", "3", "2", "converged")
    waiting, slow, _ = table(out, "Members at assignment epoch 4:")
    assert waiting[3:7] == ["7,008 ms", "0 ms", "7,008 ms", "reconciled"]
    assert slow[0] in waiting[7]
    assert "Who waits for whom" not in out


def test_a_classic_group_and_one_that_was_deleted(explain):
    assert "Stable since" in (out := explain("classic")[1])
    assert "It has no epochs: classic groups have none" in out
    assert "was deleted; its last state was" in explain("deleted")[1]


def test_a_group_that_is_not_there(explain):
    code, out, err = explain("stuk")
    assert (code, out) == (2, "")
    assert re.fullmatch(r"error: there is no group 'stuk' in \S+\nhint: there is 'stuck'\n", err)
    code, _, err = explain("nobody at all")
    assert (code, err.splitlines()[1]) == (2, "hint: the table group_state lists all groups")


def test_an_epoch_that_is_not_there(explain):
    code, _, err = explain("stuck", "--epoch", "77")
    assert (code, err.splitlines()[0]) == (2, "error: the log has no epoch 77 of group 'stuck'")


def test_several_clusters_with_such_a_group(audits, capsys):
    assert cli.main(["explain", str(audits.out), "--group", "churn"]) == 2
    error, hint = capsys.readouterr().err.splitlines()
    assert error == "error: 2 clusters have a group 'churn'"
    assert all(CLUSTERS[name] in hint for name in ("kafka-4.3.1", "kafka-4.0.0-zstd"))


def test_a_folder_without_tables(explain, tmp_path):
    code, _, err = explain("stuck", out=tmp_path)
    assert (code, err.splitlines()[0]) == (2, f"error: {tmp_path} has no table group_state_timeline")

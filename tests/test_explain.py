"""One group's story in the terminal, from the audits of the captures."""

import re
from datetime import datetime, timedelta, timezone

import pytest
from pyspark.sql import Row

from kip848_records import cli
from kip848_records.explain import _doing
from tests import made_tables
from tests.audits import CLUSTERS

STUCK = "kafka-4.3.1"


@pytest.fixture
def explain(request, capsys, spark):  # noqa: ARG001 - the session that is there is taken
    """Run the command, on the captures' tables unless told otherwise: exit code, stdout, stderr."""

    def run(group, *options, cluster=CLUSTERS[STUCK], out=None):
        out = out or request.getfixturevalue("audits").out
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
    since = "not converged since 2026-11-21 08:18:46.358 UTC, for 28 s"
    assert f"Group stuck of cluster {CLUSTERS[STUCK]}: Reconciling, {since}; consumer protocol, group epoch 4" in out
    epochs = {row[0]: row for row in table(out, "Epochs:")}
    assert epochs["2"][2:] == ["member_joined", "0 ms", "0 ms", "1", "0", "converged", "observed"]
    assert epochs["3"][-2:] == ["superseded by 4", "right_censored"]
    assert epochs["4"][-2:] == ["open", "right_censored"]
    blocker, waiting, *_ = [row[0] for row in table(out, "Members at assignment epoch 4:")]
    asked = f"  {blocker} (stuck-app, /127.0.0.1): behind for 28 s, was asked for 27 s to give up partitions"
    assert f"{asked} (may take 5 min each time)\n" in out
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
    code, out, err = explain("stuck", "--epoch", "77")
    assert (code, out, err.splitlines()[0]) == (2, "", "error: the log has no epoch 77 of group 'stuck'")


def test_several_clusters_with_such_a_group(audits, capsys):
    assert cli.main(["explain", str(audits.out), "--group", "churn"]) == 2
    error, hint = capsys.readouterr().err.splitlines()
    assert error == "error: 2 clusters have a group 'churn'"
    assert all(CLUSTERS[name] in hint for name in ("kafka-4.3.1", "kafka-4.0.0-zstd"))


def test_a_folder_without_tables(explain, tmp_path):
    code, _, err = explain("stuck", out=tmp_path)
    assert (code, err.splitlines()[0]) == (2, f"error: {tmp_path} has no table group_state_timeline")


def at(second):
    return datetime(2026, 1, 1, tzinfo=timezone.utc) + timedelta(seconds=second)


def story(group, **columns):
    return {"group_id": group, "group_type": "consumer", **columns}


@pytest.fixture(scope="module")
def made(classic, tmp_path_factory):
    """A group with two lives, `again`; one that waits for 102 members, `crowd`; one without epochs, `young`.

    And two in two partitions: `moved`, which is gone from one of them, and `twice`.
    """
    out = tmp_path_factory.mktemp("made")
    first_life = [story("again", group_epoch=epoch, members=9, status="deleted") for epoch in range(1, 10)]
    second_life = [story("again", group_epoch=epoch, members=2, incarnation=1, status="open") for epoch in (1, 2, 3)]
    made_tables.write(
        classic,
        out,
        "made",
        group_state_timeline=[
            story("again", state="Stable", from_at=at(0), from_offset=1, to_at=at(50), duration_ms=50_000),
            story("again", incarnation=1, state="Assigning", from_at=at(100), from_offset=5, duration_ms=5_000),
            story("again", incarnation=1, state="Reconciling", from_at=at(105), from_offset=6, duration_ms=55_000),
            story("crowd", state="Reconciling", from_at=at(0)),
            story("young", state="unknown", from_at=at(0), duration_ms=1_000),
            story("moved", partition=50, state="Empty", from_at=at(0), to_at=at(1), duration_ms=1_000),
            story("moved", partition=50, incarnation=1, state="Empty", from_at=at(90), to_at=at(95), duration_ms=5_000),
            story("moved", partition=7, state="Stable", from_at=at(10), duration_ms=150_000),
            story("twice", partition=50, state="Empty", from_at=at(0), duration_ms=160_000),
            story("twice", partition=7, state="Stable", from_at=at(10), duration_ms=150_000),
        ],
        group_state=[
            story("again", incarnation=1, state="Reconciling", since=at(100), group_epoch=3, members=2),
            story("crowd", state="Reconciling", since=at(0), members=102),
            story("young", state="unknown", since=at(0)),
            story("moved", partition=7, state="Stable", since=at(10)),
            story("twice", partition=50, state="Empty", since=at(0)),
            story("twice", partition=7, state="Stable", since=at(10)),
        ],
        epoch_timeline=[
            story("moved", partition=50, group_epoch=50, status="deleted"),
            story("moved", partition=7, group_epoch=3, status="converged"),
            *first_life,
            *second_life,
            story("crowd", group_epoch=2, status="open"),
        ],
        rebalance_lag=[
            {"group_id": "moved", "partition": 50, "group_epoch": 50, "member_id": "old", "status": "left"},
            {"group_id": "moved", "partition": 7, "group_epoch": 3, "member_id": "new", "status": "converged"},
            *({"group_id": "again", "group_epoch": epoch, "member_id": "old", "status": "left"} for epoch in (3, 9)),
            {"group_id": "again", "incarnation": 1, "group_epoch": 3, "member_id": "new", "status": "open"},
            *(
                {"group_id": "crowd", "group_epoch": 2, "member_id": f"m{n:03}", "status": "open", "lag_ms": 60_000}
                for n in range(102)
            ),
        ],
    )
    made_tables.write(classic, out, "other", group_state_timeline=[story("lonely", state="Empty")])
    return out


@pytest.fixture
def explain_made(explain, made):
    def run(group, *options):
        code, out, err = explain(group, *options, cluster="made", out=made)
        assert (code, err) == (0, "")
        return out

    return run


def test_a_group_of_another_cluster(explain, made):
    code, out, err = explain("lonely", cluster="made", out=made)
    assert (code, out, err) == (2, "", "error: cluster 'made' has no group 'lonely'\nhint: pass --cluster: other\n")
    assert explain("lonly", cluster="other", out=made)[2].endswith("hint: there is 'lonely'\n")
    assert explain("lonly", cluster="made", out=made)[2].endswith("hint: the table group_state lists all groups\n")


def test_an_epoch_of_no_life(explain, made):
    code, out, err = explain("again", "--epoch", "10", cluster="made", out=made)
    assert (code, out, err.splitlines()[0]) == (2, "", "error: the log has no epoch 10 of group 'again'")


def test_a_group_that_was_deleted_and_created_again(explain_made):
    out = explain_made("again")
    assert "\nIt was deleted, or became a classic group, 1 time before: the following is of its last life\n" in out
    assert [(row[0], row[1]) for row in table(out, "Epochs:")] == [("1", "2"), ("2", "2"), ("3", "2")]
    assert [row[0] for row in table(out, "Members at assignment epoch 3:")] == ["new"]


def test_an_epoch_of_the_last_life_that_has_it(explain_made):
    out = explain_made("again", "--epoch", "3")
    assert "the following is of its last life" in out
    assert [row[:2] for row in table(out, "Epochs:")] == [["3", "2"]]
    assert [row[0] for row in table(out, "Members at assignment epoch 3:")] == ["new"]
    out = explain_made("again", "--epoch", "9")
    assert "\nIt was deleted, or became a classic group, 1 time before: epoch 9 is of an earlier life only\n" in out
    assert [row[:2] for row in table(out, "Epochs:")] == [["9", "9"]]
    assert [row[0] for row in table(out, "Members at assignment epoch 9:")] == ["old"]


def test_a_group_has_not_converged_since_it_was_assigning(explain_made):
    assert ": Reconciling, not converged since 2026-01-01 00:01:40.000 UTC, for 1 min; " in explain_made("again")


def test_a_consumer_group_without_epochs_and_of_unknown_members(explain_made):
    out = explain_made("young")
    assert out.startswith(
        "Group young of cluster made: unknown since 2026-01-01 00:00:00.000 UTC, for 1 s; consumer protocol\n"
    )
    assert out.endswith("\nThe log has no epoch of it\n")


def test_a_group_in_two_partitions(explain_made):
    """As after partitions were added to the topic."""
    first, second, third, *_ = explain_made("twice").splitlines()
    assert first.startswith(
        "Group twice of cluster made in partition 7: Stable since 2026-01-01 00:00:10.000 UTC, for 2 min"
    )
    assert second.startswith("Group twice of cluster made in partition 50: Empty since 2026-01-01")
    assert third == "The following is of partition 7; it is in 50 as well"


def test_a_group_that_is_in_another_partition_now(explain_made):
    out = explain_made("moved")
    assert out.startswith("Group moved of cluster made: Stable since 2026-01-01 00:00:10.000 UTC, for 2 min 30 s; ")
    assert "\nThe following is of partition 7; it is in 50 as well\n" in out
    assert "deleted" not in out
    assert [row[0] for row in table(out, "Epochs:")] == ["3"]
    assert [row[0] for row in table(out, "Members at assignment epoch 3:")] == ["new"]
    out = explain_made("moved", "--epoch", "50")
    assert "\nThe following is of partition 50; it is in 7 as well\n" in out
    assert [row[0] for row in table(out, "Members at assignment epoch 50:")] == ["old"]


def test_members_beyond_the_first_hundred_are_counted(explain_made):
    out = explain_made("crowd")
    assert out.count(": behind for 1 min\n") == 100
    assert "\n  m099: behind for 1 min\n" in out
    assert out.endswith("\n  and 2 more members\n")


@pytest.mark.parametrize(
    ("lag_ms", "revoke_ms", "limit_ms", "says"),
    [
        (None, None, None, "behind for an unknown time"),
        (-5, -5, 45_000, "behind for an unknown time"),
        (60_000, 0, 45_000, "behind for 1 min"),
        # Two revocations: each had 45 s.
        (90_000, 80_000, 45_000, "behind for 1 min 30 s, was asked for 1 min 20 s to give up partitions "),
        (60_000, 9_000, None, "behind for 1 min, was asked for 9 s to give up partitions"),
    ],
)
def test_what_a_member_is_doing(lag_ms, revoke_ms, limit_ms, says):
    row = Row(lag_ms=lag_ms, revoke_ms=revoke_ms, rebalance_timeout_ms=limit_ms, awaited=None)
    assert _doing(row) == says + ("(may take 45 s each time)" if says.endswith(" ") else "")
    waiting = Row(lag_ms=lag_ms, revoke_ms=revoke_ms, rebalance_timeout_ms=limit_ms, awaited=["one partition"])
    assert _doing(waiting) == says.split(",")[0] + ", waits for 1 partition"

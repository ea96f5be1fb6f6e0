"""One group's story in the terminal, from the audits of the captures."""

import re
import shlex
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from kip848_records import cli
from tests import made_tables, users
from tests.audits import CLUSTERS
from tests.report.fitted import entries, flat

CAPTURED = "2026-01-01 00:02:40 UTC"
STUCK = "kafka-4.3.1"


@pytest.fixture
def explain(request, capsys):
    """Run the command, on the captures' tables unless told otherwise: exit code, stdout, stderr."""

    def run(group, *options, cluster=CLUSTERS[STUCK], out=None):
        out = out or request.getfixturevalue("audits").out
        code = cli.main(["explain", str(out), "--group", group, "--cluster", cluster, *options])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run


def test_a_group_that_is_stuck(explain):
    code, out, err = explain("stuck")
    assert (code, err) == (0, "")
    since = "stuck for ≥ 28 s, since 2026-11-21 08:18:46 UTC, ongoing at capture"
    assert flat(out).startswith(
        f"Group stuck of cluster {CLUSTERS[STUCK]}, captured at 2026-11-21 08:19:14 UTC: Reconciling, {since} "
    )
    assert "group epoch 4, assignment epoch 4, 1 of 3 members converged" in out
    asked = "stuck-app @ 127.0.0.1 has been asked to give up partitions for ≥ 27.8 s; 1 member waits for it "
    assert asked in flat(out)
    assert "docs/runbook.md#slow_revocation\n" in out
    rebalances = entries(out, "Rebalances, the latest first:")
    assert rebalances[0].startswith(
        "3-4 2026-11-21 08:18:46 UTC ≥ 28 s 0 s 3 12 outcome: ongoing at capture; cause: joined: stuck-app @ "
    )
    assert rebalances[1].startswith("2 2026-11-21 08:18:11 UTC ")
    members = entries(out, "Members:")
    assert len(members) == 3
    waiting, blocker, _ = (
        next(row for row in members if f"@ 127.0.0.1 {state}" in row)
        for state in ("waiting for partitions", "revoking", "reconciled")
    )
    assert "is to give up: clicks 12-23; epoch: 2" in blocker
    assert "is to get: clicks 12-23; epoch: 4" in waiting
    (waits, holds) = (row.split(" member: ")[1].split()[0] for row in (waiting, blocker))
    assert f" {waits} (stuck-app @ 127.0.0.1): waits for 12 partitions, behind for ≥ 28 s " in flat(out)
    assert f" clicks 12-23 held by {holds} (stuck-app @ 127.0.0.1) " in flat(out)


@pytest.mark.slow
@pytest.mark.process
def test_a_folder_is_read_without_spark(audits):
    """Nor does it depend on the machine's time zone."""
    arguments = ["explain", str(audits.out), "--group", "stuck", "--cluster", CLUSTERS[STUCK]]
    program = f"import sys; from kip848_records import cli; cli.main({arguments!r}); print('pyspark' in sys.modules)"
    told = [
        subprocess.run(
            [sys.executable, "-c", program], env=users.environment(TZ=zone), capture_output=True, text=True, check=True
        ).stdout
        for zone in ("UTC", "Asia/Tokyo")
    ]
    assert told[0] == told[1]
    assert told[0].endswith("\nFalse\n")


def test_one_epoch(explain):
    code, out, _ = explain("slow-revoke", "--epoch", "4")
    assert code == 0
    (epoch,) = entries(out, "Epoch:")
    assert epoch.startswith("4 2026-11-21 ")
    assert " 7 s " in epoch
    assert epoch.endswith(" 3 2 converged cause: member joined")
    waiting, slow, _ = entries(out, "Members at assignment epoch 4:")
    assert " 7 s 0 s 7 s reconciled" in flat(waiting.replace("; ", " ").replace("status: ", ""))
    assert slow.split()[0] in waiting.split("blocked by: ")[1]
    assert "Who waits for whom" not in out


def test_times_of_an_epoch_that_is_open_are_at_least(explain):
    out = explain("stuck", "--epoch", "4")[1]
    (epoch,) = entries(out, "Epoch:")
    assert " \u2265 22 s 0 s 3 0 open" in flat(epoch)
    blocker, waiting, done = map(flat, entries(out, "Members at assignment epoch 4:"))
    assert " \u2265 22 s \u2265 22 s 0 s status: open" in blocker
    assert " \u2265 22 s 0 s \u2265 22 s status: open" in waiting
    assert " 0 s 0 s 0 s status: reconciled" in done


@pytest.mark.slow
def test_a_classic_group_and_one_that_was_deleted(explain):
    out = explain("classic")[1]
    said = r"generation 3 was completed at 2026-\S+ \S+ UTC; whether it rebalances now is not in the log "
    assert re.match(rf"Group classic of cluster .+: {said}", flat(out))
    assert "\nMembers of the last generation:\n" in out
    assert "a rebalance took at least its sync time. See docs/groups/classic.md Upgrade to the consumer" in flat(out)
    assert out.endswith("  see docs/groups/migration.md#can-this-group-be-upgraded\n")
    assert "was deleted; its last state was" in explain("deleted")[1]


def test_a_group_that_is_not_there(explain):
    code, out, err = explain("stuk")
    assert (code, out) == (2, "")
    assert re.fullmatch(r"error: there is no group 'stuk' in \S+\nhint: similar: stuck\n", err)


def test_a_command_lists_the_groups_if_no_name_is_similar(explain, audits, capsys):
    code, _, err = explain("nobody at all")
    assert code == 2
    program, *arguments = shlex.split(err.splitlines()[1].split("this lists the groups: ")[1])
    assert (program, cli.main(arguments)) == ("kip848", 0)
    assert "stuck" in capsys.readouterr().out
    assert str(audits.out) in arguments


@pytest.mark.slow
def test_the_group_is_the_second_argument_too(explain, audits, capsys):
    _, named, _ = explain("stuck")
    among = ["--cluster", CLUSTERS[STUCK]]
    for arguments in (["stuck", *among], [*among, "stuck"]):
        assert cli.main(["explain", str(audits.out), *arguments]) == 0
        assert capsys.readouterr().out == named


@pytest.mark.parametrize(
    ("arguments", "error", "hint"),
    [
        (
            ["o u t"],
            "no folder is given, or no group: there is nothing at o u t",
            "use kip848 explain DIR --group 'o u t', with the folder of the tables of an audit, or of a log",
        ),
        (["/"], "no group is given", "use kip848 explain / --group G; this lists the groups: kip848 query / "),
        (
            ["--catalog", "c", "--schema", "s"],
            "no group is given",
            "use kip848 explain --catalog c --schema s --group G; this lists the groups: kip848 query --catalog c ",
        ),
    ],
)
def test_no_group(capsys, arguments, error, hint):
    assert cli.main(["explain", *arguments]) == 2
    first, second = capsys.readouterr().err.splitlines()
    assert first == f"error: {error}"
    assert second.startswith(f"hint: {hint}")


@pytest.mark.slow
def test_a_page_that_is_named_exists_wherever_the_command_runs(explain, tmp_path, monkeypatch):
    """In a clone its name is a path already; elsewhere the command prints the full path."""
    assert "  runbook  docs/runbook.md#slow_revocation\n" in explain("stuck")[1]
    monkeypatch.chdir(tmp_path)
    runbook = re.search(r"^  runbook  (/.*)#slow_revocation$", explain("stuck")[1], re.MULTILINE)[1]
    assert "### `slow_revocation`" in Path(runbook).read_text()
    limit = re.search(r"See (/.*/groups/classic\.md)$", explain("classic")[1], re.MULTILINE)[1]
    assert Path(limit).read_text().startswith("# Classic")


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
    assert (code, err.splitlines()[0]) == (2, f"error: {tmp_path} holds no files to read")


def at(second):
    return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=second)


def story(group, **columns):
    return {"group_id": group, "group_type": "consumer", **columns}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A group with two incarnations, `again`; one that waits for 102 members, `crowd`; one without epochs, `young`.

    And two in two partitions: `moved`, which is gone from one of them, and `twice`.
    """
    out = tmp_path_factory.mktemp("made")
    first_incarnation = [story("again", group_epoch=epoch, members=9, status="deleted") for epoch in range(1, 10)]
    second_incarnation = [
        story("again", group_epoch=epoch, members=2, incarnation=1, status="open") for epoch in (1, 2, 3)
    ]
    made_tables.write(
        out,
        "made",
        anomaly=[],
        quarantine=[],
        regex_resolution=[],
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
            *first_incarnation,
            *second_incarnation,
            story("crowd", group_epoch=2, status="open"),
        ],
        rebalance_lag=[
            {"group_id": "moved", "partition": 50, "group_epoch": 50, "member_id": "old", "status": "left"},
            {"group_id": "moved", "partition": 7, "group_epoch": 3, "member_id": "new", "status": "converged"},
            *({"group_id": "again", "group_epoch": epoch, "member_id": "old", "status": "left"} for epoch in (3, 9)),
            {"group_id": "again", "incarnation": 1, "group_epoch": 3, "member_id": "new", "status": "open"},
            *(
                {
                    "group_id": "crowd",
                    "group_epoch": 2,
                    "member_id": f"m{n:03}",
                    "status": "open",
                    "behind_since": at(100),
                    "awaited": [{"topic": "t", "partition": n, "owner": None}],
                }
                for n in range(102)
            ),
        ],
        rebalance=[
            story("again", began_offset=9, first_epoch=1, last_epoch=9, epochs=9, outcome="deleted"),
            story(
                "again", incarnation=1, began_offset=5, began_at=at(100), first_epoch=1, last_epoch=3, outcome="open"
            ),
            story("moved", partition=50, began_offset=1, first_epoch=50, last_epoch=50, outcome="deleted"),
            story("moved", partition=7, began_offset=1, first_epoch=3, last_epoch=3, outcome="converged"),
        ],
        member_state_timeline=[
            story("again", member_id="old", state="reconciled", from_offset=1, to_at=at(50)),
            story("again", incarnation=1, member_id="new", state="behind", from_offset=5),
            *(story("crowd", member_id=f"m{n:03}", state="waiting", from_offset=1) for n in range(102)),
        ],
        audit_runs=[{"run": 1, "captured_at": at(160)}],
        membership=[
            *(story("crowd", member_id=f"m{n:03}", joined_offset=n) for n in range(102)),
            story("again", member_id="old", client_id="old", client_host="/h", joined_offset=1, left_offset=4),
            story("again", incarnation=1, member_id="new", client_id="new", client_host="/h", joined_offset=5),
        ],
        **dict.fromkeys(made_tables.OF_KINDS, ()),
    )
    made_tables.write(
        out,
        "other",
        group_state_timeline=[story("lonely", state="Empty")],
        audit_runs=[{"run": 1, "captured_at": at(9)}],
    )
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
    assert explain("lonly", cluster="other", out=made)[2].endswith(
        "\nhint: similar: lonely; if it only commits offsets, pass --offset-commits to the audit\n"
    )
    assert "\nhint: this lists the groups: kip848 query " in explain("lonly", cluster="made", out=made)[2]


def test_an_epoch_of_no_life(explain, made):
    code, out, err = explain("again", "--epoch", "10", cluster="made", out=made)
    assert (code, out, err.splitlines()[0]) == (2, "", "error: the log has no epoch 10 of group 'again'")


def test_a_group_that_was_deleted_and_created_again(explain_made):
    out = explain_made("again")
    said = "It was deleted, or became a classic group, 1 time before: the following shows its last incarnation"
    assert said in flat(out)
    assert [row.split()[0] for row in entries(out, "Rebalances, the latest first:")] == ["1-3"]
    assert entries(out, "Members:") == ["new @ h assignment not yet applied nothing new"]


def test_an_epoch_of_the_last_life_that_has_it(explain_made):
    out = explain_made("again", "--epoch", "3")
    assert "the following shows its last incarnation" in flat(out)
    assert [row.split()[:2] for row in entries(out, "Epoch:")] == [["3", "2"]]
    assert [row.split()[0] for row in entries(out, "Members at assignment epoch 3:")] == ["new"]
    out = explain_made("again", "--epoch", "9")
    said = "It was deleted, or became a classic group, 1 time before: epoch 9 belongs to an earlier incarnation only"
    assert said in flat(out)
    assert [row.split()[:2] for row in entries(out, "Epoch:")] == [["9", "9"]]
    assert [row.split()[0] for row in entries(out, "Members at assignment epoch 9:")] == ["old"]


def test_a_group_has_not_converged_since_it_was_assigning(explain_made):
    said = ": Reconciling, stuck for ≥ 1 min, since 2026-01-01 00:01:40 UTC, ongoing at capture"
    assert said in flat(explain_made("again"))


def test_a_consumer_group_without_epochs_and_of_unknown_members(explain_made):
    out = explain_made("young")
    said = "unknown since 2026-01-01 00:00:00 UTC, for 2 min 40 s consumer protocol "
    assert flat(out).startswith(f"Group young of cluster made, captured at {CAPTURED}: {said}")
    assert out.endswith("\nThe log has no rebalance of it\n")


def test_a_group_in_two_partitions(explain_made):
    """As after partitions were added to the topic."""
    out = explain_made("twice")
    said = flat(out)
    assert said.startswith(
        f"Group twice of cluster made in partition 7, captured at {CAPTURED}: Stable since 2026-01-01 00:00:10 UTC, "
    )
    assert f"Group twice of cluster made in partition 50, captured at {CAPTURED}: Empty since 2026-01-01" in said
    assert "\nThe following shows partition 7; the group is also in 50\n" in out


def test_a_group_that_is_in_another_partition_now(explain_made):
    out = explain_made("moved")
    said = "Stable since 2026-01-01 00:00:10 UTC, for 2 min 30 s "
    assert flat(out).startswith(f"Group moved of cluster made, captured at {CAPTURED}: {said}")
    assert "\nThe following shows partition 7; the group is also in 50\n" in out
    assert "deleted" not in out
    assert entries(out, "Rebalances, the latest first:") == ["3"]
    out = explain_made("moved", "--epoch", "50")
    assert "\nThe following shows partition 50; the group is also in 7\n" in out
    assert [row.split()[0] for row in entries(out, "Members at assignment epoch 50:")] == ["old"]


def test_members_beyond_the_first_hundred_are_counted(explain_made):
    out = explain_made("crowd")
    assert out.count(": waits for 1 partition, behind for ≥ 1 min\n") == 100
    assert "    t 99 held by no member: free to be taken with its next heartbeat\n" in out
    assert "\n  and 2 more members\n" in out
    assert "\nMembers, 100 of 102:\n" in out

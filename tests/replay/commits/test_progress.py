"""The offset commits of a broker, number by number, and whatever the chunks are in which they are read."""

from datetime import UTC, datetime

import pytest
from deltalake import DeltaTable

from kip848_records.cli import main
from kip848_records.replay.commits import progress
from tests.commits_of_a_broker import unpacked

TABLES = ("commit_progress", "commit_jump", "consumption_stop")


@pytest.fixture(scope="module")
def capture(tmp_path_factory):
    return unpacked(tmp_path_factory.mktemp("capture"))


def audited(capture, out):
    options = ["--topics", str(capture / "topics.json"), "--offset-commits", "--offsets-retention", "60s"]
    assert main(["audit", str(capture / "segments"), "--out", str(out), *options]) == 0
    return {name: DeltaTable(out / name).to_pyarrow_table().to_pylist() for name in TABLES}


@pytest.fixture(scope="module")
def tables(capture, tmp_path_factory):
    return audited(capture, tmp_path_factory.mktemp("tables"))


@pytest.fixture(scope="module")
def stays(tables):
    return {
        (row["group_id"], row["topic"], row["partition"], row["acquired_offset"]): row
        for row in tables["commit_progress"]
        if row["owner"] == "member"
    }


@pytest.fixture(scope="module")
def jumps(tables):
    return {(row["group_id"], row["offset"]): row for row in tables["commit_jump"]}


def ms(at):
    return None if at is None else round((at - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() * 1000)


def told(row, *names):
    return tuple(ms(row[name]) if isinstance(row[name], datetime) else row[name] for name in names)


@pytest.mark.slow
def test_every_commit_is_someone_s(tables):
    commits = {}
    for row in tables["commit_progress"]:
        commits[row["owner"]] = commits.get(row["owner"], 0) + row["commits"]
    assert commits == {"member": 11_888, "simple": 830, "no_members": 7}


def test_a_partition_that_was_paused(stays):
    row = stays["g-pause", "t-orders", 3, 115]
    names = ("commits", "advances", "advanced", "last_offset", "last_advance_at", "longest_gap_ms", "history")
    assert told(row, *names) == (27, 27, 253, 260, 1795780210112, 110_797, "right_censored")
    assert told(row, "usual_ms", "member_rhythm_ms", "quiet_ms") == (2001, 2001, None)


def test_who_is_ahead_of_a_partition_that_stands_still(stays):
    """Owners of other groups; nobody is asked about a partition that moved in the last seconds."""
    names = ("ahead_by", "ahead_group", "behind_since")
    assert told(stays["g-pause", "t-orders", 3, 115], *names) == (556, "g-manual", 1795780209287)
    assert told(stays["g-pause", "t-orders", 4, 115], *names) == (None, None, None)
    ahead = {group for (group, *_), row in stays.items() if row["ahead_by"] is not None}
    assert ahead == {"g-alldead", "g-dead", "g-dead-c", "g-hang", "g-lazy", "g-pause", "g-txto"}


def test_a_member_that_was_killed(stays):
    before, after = (stays["g-crash", "t-pay", 0, offset] for offset in (19, 2201))
    assert told(before, "last_offset", "quiet_ms", "member_rhythm_ms", "released_offset") == (259, 9184, 5001, 2158)
    assert told(before, "recent_advanced", "recent_ms") == (210, 45_003)
    assert told(after, "start_offset", "start_age_ms", "first_offset") == (259, 10_137, 316)


def test_recent_advances_do_not_count_what_a_new_topic_skipped(stays):
    row = stays["g-again-cla", "t-again", 0, 68]
    assert told(row, "first_offset", "last_offset", "advanced", "recent_advanced") == (7, 265, 255, 119)


def test_commits_of_a_partition_that_was_given_up(tables):
    late = {(row["group_id"], row["partition"]) for row in tables["commit_progress"] if row["late_commits"]}
    assert late == {("g-auto-coop", 0), ("g-auto-coop", 1)}


def test_commits_that_change_nothing(stays):
    skewed = [row for (group, topic, number, _), row in stays.items() if (topic, number) == ("t-skew", 3)]
    found = {row["group_id"]: (row["commits"], row["unchanged"]) for row in skewed if "java" in row["group_id"]}
    assert found == {"g-java-cla": (29, 21), "g-java-con": (29, 21)}


@pytest.mark.parametrize(
    ("group", "offset", "expected"),
    [
        ("g-reset", 1775, ("back", "no_members", 202, 0, 202, 1795780204772, 1795780246590)),
        ("g-reset", 1837, ("back", "no_members", 198, 150, 48, 1795780207071, 1795780246590)),
        ("g-delete", 1540, ("restart_after_loss", "owner_change", 201, 490, 289, 1795780255082, 1795780255082)),
        ("g-delgroup", 1544, ("restart_after_loss", "owner_change", 159, 490, 331, 1795780255125, 1795780255125)),
        ("g-again-cla", 1235, ("recreated", "same_owner", 237, 240, None, 1795780233022, None)),
    ],
)
def test_jumps(jumps, group, offset, expected):
    names = ("kind", "context", "before_offset", "after_offset", "amount", "jumped_at", "recovered_at")
    assert told(jumps[group, offset], *names) == expected


@pytest.mark.parametrize(
    ("group", "offset", "expected"),
    [
        ("g-delete", 1003, ("deleted", 201, 19_870)),
        ("g-delete", 1002, ("deleted", 195, 19_870)),
        ("g-delgroup", 1005, ("group_deleted", 159, 28_777)),
        ("g-expire", 3230, ("group_expired", 70, 63_784)),
        ("g-adminonly", 4306, ("group_expired", 7, 62_953)),
        ("g-again-cla", 1181, ("topic_deleted", 237, 1_651)),
    ],
)
def test_losses(jumps, group, offset, expected):
    row = jumps[group, offset]
    assert told(row, "cause", "before_offset", "age_ms") == expected
    assert row["kind"] == "lost"


def test_no_other_jumps(tables):
    kinds = {}
    for row in tables["commit_jump"]:
        kinds[row["kind"]] = kinds.get(row["kind"], 0) + 1
    assert kinds == {"back": 7, "lost": 20, "recreated": 4, "restart_after_loss": 6, "first_commit": 4}


@pytest.mark.slow
@pytest.mark.parametrize("rows", [61, 1000])
def test_chunks_of_any_size_give_the_same_rows(capture, tables, tmp_path, monkeypatch, rows):
    monkeypatch.setattr(progress, "ROWS_OF_A_CHUNK", rows)
    found = audited(capture, tmp_path)
    for name in TABLES:
        assert sorted(map(repr, found[name])) == sorted(map(repr, tables[name]))

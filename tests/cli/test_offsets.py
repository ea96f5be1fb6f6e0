"""`kip848 offsets`: the file of the offsets at a time, and what is said of those that are not in it."""

import re
from datetime import UTC, datetime

import pytest

from kip848_records import cli
from kip848_records.pipeline.audit import run_audit
from kip848_records.pipeline.commits import Commits
from kip848_records.pipeline.options import AuditOptions
from tests.cli.offsets_log import NEW, OLD, START, commit, marker, member, write
from tests.progress import Watcher

_ALWAYS = re.compile(r"note: (from the cache|[0-9]+ offsets? of )")


@pytest.fixture
def ask(capsys, monkeypatch, tmp_path_factory):
    """Run the command on a copy, or on tables: exit code, lines of stdout, and those of stderr that differ by case."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))

    def run(source, at=None, *options, group="g"):
        which = ["--all-groups"] if group is None else ["--group", group]
        when = [] if at is None else ["--at", str(START + at * 1000)]
        code = cli.main(["offsets", str(source), *which, *when, "--quiet", *options])
        printed = capsys.readouterr()
        said = [line for line in printed.err.splitlines() if not _ALWAYS.match(line)]
        return code, printed.out.splitlines(), "\n".join(said)

    return run


def refusal(ask, *arguments, **options):
    code, out, err = ask(*arguments, **options)
    assert (code, out) == (2, [])
    return err


@pytest.mark.slow
def test_the_last_commit_before_a_time(ask, tmp_path):
    """The time of a record belongs to it; topics and partitions are sorted, these by their numbers."""
    rows = [commit(1, 5, 10), commit(2, 7, 9, topic="a"), commit(3, 6, 10), commit(4, 0, 2), commit(9, 8, 10)]
    copy = write(tmp_path, *rows)
    assert ask(copy, 1) == (0, ["t,10,5"], "")
    assert ask(copy, 4) == (0, ["a,9,7", "t,2,0", "t,10,6"], "")
    assert ask(copy) == (0, ["a,9,7", "t,2,0", "t,10,8"], "")


@pytest.mark.slow
def test_what_is_printed_is_the_file(tmp_path, capsys):
    """It ends in one line break, without a header: the tool refuses blank lines."""
    copy, file = write(tmp_path / "copy", commit(1, 5)), tmp_path / "file"
    arguments = ["offsets", str(copy), "--group", "g", "--no-cache", "--quiet"]
    assert cli.main(arguments) == 0
    printed = capsys.readouterr()
    assert printed.out == "t,0,5\n"
    assert printed.err == "note: 1 offset of group g at the end of the log: what counted in __consumer_offsets-0\n"
    assert cli.main([*arguments, "--out", str(file), "--at", "2026-11-27T11:46:41"]) == 0
    printed = capsys.readouterr()
    assert (file.read_text(), printed.out) == ("t,0,5\n", "")
    assert "group g at 2026-11-27 11:46:41 UTC" in printed.err


def test_all_groups(ask, tmp_path):
    """A group comes first then; only an odd one is quoted."""
    rows = [commit(1, 5, group="g"), commit(1, 6, group='a "b",c'), commit(1, 7, group="with space")]
    copy = write(tmp_path, *rows)
    write(tmp_path, commit(2, 8, group="other"), commit(9, 9, group="other"), partition=1)
    code, out, _ = ask(copy, 3, group=None)
    assert (code, out) == (0, ['"a ""b"",c",t,0,6', "g,t,0,5", "other,t,0,8", "with space,t,0,7"])


def test_a_clock_that_goes_back(ask, tmp_path):
    """The prefix ends before the first later record, and does not begin again."""
    copy = write(tmp_path, commit(1, 5), commit(10, 6), commit(3, 7), commit(11, 8))
    code, out, err = ask(copy, 4)
    assert (code, out) == (0, ["t,0,5"])
    assert "clock_skew: the clock of __consumer_offsets-0 went back: records behind offset 1 up to offset 2" in err


def test_a_transaction_counts_from_its_marker_on(ask, tmp_path):
    copy = write(tmp_path, commit(1, 5), commit(2, 9, producer=7), marker(6, "commit", 7), commit(9, 1, group="x"))
    code, out, err = ask(copy, 5)
    assert (code, out) == (0, ["t,0,5"])
    assert "the commit of 9 is in a transaction of producer 7 that was open since 2026-11-27 11:46:42 UTC" in err
    assert "the file has 5, the offset before it" in err
    assert ask(copy, 6) == (0, ["t,0,9"], "")


@pytest.mark.slow
def test_a_transaction_that_ends_in_the_next_file(ask, tmp_path):
    rows = [commit(1, 5), commit(2, 9, producer=7), marker(6, "commit", 7)]
    rows += [commit(7, 3, producer=8), marker(8, "abort", 8), commit(9, 0, group="x")]
    copy = write(tmp_path / "commit", *rows, roll=2)
    assert [ask(copy, at)[1] for at in (5, 6, 9)] == [["t,0,5"], ["t,0,9"], ["t,0,9"]]
    copy = write(tmp_path / "abort", *rows, roll=4)
    assert [ask(copy, at) for at in (8, None)] == [(0, ["t,0,9"], "")] * 2


def test_a_later_commit_wins_over_a_transaction_that_ends_behind_it(ask, tmp_path):
    rows = [commit(2, 9, producer=7), commit(3, 6), marker(6, "commit", 7), commit(7, 0, group="x")]
    assert ask(write(tmp_path, *rows), 6) == (0, ["t,0,6"], "")


@pytest.mark.slow
def test_a_tombstone_drops_a_commit_in_a_transaction(ask, tmp_path):
    rows = [commit(1, 5), commit(2, 9, producer=7), commit(3, None), marker(6, "commit", 7), commit(8, 4, 1)]
    copy = write(tmp_path, *rows)
    assert ask(copy, 8) == (0, ["t,1,4"], "")
    assert "had no committed offset at 2026-11-27 11:46:44 UTC" in refusal(ask, copy, 4)


def test_an_aborted_transaction_never_counts(ask, tmp_path):
    rows = [commit(1, 5), commit(2, 9, producer=7), marker(6, "abort", 7), commit(8, 9, producer=7)]
    copy = write(tmp_path, *rows)
    assert ask(copy, 7) == (0, ["t,0,5"], "")
    code, out, err = ask(copy)
    assert (code, out) == (0, ["t,0,5"])
    assert "open since 2026-11-27 11:46:48 UTC" in err


def test_an_open_transaction_without_an_offset_before_it(ask, tmp_path):
    code, out, err = ask(write(tmp_path, commit(1, 5, 1), commit(2, 9, producer=7)))
    assert (code, out) == (0, ["t,1,5"])
    assert err.endswith("UTC: left out")


@pytest.mark.slow
def test_what_compaction_removed_is_named(ask, tmp_path):
    """The last record of a key was the last one then too, if it is older; any other may have had one before."""
    rows = [commit(0, 1, group="x"), commit(1, 5), commit(2, 6, 1), commit(3, 4, 4), commit(8, 7), commit(9, 9, 1)]
    rows += [commit(10, 10, 2), commit(11, 1, 3), commit(12, 2, 3)]
    copy = write(tmp_path, *rows, without=[1, 2])
    code, out, err = ask(copy, 3)
    assert (code, out) == (1, ["t,4,4"])
    assert "left out: g t 0-3: its offset at 2026-11-27 11:46:43 UTC is not known" in err
    assert "is complete only from 2026-11-27 11:46:52 UTC" in err
    code, out, err = ask(copy, 10)
    assert (code, out) == (1, ["t,0,7", "t,1,9", "t,2,10", "t,4,4"])
    assert "left out: g t 3: " in err
    assert "keys that were deleted since are not seen" in err
    assert ask(copy, 12) == (0, ["t,0,7", "t,1,9", "t,2,10", "t,3,2", "t,4,4"], "")


def test_a_transaction_that_ended_later_took_the_record_before_it(ask, tmp_path):
    """At second 4 the commit of 9 was pending: what counted then may be the record that compaction removed."""
    rows = [commit(1, 5), commit(2, 9, producer=7), commit(3, 1, 1), commit(4, 1, group="x"), marker(6, "commit", 7)]
    copy = write(tmp_path, *rows, *(commit(7 + nth, nth, group="x") for nth in range(3)), without=[0])
    code, out, err = ask(copy, 4)
    assert (code, out) == (1, ["t,1,1"])
    assert "left out: g t 0: " in err


def test_a_copy_that_was_made_while_the_cleaner_ran(ask, tmp_path):
    """The first file is from before the pass that removed the commit of 6: what is there may not be the last one."""
    rows = [commit(1, 5), commit(2, 6), commit(2, 1, group="x"), commit(3, 1, 1), commit(8, 7), commit(9, 2, 2)]
    code, out, err = ask(write(tmp_path, *rows, without=[1], roll=3), 3)
    assert (code, out) == (1, ["t,1,1"])
    assert "left out: g t 0, 2: " in err


@pytest.mark.slow
def test_lost_records_leave_older_values_unknown(ask, tmp_path):
    copy = write(tmp_path, commit(1, 5), commit(2, 6, 1), commit(3, 7), commit(4, 8, 1), damaged=2)
    assert ask(copy, 1)[:2] == (1, ["t,0,5"])
    code, out, err = ask(copy)
    assert (code, out) == (1, ["t,1,8"])
    assert "left out: g t 0: records of __consumer_offsets-0 up to offset 2 are lost" in err


def test_a_log_whose_start_is_missing(ask, tmp_path):
    copy = write(tmp_path, commit(1, 5), commit(2, 6), commit(3, 7))
    (file,) = copy.rglob("*.log")
    rows = write(tmp_path / "other", *[commit(n, n) for n in range(5)], commit(5, 9), without=range(5))
    (late,) = rows.rglob("*.log")
    late.rename(file.with_name(f"{5:020}.log"))
    file.unlink()
    code, out, err = ask(copy)
    assert (code, out) == (1, ["t,0,9"])
    assert "partition 0 of __consumer_offsets: the start of the log is missing" in err


@pytest.mark.slow
def test_a_topic_that_was_deleted_since(ask, tmp_path):
    """Two groups lose it at once, in whichever partitions they are."""
    rows = [commit(1, 5), commit(2, 6, topic="kept"), commit(8, None)]
    copy = write(tmp_path, *rows)
    write(tmp_path, commit(1, 5, group="other"), commit(9, None, group="other"), partition=1)
    code, out, err = ask(copy, 3)
    assert (code, out) == (0, ["kept,0,6"])
    assert "left out: g t 0: the topic was deleted at 2026-11-27 11:46:48 UTC" in err


def test_nothing_is_left_of_a_file(ask, tmp_path):
    copy = write(tmp_path, commit(1, 5), commit(1, 5, group="other"), commit(8, None), commit(8, None, group="other"))
    code, out, err = ask(copy, 3)
    assert (code, out) == (1, [])
    assert "the topic was deleted at" in err


def test_an_offset_that_was_deleted_though_the_topic_is_there(ask, tmp_path):
    """Another partition of the topic kept its offset."""
    copy = write(tmp_path, commit(1, 5), commit(1, 5, 1, group="other"), commit(8, None))
    assert ask(copy, 3) == (0, ["t,0,5"], "")


def test_a_topic_that_a_member_subscribes_to_may_have_been_deleted(ask, tmp_path):
    """Only while a member owns a partition of a topic is it certain that no tool removed the offset."""
    copy = write(tmp_path, *member(0, "t", "kept"), commit(1, 5), commit(1, 6, topic="kept"), commit(8, None))
    code, out, err = ask(copy, 3)
    assert (code, out) == (0, ["kept,0,6", "t,0,5"])
    assert "by expiry, by a tool or with the topic" in err
    assert "group g has 1 member at the end of the log: the tool sets no offset" in err


@pytest.mark.parametrize("after", [8, 8 + 8 * 86_400])
def test_an_offset_that_was_removed_for_no_known_reason(ask, tmp_path, after):
    """By a tool, by expiry, or with the topic: it stays in the file, and the reader knows."""
    others = [commit(1, 5, group="other"), commit(after, None, group="other")] if after > 8 else []
    copy = write(tmp_path, commit(1, 5), *others, commit(after, None))
    code, out, err = ask(copy, 3)
    assert (code, out) == (0, ["t,0,5"])
    assert "by expiry, by a tool or with the topic" in err


@pytest.mark.slow
def test_a_topic_that_was_created_anew(ask, tmp_path):
    copy = write(tmp_path, commit(1, 5, topic_id=OLD), commit(8, None), commit(9, 1, topic_id=NEW))
    code, out, err = ask(copy, 3)
    assert (code, out) == (1, [])
    assert f"left out: g t 0: the topic was created anew since, with id {NEW} after {OLD}" in err
    assert ask(copy) == (0, ["t,0,1"], "")


def test_a_topic_that_the_users_file_does_not_name(ask, tmp_path):
    topics = tmp_path / "topics.json"
    topics.write_text(f'{{"{OLD}": "other"}}')
    _, out, err = ask(write(tmp_path / "copy", commit(1, 5)), None, "--topics", str(topics))
    assert out == ["t,0,5"]
    assert "--topics does not name g t 0: the tool refuses the whole file if the topic is gone" in err


def test_after_the_end_of_the_log(ask, tmp_path):
    code, out, err = ask(write(tmp_path, commit(1, 5)), 100)
    assert (code, out) == (0, ["t,0,5"])
    assert "partition 0 of __consumer_offsets: known only to 2026-11-27 11:46:41 UTC" in err


@pytest.mark.slow
def test_wrong_typing(ask, tmp_path, capsys):
    copy = write(tmp_path, *member(1, "t", group="silent"), commit(1, 5, group="orders"))
    assert "there is no group 'order'" in (err := refusal(ask, copy, group="order"))
    assert "similar: orders" in err
    assert "the log has no offset commit of group 'silent'" in refusal(ask, copy, group="silent")
    assert "is before the log, whose first record is of 2026-11-27 11:46:41 UTC" in refusal(
        ask, copy, 0, group="orders"
    )
    later = int(datetime.now(UTC).timestamp()) - START // 1000 + 90 * 86400
    assert " UTC is in the future\nhint: omit --at" in refusal(ask, copy, later, group="orders")
    with pytest.raises(SystemExit):
        cli.main(["offsets", str(copy), "--group", "orders", "--at", "14:00 yesterday"])
    assert "'14:00 yesterday' is not a time such as" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        cli.main(["offsets", str(copy)])
    assert "one of the arguments --group --all-groups is required" in capsys.readouterr().err


def audited(tmp_path, name, *rows, **options):
    copy = write(tmp_path / name, *rows)
    audit = AuditOptions((str(copy),), str(tmp_path / "out"), cluster=name, offset_commits=True)
    run_audit(None, AuditOptions(**vars(audit) | options), Watcher())
    return tmp_path / "out"


@pytest.mark.slow
def test_tables_of_an_audit(ask, tmp_path):
    out = audited(tmp_path, "a", commit(1, 5), commit(3, 6))
    assert ask(out, 2) == (0, ["t,0,5"], "")
    audited(tmp_path, "b", commit(1, 9))
    assert "2 clusters have a group 'g'" in refusal(ask, out)
    assert "pass --cluster: a, b" in refusal(ask, out, group=None)
    assert ask(out, None, "--cluster", "b")[:2] == (0, ["t,0,9"])


def test_tables_without_offset_commits(ask, tmp_path):
    out = audited(tmp_path, "a", *member(1, "t"), commit(1, 5), offset_commits=False)
    err = refusal(ask, out)
    assert "cannot answer offsets for cluster 'a': the audit decoded no offset commits" in err
    assert "hint: audit the log with --offset-commits" in err


def everything(tmp_path):
    """A log with all of it."""
    rows = [commit(1, 5), commit(2, 9, producer=7), commit(3, 4, 1), commit(3, 1, topic="x"), *member(4, "t", "x")]
    rows += [commit(5, None, topic="x"), marker(6, "commit", 7), commit(7, 3, 2, producer=8), commit(6, 2, 3)]
    rows += [commit(9, 8), commit(9, 1, topic="u", topic_id=OLD, group="h"), commit(12, None, topic="u", group="h")]
    return audited(tmp_path, "a", *rows, commit(13, 2, topic="u", topic_id=NEW, group="h"))


@pytest.mark.nightly
@pytest.mark.parametrize("group", ["g", None])
def test_both_engines_say_the_same(ask, tmp_path, spark, group):  # noqa: ARG001 - the session that is there is taken
    out = everything(tmp_path)
    for at in (5, 9, None):
        found, expected = (ask(out, at, "--engine", engine, group=group) for engine in ("spark", "embedded"))
        assert found == expected


def test_a_group_that_is_not_there_costs_no_audit_of_the_others(ask, tmp_path, monkeypatch):
    monkeypatch.setattr(Commits, "of", lambda *_: pytest.fail("commits are decoded"))
    said = refusal(ask, write(tmp_path, commit(1, 5)), group="h")
    assert said.startswith("error: there is no group 'h' in ")

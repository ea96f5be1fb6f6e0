"""Where topics end: what kafka-get-offsets prints, and what it shows beside committed offsets."""

import os

import pytest

from kip848_records.cli import main
from kip848_records.errors import InputError
from kip848_records.log.runs import EndOffset
from kip848_records.pipeline.end_offsets import read_end_offsets, with_earlier
from kip848_records.queries.texts import completed
from kip848_records.text import duration_text
from tests.commits_of_a_broker import SILENCE, audited

BEFORE_MS, CAPTURED_MS = 1795780250000, 1795780320909
COMMITTED = 184
"""By g-skew, in partition 3 of t-skew."""
PRINTED = "t-orders:3:816\nt-skew:3:{skew}\nt-again:0:281\n"


@pytest.fixture
def file(tmp_path):
    def file(text, at_ms=1_000_000):
        path = tmp_path / "ends.txt"
        path.write_text(text, encoding="utf-8")
        os.utime(path, (at_ms / 1000, at_ms / 1000))
        return str(path)

    return file


def test_a_line_is_a_partition(file):
    assert read_end_offsets(file("orders:0:12\nnet.flows_a-b:10:0\n")) == (
        EndOffset("orders", 0, None, 12, 1_000_000),
        EndOffset("net.flows_a-b", 10, None, 0, 1_000_000),
    )


def test_a_partition_without_an_offset_is_skipped(file):
    assert [each.partition for each in read_end_offsets(file("orders:0:\norders:1:5\n"))] == [1]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("orders:0:1\norders 1 5\n", "line 2: no file of end offsets: 'orders 1 5' is not topic:partition:offset"),
        ("orders:0:1\n\n", "line 2: "),
        ("orders:0:-1\n", "line 1: "),
        ("orders:2147483648:1\n", "line 1: "),
        ("orders:0:9223372036854775808\n", "line 1: "),
        ("orders:0:1\norders:0:1\n", "line 2: no file of end offsets: orders:0 is there twice"),
        ("", "it has no offset"),
        ("orders:0:\n", "it has no offset"),
    ],
)
def test_anything_else_is_an_error_that_names_the_line(file, text, said):
    with pytest.raises(InputError, match=said):
        read_end_offsets(file(text))


def test_no_such_file(tmp_path):
    with pytest.raises(InputError, match="No such file"):
        read_end_offsets(str(tmp_path / "none"))


@pytest.mark.parametrize("command", [["audit", "--out", "out"], ["explain", "--group", "g"]])
def test_a_command_says_so_before_it_reads_anything(file, tmp_path, monkeypatch, capsys, command):
    monkeypatch.chdir(tmp_path)
    name, *more = command
    (tmp_path / "log").mkdir()
    bad = file("orders\n")
    assert main([name, "log", *more, "--offset-commits", "--end-offsets", bad]) == 2
    assert "ends.txt, line 1: no file of end offsets" in capsys.readouterr().err
    assert main([name, "log", *more, "--end-offsets", file("orders:0:1\n")]) == 2
    assert "--end-offsets needs --offset-commits" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


class Run:
    def __init__(self, *ends):
        self.end_offsets = ends


def test_the_run_before_knew_an_earlier_end():
    now = (
        EndOffset("t", 0, 0, 9, 20),
        EndOffset("t", 1, 0, 9, 20),
        EndOffset("t", 2, 0, 3, 20),
        EndOffset("t", 3, 0, 5, 20),
    )
    last = Run(EndOffset("t", 0, 0, 7, 10), EndOffset("t", 2, 0, 7, 10), EndOffset("t", 3, 0, 5, 10))
    before = [Run(EndOffset("t", 0, 0, 1, 5)), last, Run()]
    found = [(each.earlier_offset, each.earlier_ms) for each in with_earlier(now, before)]
    assert found == [(7, 10), (None, None), (None, None), (5, 10)]  # the third one was made anew
    assert with_earlier(now, []) == now


def states(tables):
    rows = tables.rows(completed("SELECT * FROM consumption_now"), "c")
    return {(row.group_id, row.topic, row.partition): row for row in rows}


def ends(at_ms, **found):
    return tuple(
        EndOffset(topic.replace("_", "-"), partition, None, end, at_ms) for topic, (partition, end) in found.items()
    )


@pytest.mark.slow
def test_a_partition_that_gets_no_messages_is_idle_only_to_who_knows_its_end(tmp_path):
    found = states(audited(tmp_path, SILENCE, end_offsets=ends(CAPTURED_MS + 1000, t_skew=(3, COMMITTED))))
    for group in ("g-skew", "g-java-cla", "g-java-con"):
        row = found[group, "t-skew", 3]
        assert (row.state, row.lag, row.is_committing) == ("caught_up", 0, "java" in group)
    tables = audited(tmp_path, SILENCE)
    assert tables.rows("SELECT * FROM end_offset", "c") == []
    without = states(tables)["g-skew", "t-skew", 3]
    assert (without.state, without.lag, without.end_offset) == ("stopped_alone", None, None)
    assert without.committed == COMMITTED


@pytest.mark.slow
def test_a_topic_that_was_created_anew_ends_before_what_is_committed(tmp_path):
    """Its end counts only if it was asked after the commit."""
    for asked_ms, state in ((CAPTURED_MS, "committed_beyond_end"), (BEFORE_MS - 60_000, "stopped_alone")):
        given = ends(asked_ms, t_skew=(3, 5))
        row = states(audited(tmp_path, SILENCE, end_offsets=given))["g-skew", "t-skew", 3]
        assert (row.state, row.lag) == (state, None)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("asked_ms", "state", "evidence"),
    [
        (CAPTURED_MS - 20_000, "suspected", "messages_waiting"),  # they waited for as long as must be
        (CAPTURED_MS - 19_000, "messages_wait", None),  # and may have come then
        (CAPTURED_MS + 1, "stopped_alone", None),  # its owner may have committed more since
    ],
)
def test_one_look_does_not_tell_since_when_messages_wait(tmp_path, asked_ms, state, evidence):
    row = states(audited(tmp_path, SILENCE, end_offsets=ends(asked_ms, t_skew=(3, 1000))))["g-skew", "t-skew", 3]
    assert (row.state, row.evidence, row.end_offset, row.lag) == (state, evidence, 1000, 1000 - row.committed)


@pytest.mark.slow
def test_two_looks_do(tmp_path):
    for asked_ms in (BEFORE_MS, CAPTURED_MS - 1):
        tables = audited(tmp_path, SILENCE, end_offsets=ends(asked_ms, t_skew=(3, 1000)))
    row = states(tables)["g-skew", "t-skew", 3]
    assert (row.state, row.waits_ms) == ("suspected", CAPTURED_MS - BEFORE_MS)
    (told,) = tables.rows("SELECT * FROM diagnosis WHERE pattern = 'not_consumed' AND group_id = 'g-skew'", "c")
    # As a check says, and apart from it for how long messages have waited at least.
    assert row.waits_ms < row.silent_ms
    stands, waits = map(duration_text, (row.silent_ms, row.waits_ms))
    assert (
        f"has not moved for {stands}; messages have waited for \N{GREATER-THAN OR EQUAL TO} {waits}; " in told.sentence
    )
    assert f"; {row.lag} offsets wait, by the end of the topic." in told.sentence

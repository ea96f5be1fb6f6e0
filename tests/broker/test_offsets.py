"""Kafka's own tool reads what `kip848 offsets` writes; the coordinator then answers what it did at that time."""

import time

import pytest

from kip848_records import cli
from tests.broker.clients import commit, commit_in_transaction, committed, make_topic, produce
from tests.broker.requests import delete_group
from tests.broker.running import OFFSETS, done
from tests.broker.test_clients import COMMAND

pytestmark = pytest.mark.slow  # its commands are Kafka's, and take seconds each

KEPT, GONE = "set-back", "set-back-gone"
ODD = 'set,"back"'


@pytest.fixture
def offsets(broker, tmp_path, monkeypatch, capsys):
    """Write the file of a group, or of all, from the folder of the running broker; return it, and what was said."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def write(at, *options, source=broker.folder):
        file = tmp_path / "offsets.csv"
        code = cli.main(["offsets", str(source), "--at", str(at), "--out", str(file), "--quiet", *options])
        assert code == 0
        return file, capsys.readouterr().err

    return write


def now():
    """The present time in ms, with no record of the broker beside it."""
    time.sleep(0.1)
    at = time.time_ns() // 1_000_000
    time.sleep(0.1)
    return at


def new_offsets(printed):
    """The offsets that the tool says it sets, as (group, topic, partition, offset)."""
    rows = [line.split() for line in printed.splitlines()]
    return {(*row[:2], int(row[2]), int(row[3])) for row in rows if len(row) == 4 and row[3].isdigit()}


def test_offsets_are_set_back_to_what_they_were(broker, offsets):
    for topic in (KEPT, GONE):
        make_topic(broker, topic, 3)
        produce(broker, topic, 300)
    commit(broker, KEPT, {(KEPT, 0): 5, (KEPT, 1): 6, (GONE, 0): 1})
    commit(broker, "another", {(GONE, 1): 1})
    commit_in_transaction(broker, KEPT, {(KEPT, 1): 7})
    commit(broker, ODD, {(KEPT, 2): 3})
    at = now()
    places = [(KEPT, partition) for partition in range(3)]
    before = [committed(broker, KEPT, place) for place in places]
    assert before == [5, 7, None]
    commit_in_transaction(broker, KEPT, {(KEPT, 0): 8}, abort=True)
    commit(broker, KEPT, {(KEPT, 0): 9, (KEPT, 1): 2, (KEPT, 2): 4})
    done(broker.admin.delete_topics([GONE]))
    now()

    file, said = offsets(at, "--group", KEPT)
    assert file.read_text() == f"{KEPT},0,5\n{KEPT},1,7\n"
    assert f"left out: {KEPT} {GONE} 0: the topic was deleted at" in said
    reset = ["--reset-offsets", "--group", KEPT, "--from-file", str(file)]
    expected = {(KEPT, KEPT, 0, 5), (KEPT, KEPT, 1, 7)}
    assert new_offsets(broker.command(COMMAND, *reset, "--dry-run")) == expected
    assert [committed(broker, KEPT, place) for place in places] == [9, 2, 4]
    assert new_offsets(broker.command(COMMAND, *reset, "--execute")) == expected
    assert [committed(broker, KEPT, place) for place in places] == [5, 7, 4]
    after, _ = offsets(now(), "--group", KEPT)
    assert after.read_text() == f"{KEPT},0,5\n{KEPT},1,7\n{KEPT},2,4\n"

    file, _ = offsets(at, "--all-groups")
    ours = [line for line in file.read_text().splitlines() if line.startswith((f"{KEPT},", '"'))]
    assert ours == ['"set,""back""",set-back,2,3', "set-back,set-back,0,5", "set-back,set-back,1,7"]
    file.write_text("".join(f"{line}\n" for line in ours))
    several = ["--reset-offsets", "--group", KEPT, "--group", ODD, "--from-file", str(file), "--dry-run"]
    assert new_offsets(broker.command(COMMAND, *several)) == {*expected, (ODD, KEPT, 2, 3)}


def test_offsets_of_a_group_that_was_deleted(broker, offsets):
    make_topic(broker, "set-back-deleted")
    produce(broker, "set-back-deleted", 20)
    commit(broker, "deleted-group", {("set-back-deleted", 0): 4})
    at = now()
    delete_group(broker, "deleted-group")
    assert committed(broker, "deleted-group", ("set-back-deleted", 0)) is None
    file, said = offsets(at, "--group", "deleted-group")
    assert "by expiry, by a tool or with the topic" in said
    broker.command(COMMAND, "--reset-offsets", "--group", "deleted-group", "--from-file", str(file), "--execute")
    assert committed(broker, "deleted-group", ("set-back-deleted", 0)) == 4


def test_offsets_of_the_live_topic(broker, offsets):
    """Transactions of other tests may hide how much of its history is there: its end is known all the same."""
    make_topic(broker, "set-back-live")
    produce(broker, "set-back-live", 20)
    commit(broker, "live-group", {("set-back-live", 0): 4})
    commit_in_transaction(broker, "live-group", {("set-back-live", 0): 9})
    file, said = offsets(now(), "--group", "live-group", source=f"kafka://{broker.bootstrap}/{OFFSETS}")
    assert file.read_text() == "set-back-live,0,9\n"
    assert "transactions" not in said

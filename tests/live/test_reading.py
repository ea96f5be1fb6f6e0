"""Groups of a real broker that own partitions and do not read them, or start elsewhere: one audit tells each."""

import json
from collections import Counter

import pytest

from kip848_records.cli import main
from tests.broker.running import OFFSETS
from tests.live.reading import GONE, PARTITIONS, TOPIC, all_at_once

GROUPS = {"reads-on", "pauses", "worker-dies", "topic-goes", "went-back", "hangs"}
TRANSACTIONS = "org.apache.kafka.tools.TransactionsCommand"


@pytest.fixture(scope="module")
def before(broker):
    """The offsets of `went-back` before it was set back, while all groups have their trouble."""
    with all_at_once(broker) as offsets:
        yield offsets


@pytest.fixture
def ask(tmp_path, capsys):
    """Audit a source, and answer questions about the groups."""

    def audit(source):
        out = str(tmp_path / "out")
        assert main(["audit", str(source), "--out", out, "--offset-commits", "--quiet"]) == 0

        def printed(*arguments):
            capsys.readouterr()
            main([arguments[0], out, *arguments[1:]])
            return capsys.readouterr().out

        return printed

    return audit


def answers(printed, question):
    rows = map(json.loads, printed("query", question, "--json").splitlines())
    return [row for row in rows if row.get("group_id", row.get("group_ids")) in GROUPS]


def not_consumed(printed):
    return Counter((row["group_id"], row["state"], row["evidence"]) for row in answers(printed, "not_consumed"))


def warned(printed, tmp_path):
    file = tmp_path / "check.json"
    printed("check", "--json", str(file))
    found = [(each["name"], row) for each in json.loads(file.read_text())["expectations"] for row in each["violations"]]
    return Counter((name, row["group_id"]) for name, row in found if row["group_id"] in GROUPS)


HANGING = {("hangs", "blocked_by_transaction", None): PARTITIONS}
SILENT = {("pauses", "suspected", "messages_waiting"): 1, ("worker-dies", "suspected", "messages_waiting"): 2}
LOST = {("offsets_lost", "topic-goes"): 1}
WARNED = {("owned_not_consumed", "pauses"): 1, ("owned_not_consumed", "worker-dies"): 2} | LOST


def test_its_segment_files(broker, before, ask, tmp_path):
    printed = ask(broker.folder)
    assert not_consumed(printed) == SILENT | HANGING
    assert warned(printed, tmp_path) == WARNED | {("blocked_by_transaction", "hangs"): PARTITIONS}

    jumps = {(row["group_id"], row["topic"], row["partition"]): row for row in answers(printed, "jumps")}
    assert len(jumps) == 2 * PARTITIONS, [
        row for row in jumps.values() if row["group_id"] not in {"went-back", "topic-goes"}
    ]
    for partition, offset in before.items():
        back = jumps["went-back", TOPIC, partition]
        assert (back["kind"], back["context"], back["amount"]) == ("back", "no_members", offset)
        lost = jumps["topic-goes", GONE, partition]
        assert (lost["kind"], lost["cause"]) == ("lost", "topic_deleted")

    (opened,) = answers(printed, "open_transactions")
    assert opened["status"] == "open"
    place = ["--topic", OFFSETS, "--partition", str(opened["partition"])]
    described = broker.command(TRANSACTIONS, "describe-producers", *place)
    assert [str(opened["producer_id"]), str(opened["first_offset"])] in [
        [line.split()[0], line.split()[-1]] for line in described.splitlines()
    ]


@pytest.mark.usefixtures("before")
def test_the_live_topic(broker, ask, tmp_path):
    """It is what its files are, behind the open transaction too."""
    printed = ask(f"kafka://{broker.bootstrap}")
    assert not_consumed(printed) == SILENT | HANGING
    assert warned(printed, tmp_path) == WARNED | {("blocked_by_transaction", "hangs"): PARTITIONS}


@pytest.mark.nightly
@pytest.mark.usefixtures("before", "spark")
def test_the_live_topic_on_spark(broker, ask, tmp_path):
    """A reader of committed records gets nothing behind the open transaction: of its partition nothing is told."""
    printed = ask(f"kafka://{broker.bootstrap}/{OFFSETS}")
    assert not_consumed(printed) == SILENT
    gone = [row for row in answers(printed, "jumps") if row["group_id"] == "topic-goes"]
    assert warned(printed, tmp_path) == WARNED, (gone, printed("query", "SELECT * FROM captures"))


@pytest.mark.usefixtures("before")
def test_a_transaction_that_is_aborted_as_the_runbook_says(broker, ask):
    """Its application does not go on: now that other groups read on, its messages wait."""
    printed = ask(broker.folder)
    (opened,) = answers(printed, "open_transactions")
    place = ["--topic", OFFSETS, "--partition", str(opened["partition"])]
    broker.command(TRANSACTIONS, "abort", *place, "--start-offset", str(opened["first_offset"]))
    printed = ask(broker.folder)
    assert answers(printed, "open_transactions") == []
    assert not_consumed(printed) == SILENT | {("hangs", "suspected", "messages_waiting"): PARTITIONS}

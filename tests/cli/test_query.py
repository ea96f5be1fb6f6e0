"""`kip848 query`, as its user types it."""

import csv
import io
import json
import os
import subprocess
import sys
from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest

from kip848_records.cli import main
from kip848_records.queries.duck import DuckTables
from kip848_records.queries.questions import questions
from kip848_records.times import utc
from tests import made_tables
from tests.audits import CLUSTERS, WITH_RECORD_TABLES, dumped
from tests.commands import PROGRAM
from tests.engines.equal_cases import json_lines
from tests.protocol.samples import read_capture

CAPTURE = "kafka-4.3.1"
CAPTURES = Path(__file__).parents[1] / "captures"


@pytest.fixture
def query(audits, capsys):
    def run(*arguments):
        code = main(["query", str(audits.out), "--cluster", CLUSTERS[CAPTURE], *arguments])
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


def test_the_list_has_every_question(capsys):
    assert main(["query", "--list"]) == 0
    listed = capsys.readouterr().out
    for name, question in questions().items():
        assert name in listed
        assert question.words in listed


def test_a_question_by_its_name(query):
    code, out, _ = query("slowest")
    assert (code, out.split()[0]) == (0, "group_id")
    assert "slow-revoke" in out


def test_brackets_are_shown_as_they_are(query):
    _, out, _ = query("SELECT '[x]' AS a")
    assert "[x]" in out


def test_a_terminal_folds_what_a_pipe_gets_on_one_line(query, monkeypatch):
    question = "SELECT group_id, sentence FROM diagnosis ORDER BY length(sentence) DESC LIMIT 1"
    _, whole, _ = query(question)
    monkeypatch.setattr("kip848_records.cli.query.terminal_width", lambda: 60)
    _, folded, _ = query(question)
    assert len(whole.splitlines()) == 3 < len(folded.splitlines())
    assert max(map(len, folded.splitlines())) <= 60 < max(map(len, whole.splitlines()))
    assert " ".join(folded.split("sentence:", 1)[1].split()) in " ".join(whole.split())


def test_csv_and_json_say_the_same(query, audits):
    text = "SELECT group_id, since, group_epoch, waits_for_away_only FROM group_state ORDER BY group_id"
    _, as_csv, _ = query(text, "--csv")
    _, as_json, _ = query(text, "--json")
    rows = list(csv.DictReader(io.StringIO(as_csv)))
    objects = [json.loads(line) for line in as_json.splitlines()]
    assert [row["group_id"] for row in rows] == [each["group_id"] for each in objects]
    expected = sorted(audits.rows(CAPTURE, "group_state"), key=lambda row: row["group_id"])
    assert [(each["group_id"], each["group_epoch"]) for each in objects] == [
        (row["group_id"], row["group_epoch"]) for row in expected
    ]
    assert [each["since"] for each in objects] == [row["since"].isoformat() for row in expected]
    assert [row["since"] for row in rows] == [each["since"] for each in objects]


RECORDS = "SELECT partition, r.offset, timestamp, group_id, epoch, is_tombstone FROM consumer_group_metadata r"
RECORDS += " ORDER BY partition, r.offset"


def test_records_of_a_type_are_decoded_from_the_log(query, monkeypatch):
    """As they stand in the table that an audit writes on request."""
    of_capture = "--cluster", CLUSTERS[WITH_RECORD_TABLES]
    _, written, _ = query(RECORDS, "--json", *of_capture)
    names = "kip848_records.queries.duck.DuckTables.names"
    monkeypatch.setattr(names, lambda self: self._names - {"consumer_group_metadata"})
    _, decoded, _ = query(RECORDS, "--json", *of_capture)
    assert decoded == written != ""


def test_a_table_that_only_another_cluster_has_hides_no_records(query, captures):
    printed = [record for record in dumped(captures / CAPTURE) if record["type"] == 3]
    _, decoded, _ = query(RECORDS, "--json")
    assert len(decoded.splitlines()) == len(printed) > 0
    code, out, err = query("SELECT count(*) FROM offset_commit")
    assert (code, out) == (2, "")
    assert f"for cluster {CLUSTERS[CAPTURE]!r}: the audit wrote no table of the offset commits" in err


def test_the_table_of_one_cluster_is_not_there_for_the_next_query(audits, captures):
    """As in a check, which asks about cluster after cluster."""
    tables, of_both = DuckTables(str(audits.out)), []
    for capture in (WITH_RECORD_TABLES, CAPTURE):
        of_both.append([record for record in dumped(captures / capture) if record["type"] == 3])
        found = tables.rows(RECORDS, CLUSTERS[capture])
        assert len(found) == len(of_both[-1])
    assert len(tables.rows(RECORDS)) > sum(map(len, of_both))


def test_a_named_question_is_about_one_cluster(tmp_path, capsys):
    eager, cooperative = ({"group_id": "g", "mode": mode} for mode in ("eager", "cooperative"))
    made_tables.write(tmp_path, "a", audit_runs=[{"run": 1}], classic_generation=[eager])
    assert main(["query", str(tmp_path), "generations"]) == 0
    made_tables.write(tmp_path, "b", audit_runs=[{"run": 1}], classic_generation=[cooperative])
    capsys.readouterr()
    for name in questions():
        assert main(["query", str(tmp_path), name]) == 2
        first, second = capsys.readouterr().err.splitlines()
        assert first == f"error: {name} is a question about one cluster, and {tmp_path} has 2"
        assert second == "hint: pass --cluster: a, b"
    assert main(["query", str(tmp_path), "generations", "--cluster", "b", "--csv"]) == 0
    assert [row["mode"] for row in csv.DictReader(io.StringIO(capsys.readouterr().out))] == ["cooperative"]
    assert main(["query", str(tmp_path), "SELECT cluster FROM classic_generation ORDER BY cluster", "--csv"]) == 0
    assert capsys.readouterr().out.split() == ["cluster", "a", "b"]


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (["slowst"], "there is no question 'slowst'", "slowest"),
        (["SELECT nothing FROM group_state"], "the query cannot be answered: Binder Error", "docs/reference/tables.md"),
        (
            ["SELECT 1 FROM nowhere"],
            "the query cannot be answered: Catalog Error: Table with name nowhere",
            "docs/reference/tables.md",
        ),
        (
            ["SELECT 1 FROM group_stat"],
            "the query cannot be answered: Catalog Error: Table with",
            "similar: group_state",
        ),
        (["SELECT 1 FROM slowest"], "the query cannot be answered: Catalog Error: Table with", "slowest is a question"),
        ([], "no question is given", "slowest"),
        (["\n-- SELECT 1"], "the query is empty", "slowest"),
    ],
)
def test_what_is_typed_wrong_is_said_in_one_line(query, arguments, message, hint):
    code, out, err = query(*arguments)
    first, second = err.splitlines()
    assert (code, out) == (2, "")
    assert first.startswith(f"error: {message}")
    assert second.startswith("hint: ")
    assert hint in second
    assert "pg_" not in err  # DuckDB's own tables


@pytest.mark.process
def test_a_folder_of_tables_is_asked_without_spark(audits):
    program = (
        "import sys; from kip848_records.queries.duck import DuckTables; "
        "rows = DuckTables(sys.argv[1]).rows('SELECT count(*) AS n FROM rebalance'); "
        "print(rows[0].n > 0, 'pyspark' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program, audits.out], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "False"]


EVENTS = "rebalance_finished", "trouble_began", "trouble_ended"


def events(capsys, *arguments):
    """The events, each with what later records do not change."""
    capsys.readouterr()
    assert main(["query", *arguments, "--json", "--quiet"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    return [tuple(row[name] for name in ("event", "at", "group_id", "partition", "pattern", "outcome")) for row in rows]


@pytest.mark.slow
def test_events_of_runs_over_a_growing_copy_are_those_of_the_last_one(tmp_path, capsys):
    """A log shipper that asks after each audit gets each event once."""
    rows = [row | {"timestamp": utc(row["timestamp"])} for row in read_capture(CAPTURES / CAPTURE)]
    log = sorted(rows, key=lambda row: (row["timestamp"], row["partition"], row["offset"]))
    out, told, middle = str(tmp_path / "out"), [], len(log) // 3
    for length in (middle, 2 * middle, len(log)):
        copy = tmp_path / f"{length}.json"
        copy.write_text("\n".join(json_lines(log[:length])))
        captured_at = log[length - 1]["timestamp"].isoformat()
        assert main(["audit", str(copy), "--out", out, "--captured-at", captured_at, "--quiet"]) == 0
        new = events(capsys, out, "events", "--since-last-run")
        assert new
        told += new
    every = events(capsys, out, "events")
    assert Counter(told) == Counter(every)
    assert {row[0] for row in every} >= set(EVENTS[:2])


def test_what_was_known_to_be_wrong_at_a_time(audits, capsys):
    """By two times alone: what was recognized, and had not ended."""
    rows = DuckTables(str(audits.out)).rows("SELECT * FROM diagnosis WHERE group_id = 'churn'", CLUSTERS[CAPTURE])
    (loop,) = (row for row in rows if row.explained_by is None)
    for at, is_open in ((loop.recognized_at, True), (loop.recognized_at - timedelta(milliseconds=1), False)):
        arguments = ["--cluster", CLUSTERS[CAPTURE], "--as-of", at.isoformat(), "--json"]
        assert main(["query", str(audits.out), "diagnosis", *arguments]) == 0
        found = [json.loads(line)["group_id"] for line in capsys.readouterr().out.splitlines()]
        assert ("churn" in found) == is_open


@pytest.mark.parametrize(
    ("option", "question"), [(("--as-of", "2026-11-21"), "events"), (("--since-last-run",), "diagnosis")]
)
def test_an_option_of_another_question(query, option, question):
    code, _, err = query(question, *option)
    assert (code, err.count("\n")) == (2, 2)
    assert err.startswith(f"error: {option[0]} does not fit this question\nhint: pass it with ")


def test_sql_may_name_a_relation_of_this_package(query):
    """A table of the query's own has its name, whatever relations there are."""
    text = "WITH groups AS (SELECT 7 AS n) -- FROM health_now\nSELECT n, (SELECT count(*) FROM stuck_now) FROM groups"
    code, out, err = query(text, "--csv")
    assert (code, err) == (0, "")
    n, groups = out.split()[-1].split(",")
    assert n == "7"
    assert int(groups) > 0


@pytest.mark.parametrize("group", ["a\rb", "a\nb", 'a,"b"'])
def test_csv_quotes_an_id(query, group):
    _, printed, _ = query(f"SELECT '{group}' AS group_id", "--csv")
    assert [*csv.reader(io.StringIO(printed, newline=""))] == [["group_id"], [group]]


@pytest.mark.process
def test_an_id_is_written_in_every_locale(tmp_path):
    made_tables.write(tmp_path, "c", audit_runs=[{"version": "1"}], group_state=[{"group_id": "≥ \N{SNAKE}"}])
    command = [sys.executable, "-c", PROGRAM, "query", tmp_path, "SELECT group_id FROM group_state", "--json"]
    ran = subprocess.run(command, env={**os.environ, "PYTHONIOENCODING": "latin-1"}, capture_output=True, check=True)
    assert json.loads(ran.stdout) == {"group_id": "≥ \N{SNAKE}"}

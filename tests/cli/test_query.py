"""`kip848 query`, as its user types it."""

import csv
import io
import json
import subprocess
import sys

import pytest

from kip848_records.cli import main
from kip848_records.queries.duck import DuckTables
from kip848_records.queries.questions import questions
from tests import made_tables
from tests.audits import CLUSTERS, WITH_RECORD_TABLES, dumped

CAPTURE = "kafka-4.3.1"


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
    assert f"has no table of the offset commits of {CLUSTERS[CAPTURE]}" in err


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


def test_a_folder_of_tables_is_asked_without_spark(audits):
    program = (
        "import sys; from kip848_records.queries.duck import DuckTables; "
        "rows = DuckTables(sys.argv[1]).rows('SELECT count(*) AS n FROM rebalance'); "
        "print(rows[0].n > 0, 'pyspark' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program, audits.out], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "False"]

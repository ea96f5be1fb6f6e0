"""What `kip848 report` makes of its arguments, and says of those that it cannot use."""

from datetime import UTC, datetime

import pytest

from kip848_records.cli import main
from kip848_records.tables.registry import DEFAULT
from tests import made_tables

EXPECTATION = """-- name = "no_groups"
-- sentence = "There are no groups"

SELECT
    'violation' AS verdict, CAST(NULL AS string) AS severity, group_id, group_epoch, CAST(NULL AS string) AS member_id,
    partition, CAST(NULL AS bigint) AS offset, 'there is a group of ours' AS message
FROM group_state
"""


def refused(capsys, *arguments):
    assert main(["report", *map(str, arguments)]) == 2
    error, hint = capsys.readouterr().err.splitlines()[-2:]
    assert hint.startswith("hint: ")
    return error


def test_a_file_that_cannot_be_written_is_named_before_spark_starts(capsys, tmp_path):
    file = tmp_path / "nowhere" / "report.html"
    assert refused(capsys, tmp_path, "--out", file).endswith(f"{file}: there is no folder {file.parent}")
    assert refused(capsys, tmp_path, "--out", tmp_path).endswith(f"{tmp_path}: it is a folder")


def test_a_folder_without_tables_is_named(capsys, tmp_path):
    assert f"error: {tmp_path} " in refused(capsys, tmp_path, "--out", tmp_path / "report.html")


def test_a_cluster_that_is_not_there_is_named(capsys, audits, tmp_path):
    error = refused(capsys, audits.out, "--out", tmp_path / "report.html", "--cluster", "elsewhere")
    assert "elsewhere" in error


@pytest.mark.slow
@pytest.mark.parametrize("is_named_by", ["option", "config"])
def test_expectations_of_ones_own_are_on_the_page(tmp_path, is_named_by):
    mine, config, page = tmp_path / "mine", tmp_path / "audit.toml", tmp_path / "report.html"
    mine.mkdir()
    (mine / "no_groups.sql").write_text(EXPECTATION)
    config.write_text('expectation_files = "mine"\n')
    states = [{"group_id": "g", "state": "Stable"}]
    tables = {name: [] for name in DEFAULT if name != "log"} | {"group_state": states}
    run = {"run": 1, "dialect": "kafka", "captured_at": datetime(2026, 1, 1, tzinfo=UTC)}
    made_tables.write(tmp_path / "out", "c", **tables | {"audit_runs": [run]})
    option = ["--expectations", mine] if is_named_by == "option" else ["--config", config]
    assert main(["report", *map(str, [tmp_path / "out", "--out", page, *option])]) == 0
    html = page.read_text(encoding="utf-8")
    assert "no_groups" in html
    assert "there is a group of ours" in html

"""What `kip848 report` says of arguments that it cannot use."""

import pytest

from kip848_records.cli import main


def refused(capsys, *arguments):
    assert main(["report", *map(str, arguments)]) == 2
    error, hint = capsys.readouterr().err.splitlines()[-2:]
    assert hint.startswith("hint: ")
    return error


def test_a_file_that_cannot_be_written_is_named_before_spark_starts(capsys, tmp_path):
    file = tmp_path / "nowhere" / "report.html"
    assert refused(capsys, tmp_path, "--out", file).endswith(f"{file}: there is no folder {file.parent}")
    assert refused(capsys, tmp_path, "--out", tmp_path).endswith(f"{tmp_path}: it is a folder")


@pytest.mark.usefixtures("spark")
def test_a_folder_without_tables_is_named(capsys, tmp_path):
    assert f"error: {tmp_path} " in refused(capsys, tmp_path, "--out", tmp_path / "report.html")


def test_a_cluster_that_is_not_there_is_named(capsys, audits, tmp_path):
    error = refused(capsys, audits.out, "--out", tmp_path / "report.html", "--cluster", "elsewhere")
    assert "elsewhere" in error

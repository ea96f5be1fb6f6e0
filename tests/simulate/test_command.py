"""`kip848 simulate` on the command line."""

import pytest

from kip848_records.cli import main
from kip848_records.errors import InputError
from kip848_records.simulate import Simulation
from kip848_records.simulate.truth.schemas import SCHEMAS


def test_it_says_what_it_wrote_and_what_to_do_with_it(tmp_path, capsys):
    out = tmp_path / "out"
    assert main(["simulate", "--groups", "2", "--members", "2", "--hours", "0.02", "--out", str(out)]) == 0
    printed = capsys.readouterr().out
    assert f"kip848 audit {out}/log --topics {out}/topics.json" in printed
    tables = {path.stem for path in (out / "truth").iterdir()}
    assert tables == {"log_partition", *SCHEMAS}
    assert main(["simulate", "--out", str(out)]) == 2
    assert f"error: there is a log in {out}/log already" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--groups", "0", "cannot simulate groups = 0\nhint: choose groups between 1 and 1,000,000"),
        ("--members", "-1", "cannot simulate members = -1\nhint: choose members between 1 and 10,000"),
        ("--hours", "nan", "cannot simulate hours = nan\nhint: choose hours between 0.001 and 8,784"),
        ("--largest", "0", "cannot simulate largest = 0\nhint: choose largest between 1 and 10,000"),
        ("--largest", "-1", "cannot simulate largest = -1\nhint: choose largest between 0 and 10,000"),
    ],
)
def test_bad_numbers_are_refused_in_one_line(option, value, message, tmp_path, capsys):
    assert main(["simulate", option, value, "--out", str(tmp_path / "out")]) == 2
    assert capsys.readouterr().err == f"error: {message}\n"
    assert not (tmp_path / "out").exists()


def test_a_folder_that_is_a_file_is_refused(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert main(["simulate", "--out", str(tmp_path / "file")]) == 2
    assert capsys.readouterr().err.startswith(f"error: nothing can be written to {tmp_path}/file: ")


def test_the_api_refuses_what_the_command_line_does_not_offer():
    with pytest.raises(InputError, match=r"Kafka 3\.9 cannot be simulated"):
        Simulation(groups=1, release="3.9")
    with pytest.raises(InputError, match="commit_interval_ms = -5"):
        Simulation(groups=1, commit_interval_ms=-5)

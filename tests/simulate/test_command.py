"""`kip848 simulate` on the command line."""

from dataclasses import replace

import pyarrow.parquet as pq
import pytest

from kip848_records.cli import main
from kip848_records.errors import InputError
from kip848_records.simulate import Simulation, simulate
from tests.replay.log_batches import group_of_key


def test_it_says_what_it_wrote_and_what_to_do_with_it(tmp_path, capsys):
    out = tmp_path / "out"
    assert main(["simulate", "--groups", "2", "--members", "2", "--hours", "0.02", "--out", str(out)]) == 0
    printed = capsys.readouterr().out
    assert f"kip848 audit {out}/log --topics {out}/topics.json" in printed
    assert main(["simulate", "--out", str(out)]) == 2
    assert f"error: there is a log in {out}/log already" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--groups", "0", "cannot simulate groups = 0\nhint: choose groups between 1 and 1,000,000"),
        (
            "--share-groups",
            "-1",
            "cannot simulate share_groups = -1\nhint: choose share_groups between 0 and 1,000,000",
        ),
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


def test_every_kind_of_groups_can_be_asked_for(tmp_path, capsys):
    out = tmp_path / "out"
    others = ("classic", "connect", "share", "streams")
    asked = [part for kind in others for part in (f"--{kind}-groups", "1")]
    assert main(["simulate", "--groups", "0", *asked, "--hours", "0.1", "--out", str(out)]) == 0
    assert f"kip848 audit {out}/log" in capsys.readouterr().out
    found = {group_of_key(key) for key in pq.read_table(out / "log")["key"].to_pylist()} - {"simple-consumer"}
    assert found == {"classic-group-00000", "connect-cluster-00000", "share-group-00000", "streams-group-00000"}


@pytest.mark.parametrize(("hours", "notes"), [("0.04", 1), ("0.2", 0)])
def test_a_log_without_an_event_of_a_group_is_noted(tmp_path, capsys, hours, notes):
    asked = ["--groups", "0", "--classic-groups", "1", "--hours", hours]
    assert main(["simulate", *asked, "--out", str(tmp_path / "out")]) == 0
    expected = "note: no group did anything in this time; pass more --hours\n"
    assert capsys.readouterr().err == expected * notes


@pytest.mark.parametrize("kind", ["share", "streams"])
def test_a_release_without_these_groups_is_refused(tmp_path, capsys, kind):
    asked = ["--groups", "0", f"--{kind}-groups", "1", "--release", "4.0"]
    assert main(["simulate", *asked, "--out", str(tmp_path / "out")]) == 2
    message = (
        "share groups and streams groups cannot be simulated with release 4.0\n"
        "hint: use --release 4.3, or omit --share-groups and --streams-groups"
    )
    assert capsys.readouterr().err == f"error: {message}\n"


@pytest.mark.parametrize("kind", ["classic", "connect", "share", "streams"])
def test_a_log_that_may_have_no_group_is_refused(tmp_path, capsys, kind):
    asked = ["--groups", "0", f"--{kind}-groups", "3", "--hours", "0.01"]
    assert main(["simulate", *asked, "--out", str(tmp_path / "out")]) == 2
    expected = "error: cannot simulate hours = 0.01\nhint: choose hours between 0.04 and 8,784\n"
    assert capsys.readouterr().err == expected
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


def files(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.slow
def test_one_seed_is_one_log_however_many_processes_write_it(tmp_path):
    spec = Simulation(groups=8, hours=0.1, happening_s=20, seed=3, partitions=3, compacted=True)
    simulate(spec, tmp_path / "once")
    simulate(spec, tmp_path / "again", processes=2)
    assert files(tmp_path / "once") == files(tmp_path / "again")
    simulate(replace(spec, seed=4), tmp_path / "other")
    assert files(tmp_path / "once") != files(tmp_path / "other")

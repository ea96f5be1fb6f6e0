"""A machine without a network, as docs/install.md describes it: an audit runs with the jars that somebody brought."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests import users

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
# Its own network has nothing but loopback, over which Spark's parts talk to each other.
ISOLATED = ("unshare", "-n", "sh", "-c", 'ip link set lo up && exec "$@"', "sh")
LACKS = "no isolated network here: it takes Linux, unshare, ip, and root"
PROGRAM = "import sys; from kip848_records.command import main; sys.exit(main())"


@pytest.fixture(scope="module")
def ivy():
    """The folder with Spark's jars, where the tests' own sessions put them."""
    (found, *_) = [*Path.home().glob(".ivy2*/jars/io.delta_delta-spark*.jar"), None]
    if found is None:
        pytest.skip("no session fetched its jars on this machine yet")
    return found.parents[1]


@pytest.fixture
def kip848(tmp_path):
    """Run the command with the network off, in an empty home."""
    try:
        subprocess.run([*ISOLATED, "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip(LACKS)
    home = tmp_path / "home"
    home.mkdir()
    kept = {name: value for name, value in users.environment().items() if "proxy" not in name.lower()}
    kept |= {"HOME": str(home), "JAVA_TOOL_OPTIONS": f"-Duser.home={home}", "PYTHONPATH": str(ROOT)}

    def run(*arguments, **variables):
        command = [*ISOLATED, sys.executable, "-c", PROGRAM, *map(str, arguments)]
        environment = kept | variables
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)

    run.home = home
    return run


def audit(kip848, captures, tmp_path, **variables):
    capture = captures / "kafka-4.0.0-zstd" / "segments"
    return kip848("audit", capture, "--out", tmp_path / "out", "--engine", "spark", "--quiet", **variables)


@pytest.mark.nightly
def test_with_the_ivy_folder_of_another_machine(kip848, captures, ivy, tmp_path):
    assert f"`{ivy.name}`" in PAGE
    assert "note     jars" in kip848("doctor").stdout
    shutil.copytree(ivy, kip848.home / ivy.name)
    assert "ok       jars" in kip848("doctor").stdout
    done = audit(kip848, captures, tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "rebalance" / "_delta_log").is_dir()


@pytest.mark.nightly
def test_with_jars_in_any_folder(kip848, captures, ivy, tmp_path):
    """The setting is that of the page, with another folder."""
    (line,) = re.findall(r"^export PYSPARK_SUBMIT_ARGS=(.*)$", PAGE, re.MULTILINE)
    line = line.replace("/opt/kip848/jars", str(ivy / "jars"))
    setting = subprocess.run(["sh", "-c", f"printf %s {line}"], capture_output=True, text=True, check=True).stdout
    assert "ok       jars" in kip848("doctor", PYSPARK_SUBMIT_ARGS=setting).stdout
    done = audit(kip848, captures, tmp_path, PYSPARK_SUBMIT_ARGS=setting)
    assert done.returncode == 0, done.stderr
    assert not [*kip848.home.glob(".ivy2*/jars/*")]


@pytest.mark.slow
def test_without_jars_the_error_names_them(kip848, captures, tmp_path):
    done = audit(kip848, captures, tmp_path)
    error, hint = done.stderr.splitlines()[-2:]
    assert (done.returncode, done.stdout) == (2, "")
    assert error.startswith("error: Spark could not fetch io.delta#delta-spark")
    assert "docs/install.md" in hint

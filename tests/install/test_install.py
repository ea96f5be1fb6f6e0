"""What a first user meets: the package with what its ranges resolve to, in a folder and a home of its own."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kip848_records.cli import _COMMANDS
from tests import users
from tests.docs.pages import HOME_OF_THE_ACCOUNT, ROOT, block

pytestmark = pytest.mark.nightly

# A container has none of these.
ABSENT = ("git", "make", "uv", "pip", "python", "gcc", "cc", "kip848")
PYTHON = Path(sys.base_prefix) / "bin"


@pytest.fixture(scope="module")
def uv():
    from uv import find_uv_bin  # noqa: PLC0415 - a program in a package

    return find_uv_bin()


@pytest.fixture(scope="module")
def container(tmp_path_factory):
    """The environment of a process in a new container: a home that is empty, and few programs.

    Where packages come from is the network's matter, as a proxy is: those settings stay.
    """
    folder = tmp_path_factory.mktemp("container")
    (folder / "home").mkdir()
    (folder / "bin").mkdir()
    for place in ("/usr/local/bin", "/bin", "/usr/bin"):
        for program in Path(place).iterdir() if Path(place).is_dir() else ():
            link = folder / "bin" / program.name
            if not program.name.startswith(ABSENT) and not link.is_symlink():
                link.symlink_to(program)
    java = os.environ.get("JAVA_HOME")
    packages = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "UV_"))}
    return packages | {
        "HOME": str(folder / "home"),
        "JAVA_TOOL_OPTIONS": f"-Duser.home={folder / 'home'}",  # Java would take it from the list of users
        "PATH": f"{folder / 'bin'}:{PYTHON}",
        **({"JAVA_HOME": java} if java else {}),
    }


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    return copy_of_the_clone(tmp_path_factory.mktemp("reader") / "kip848-records")


def copy_of_the_clone(folder):
    """A clone of the repository, without what tests and environments left in it."""
    left = shutil.ignore_patterns(".*", "out", "site", "dist", "__pycache__", "kip848-demo", "*.egg-info")
    return Path(shutil.copytree(ROOT, folder, ignore=left))


def shell(text, folder, environment, code=0):
    """Run lines in a shell; return what they print. The clock is for who reads the output of this test."""
    begin = time.monotonic()
    done = subprocess.run(
        ["bash", "-ec", text], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    print(f"{time.monotonic() - begin:6.1f} s  {text.strip().splitlines()[-1]}")  # noqa: T201 - the clock
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def reader(clone, container):
    """Run lines in a terminal of a reader who followed docs/install.md; pip takes the newest versions."""
    shell(block("test: install"), clone, users.environment(PATH=f"{PYTHON}:{os.environ['PATH']}"))

    def run(text):
        activate, *_ = [line for line in block("test: install").splitlines() if line.startswith("source ")]
        return shell(f"{activate}\n{text}", clone, container)

    return run


def test_the_first_steps_of_the_page(reader, clone):
    """In a new container."""
    assert "An audit can run" in reader("kip848 doctor --out kip848-demo")
    demo = reader(block("test: demo"))
    assert demo.startswith("WARNING  1 of 9 groups stuck")
    assert demo.endswith(f"Open   file://{clone}/kip848-demo/report.html\n")
    steps = reader(block("test: after the demo"))
    assert "stuck-app @ 127.0.0.1 has been asked to give up partitions" in steps
    assert "PASS  " in steps
    package = reader(block("test: folder of the package")).strip()
    assert all((Path(package) / name).is_dir() for name in ("conf", "docs"))


def test_a_machine_without_a_network_gets_it_as_the_page_says(reader, clone, container, tmp_path):
    """The demo on Spark brings the jars into the home."""
    reader(block("test: packed"))
    there = tmp_path / "machine"
    (there / "home").mkdir(parents=True)
    shutil.move(clone / "kip848-offline.tgz", there)
    subprocess.run([PYTHON / "python3", "-m", "venv", there / ".venv"], check=True)
    home = str(there / "home")
    machine = container | {"HOME": home, "JAVA_TOOL_OPTIONS": f"-Duser.home={home}"}
    unpacked = block("test: unpacked").replace(HOME_OF_THE_ACCOUNT, "$HOME")
    said = shell(f"source .venv/bin/activate\n{unpacked}", there, machine)
    assert "ok       jars             Spark has them, or finds them in its Ivy folder" in said
    assert said.endswith("An audit can run\n")


def test_two_commands_give_a_first_result(tmp_path):
    """From nothing, as README.md says: make sets up .venv."""
    folder = copy_of_the_clone(tmp_path / "kip848-records")
    make, explain = block("test: first result").splitlines()
    system = users.environment(PATH=f"{PYTHON}:{os.environ['PATH']}")
    assert "WARNING  1 of 9 groups stuck" in shell(make, folder, system)
    assert (folder / "out" / "report.html").is_file()
    assert "stuck-app @ 127.0.0.1 has been asked to give up partitions" in shell(explain, folder, system)
    tools = subprocess.run([folder / ".venv/bin/python", "-c", "import ruff"], capture_output=True, check=False)
    assert tools.returncode == 1, "an audit needs no tools of the tests"


@pytest.fixture(scope="module")
def lowest(uv, wheel, tmp_path_factory):
    """An environment with the lowest versions that the ranges allow: raise a bound that does not work."""
    folder = tmp_path_factory.mktemp("lowest")
    resolve = [uv, "pip", "compile", "-q", ROOT / "pyproject.toml", "--extra", "spark", "--extra", "notify"]
    subprocess.run([*resolve, "--resolution", "lowest-direct", "-p", sys.executable, "-o", folder / "all"], check=True)
    install(uv, folder / "venv", "-r", folder / "all", wheel)
    return folder


def install(uv, folder, *packages):
    subprocess.run([uv, "venv", "-q", "-p", sys.executable, folder], check=True)
    subprocess.run([uv, "pip", "install", "-q", "-p", folder / "bin" / "python", *packages], check=True)


def test_the_lowest_versions_run_all_commands(lowest):
    kept = users.environment()

    def run(command):
        return shell(f"venv/bin/kip848 {command}", lowest, kept)

    assert "An audit can run" in run("doctor")
    assert run("demo --no-browser").startswith("WARNING  1 of 9 groups stuck")
    forms = "--json r.json --junit r.xml --sarif r.sarif --markdown r.md --openmetrics r.prom"
    assert "PASS  " in run(f"check kip848-demo {forms} --webhook http://127.0.0.1:9/")
    assert all((lowest / name).stat().st_size for name in ("r.json", "r.xml", "r.sarif", "r.md", "r.prom"))
    assert "9 groups, 1 deleted" in run("report kip848-demo --out page.html")
    assert "slow-revoke" in run("query kip848-demo slowest")
    assert "stuck-app" in run("explain kip848-demo --group stuck")
    assert "ConsumerGroupMetadata" in run(f"inspect {ROOT}/tests/captures/kafka-4.3.1/segments --type 3 --limit 1")
    assert "to audit them" in run("simulate --groups 2 --members 2 --hours 0.1 --out simulated")


@pytest.mark.parametrize("extra", ["", "[notify]", "[docs]"])
def test_without_spark_every_command_has_help(uv, wheel, tmp_path, extra):
    """The same as in test_wheel.py, with what the package index gives."""
    install(uv, tmp_path / "venv", f"{wheel}{extra}")
    for words in ((), *((command,) for command in _COMMANDS)):
        program = [tmp_path / "venv" / "bin" / "kip848", *words, "--help"]
        done = subprocess.run(program, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, ""), words

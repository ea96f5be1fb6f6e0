"""What every test may ask for. Spark starts with the first test that asks for it."""

import gc
import json
import os
import pickle
import shutil
import signal
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from fcntl import LOCK_EX, flock
from pathlib import Path

import hypothesis
import pytest
from hypothesis import strategies
from xdist.scheduler import LoadFileScheduling

from kip848_records.spark.session import get_session
from tests import seeds
from tests.broker.running import running_broker
from tests.budget import Budget
from tests.downloads import UnavailableError
from tests.equal_rows import differences
from tests.isolation import Isolation
from tests.sessions import CLASSIC, CONNECT, connected, kind_of, mode

_HERE = Path(__file__).parent
_CAPTURES = sorted(oracle.parent for oracle in (_HERE / "captures").glob("*/oracle"))

# The quick compiler alone: many small jobs spend a third of their CPU time on code that the thorough one will not pay
# for in a few minutes. Its code takes more room than Java gives it by default, and without room nothing is compiled.
QUICK_JAVA = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=512m -XX:+UseSerialGC"


# Thousands of small queries pay more for Java code made for each than they gain from it. What runs by spark-submit, and
# so a user's whole audit, is tested with that code.
_INTERPRETED = "--conf spark.sql.codegen.wholeStage=false --conf spark.sql.codegen.factoryMode=NO_CODEGEN"


# An example may take long on a busy machine.
hypothesis.settings.register_profile("no deadline", deadline=None)
hypothesis.settings.load_profile("no deadline")


def pytest_addoption(parser):
    parser.addoption("--cpu", type=int, default=0, metavar="N", help="print the CPU s of folders, and of N cases")


def pytest_configure(config):
    seeds.share_with_workers()
    if not hasattr(config, "workerinput"):
        descriptor, os.environ[_PROGRAMS] = tempfile.mkstemp(prefix="kip848-tests-")
        os.close(descriptor)
        use_folders_in_memory()
    heed_interrupts()
    config.pluginmanager.register(Budget(config))
    config.pluginmanager.register(Isolation())


_IN_MEMORY = Path("/dev/shm")  # noqa: S108 - pytest makes a private folder in it
_ENOUGH_BYTES = 8 << 30


def use_folders_in_memory():
    """Put the temporary folders of tests into memory where there is room, unless somebody chose a place.

    An audit makes about ninety folders and as many small files: that is a fifth of its time where a disk takes a
    millisecond for each. A folder is removed once its test has passed.
    """
    if _IN_MEMORY.is_dir() and shutil.disk_usage(_IN_MEMORY).free > _ENOUGH_BYTES:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(_IN_MEMORY))


# Set in the process that hands out the cases: a file in which the first worker says which of them need which program.
_PROGRAMS = "KIP848_TESTS_PROGRAMS"


class ByFile(LoadFileScheduling):
    """Gives workers whole files, and one all cases that need the same program: it is started once, and is warm."""

    def __init__(self, config, log):
        super().__init__(config, log)
        self._programs = None

    def _split_scope(self, nodeid):
        if self._programs is None:  # by now all workers have collected
            self._programs = json.loads(Path(os.environ[_PROGRAMS]).read_text())
        return self._programs.get(nodeid) or super()._split_scope(nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    return ByFile(config, log) if config.getoption("dist") == "loadfile" else None


def pytest_unconfigure(config):
    if not hasattr(config, "workerinput") and _PROGRAMS in os.environ:
        Path(os.environ.pop(_PROGRAMS)).unlink(missing_ok=True)


def heed_interrupts():
    """Take Ctrl-C as Python does, also where this run was started with SIGINT ignored.

    Shells without job control ignore it for what runs in the background (`make test &`), and so do some CI agents.
    Each program that a test starts would inherit this, and Python then installs no handler: nothing could be
    interrupted.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


# In continuous integration a skipped test is a failed one: without a broker, Kafka's definitions, a browser or a schema
# the run would be green, and have compared nothing. `.ci/run` sets it; a laptop keeps its skips.
MUST_RUN = "KIP848_TESTS_MUST_RUN"


def pytest_report_header():
    return seeds.how_to_repeat()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    report = yield
    if report.failed and any(map(item.get_closest_marker, ("daily", "nightly"))):
        report.sections.append(("Another seed each day", seeds.how_to_repeat()))
    return report if item.get_closest_marker("not_everywhere") else _failed_if_skipped(report)


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    # A collection makes objects that live until the end, and of new files syntax trees: nothing of them is garbage.
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    if not isinstance(collector, pytest.Module):
        return _failed_if_skipped((yield))
    # In a new clone each worker would rewrite the assertions of all files: the first at a file does, others read it.
    with collector.path.open() as file:
        flock(file, LOCK_EX)
        return _failed_if_skipped((yield))


def _failed_if_skipped(report):
    """Fail what was skipped, with its reason, where all tests must run; expected failures are reported as skips too."""
    if report.skipped and not hasattr(report, "wasxfail") and os.environ.get(MUST_RUN):
        *_, reason = report.longrepr
        report.outcome = "failed"
        report.longrepr = f"{reason}\nEach test must run here, because {MUST_RUN} is set."
    return report


def pytest_assertrepr_compare(op, left, right):
    return differences(left, right) if op == "==" else None


# What a test needs, by the fixtures that bring it: `-m "not spark"` leaves out what starts a JVM.
MARKS = {
    "spark": {"spark", "classic", "connect"},
    "broker": {"broker"},
    "browser": {"chromium"},
    "process": {"wheel"},
}
SHARED_PROGRAMS = ("spark", "broker")
"""Marks of programs that a whole run starts once. A case that needs both runs on the worker of Spark."""


@pytest.hookimpl(tryfirst=True)  # `-m` goes by these marks
def pytest_collection_modifyitems(config, items):
    programs = {}
    for item in items:
        needs = {mark for mark, fixtures in MARKS.items() if not fixtures.isdisjoint(item.fixturenames)}
        # A test that runs on each engine asks for a session only on the turn of Spark.
        if hasattr(item, "callspec") and any(str(value) == "spark" for value in item.callspec.params.values()):
            needs.add("spark")
        for mark in needs:
            item.add_marker(mark)
        programs[item.nodeid] = next((program for program in SHARED_PROGRAMS if program in needs), None)
        if getattr(item.obj, "is_hypothesis_test", False):
            item.fixturenames.append("hypothesis_is_ready")
        names = {mark.name for mark in item.iter_markers()}
        if names & {"spark", "broker", "browser"} and not names & {"essential", "nightly"}:
            item.add_marker("slow")
    if getattr(config, "workerinput", {}).get("workerid") == "gw0":
        Path(os.environ[_PROGRAMS]).write_text(json.dumps(programs))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    with mode(kind_of(item)):
        return (yield)


@pytest.fixture(scope="session")
def hypothesis_is_ready():
    """In a new clone Hypothesis looks for constants in all modules, and makes a table of characters: no case's cost."""

    @hypothesis.settings(max_examples=1, database=None)
    @hypothesis.given(strategies.text(), strategies.integers())
    def draw(text, number):
        """Draw once."""

    draw()


@pytest.fixture
def engine():
    """The engine in this process: rules are the same on both, which `tests/log/test_both_engines.py` shows."""
    from kip848_records.engines.embedded.engine import EmbeddedEngine  # noqa: PLC0415 - many tests need no engine

    return EmbeddedEngine()


@pytest.fixture(scope="session")
def spark(request, classic):
    """A session; tests with the mark `tests.sessions.BOTH` get one of each kind, one after the other."""
    return request.getfixturevalue("connect") if getattr(request, "param", CLASSIC) == CONNECT else classic


@pytest.fixture(scope="session")
def connect(classic):
    """The session of Spark Connect, one for all tests: who asks for the active session gets it."""
    return connected(classic)


@pytest.fixture(scope="session")
def classic():
    """The session in the process of the JVM: for what writes Delta tables, too."""
    arguments = f'--driver-java-options "{QUICK_JAVA}" {_INTERPRETED} pyspark-shell'
    with mode(CLASSIC), pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_SUBMIT_ARGS", arguments)
        session = get_session("kip848-tests")
    yield session
    session.stop()


@pytest.fixture(scope="session")
def captures():
    """The folder of the captures of real brokers; its README says what is in each."""
    return _HERE / "captures"


def made_once(tmp_path_factory, name, make):
    """Return what a function makes in a new folder: the worker that asks first calls it, and the others wait."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    made = folder / f"{name}.pickle"
    with (folder / f"{name}.lock").open("w") as lock:
        flock(lock, LOCK_EX)
        if not made.exists():
            made.write_bytes(pickle.dumps(make(folder / name)))
    return pickle.loads(made.read_bytes())  # noqa: S301 - our own


@pytest.fixture(scope="session")
def large_copies(tmp_path_factory):
    """Two copies of a log that worker processes replay."""
    from tests.large_copies import make  # noqa: PLC0415 - only slow tests simulate

    return made_once(tmp_path_factory, "copies", make)


@pytest.fixture(scope="session")
def audits(tmp_path_factory):
    """All captures, audited without Spark and with everything on: clusters beside each other, with odd names."""
    from tests.audits import audit_captures  # noqa: PLC0415 - with all of the package: most tests need a part

    return made_once(tmp_path_factory, "audits", lambda folder: audit_captures(_CAPTURES, folder))


@pytest.fixture(scope="session")
def kinds(tmp_path_factory):
    """Tables of the groups in `kinds/`, of real brokers: a cluster for each file."""
    from tests.audits import audit_file  # noqa: PLC0415 - as above

    folder = tmp_path_factory.mktemp("kinds")
    for file in sorted((_HERE / "kinds").glob("*.parquet")):
        audit_file(folder, file.stem, file)
    return folder


@pytest.fixture(scope="session")
def wheel(tmp_path_factory):
    """The project as it is installed elsewhere."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder]
    subprocess.run(command, cwd=_HERE.parent, check=True)
    (made,) = folder.glob("kip848_records-*.whl")
    return made


@pytest.fixture(scope="session")
def broker(tmp_path_factory):
    """A real Kafka broker, one for each worker: a test takes names of topics and groups that are its own."""
    with ExitStack() as stack:
        try:
            running = stack.enter_context(running_broker(tmp_path_factory.mktemp("broker")))
        except UnavailableError as unavailable:
            pytest.skip(str(unavailable))
        yield running


@pytest.fixture(params=_CAPTURES, ids=lambda path: path.name)
def capture(request):
    """One capture's folder: a test that asks for it runs on each."""
    return request.param


@pytest.fixture(scope="session")
def vectors():
    """The folder of records that Kafka's own serializers encoded."""
    return _HERE / "vectors"

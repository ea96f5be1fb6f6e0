import os
import subprocess
import sys
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from types import SimpleNamespace

import pyspark
import pytest
from pyspark.sql import functions as F

from kip848_records.machine import paths
from kip848_records.machine.paths import SPARK_VARIABLES
from kip848_records.spark import conf as spark_conf
from kip848_records.spark import session
from kip848_records.spark.setup_errors import SetupError
from tests import users

_ROOT = Path(__file__).parents[2]
_DEFAULTS = _ROOT / "conf" / "spark-defaults.conf"
_START = (
    "from kip848_records.spark.session import get_session; "
    "print(get_session().conf.get('spark.sql.shuffle.partitions'))"
)
_START_AND_REPORT = f"""
import sys
from kip848_records.spark.setup_errors import SetupError
try:
    {_START}
except SetupError as error:
    sys.exit(str(error))
"""


@pytest.fixture
def run(tmp_path):
    """Run a program in a folder of its own, without the Spark that these tests may have started."""

    def start(*command, **variables):
        kept = users.environment()
        path = f"{Path(sys.executable).parent}{os.pathsep}{kept['PATH']}"
        env = kept | {"PATH": path, "TMPDIR": str(tmp_path)} | variables
        return subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)

    return start


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "job.py"
    path.write_text(_START_AND_REPORT)
    return path


_CLIENT_ALONE = """
import sys
sys.modules.update(dict.fromkeys(["delta", "py4j", "pyspark.core", "pyspark.java_gateway"]))
import kip848_records.engines.spark.engine, kip848_records.queries.spark, kip848_records.spark.session
"""


@pytest.mark.slow
def test_the_client_of_connect_is_enough_where_a_server_offers_a_session(run):
    """`pyspark-client` says that it is alone, which PySpark's own tests say by this variable."""
    done = run(sys.executable, "-c", _CLIENT_ALONE, SPARK_SKIP_CONNECT_COMPAT_TESTS="1")
    assert (done.returncode, done.stderr) == (0, "")


def test_java_says_in_english_that_a_disk_is_full(classic):
    """Its errors have the system's text, in the language that takes precedence over all of the locale."""
    assert classic.sparkContext._jvm.java.lang.System.getenv("LANGUAGE") == "C"


@pytest.mark.parametrize("value", [None, "de"])
def test_variables_of_the_jvm_are_not_left_in_this_process(monkeypatch, value):
    monkeypatch.delenv("SPARK_CONF_DIR", raising=False)
    monkeypatch.delenv("LANGUAGE", raising=False)
    if value is not None:
        monkeypatch.setenv("LANGUAGE", value)
    before = dict(os.environ)
    with session._variables_of_the_jvm():
        assert (os.environ["SPARK_CONF_DIR"], os.environ["LANGUAGE"]) == (str(_DEFAULTS.parent), "C")
    assert os.environ == before


def test_the_active_session_is_used(spark):
    assert session.get_session() is spark


@pytest.mark.essential
@pytest.mark.usefixtures("classic")
def test_a_later_command_of_this_process_takes_nothing_of_ours_for_a_user_s_setting():
    """Such settings choose the engine: an audit after this session would run on Spark by accident."""
    assert SPARK_VARIABLES.isdisjoint(os.environ)


def test_the_time_zone_is_made_utc(spark):
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    session.get_session()
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"


def test_workers_run_the_session_s_interpreter(spark):
    def interpreter(batches):
        for batch in batches:
            yield batch.from_pydict({"path": [sys.executable]})

    assert spark.range(1).mapInArrow(interpreter, "path string").first().path == sys.executable


def test_workers_get_no_more_than_some_mb_at_a_time(spark):
    def sizes(batches):
        for batch in batches:
            yield batch.from_pydict({"mb": [batch.nbytes >> 20]})

    large = spark.range(0, 6, 1, 1).select(F.encode(F.repeat(F.lit("x"), 15 << 20), "utf-8").alias("value"))
    assert max(row.mb for row in large.mapInArrow(sizes, "mb long").collect()) < 32 + 15


def test_a_session_without_delta_is_refused():
    other = SimpleNamespace(conf={"spark.sql.session.timeZone": "UTC", "spark.sql.extensions": "a.B"})
    with pytest.raises(SetupError, match="pass --properties-file"):
        session._check_settings(other)


def test_databricks_brings_delta_in_its_own_way(monkeypatch):
    monkeypatch.setenv("DATABRICKS_RUNTIME_VERSION", "16.4")
    session._check_settings(SimpleNamespace(conf={"spark.sql.session.timeZone": "UTC"}))


def test_settings_come_with_the_package_or_from_the_checkout(tmp_path, monkeypatch):
    assert spark_conf.conf_dir() == _ROOT / "conf"
    (tmp_path / "conf").mkdir()
    monkeypatch.setattr(paths, "_PACKAGE", tmp_path)
    assert spark_conf.conf_dir() == tmp_path / "conf"


@pytest.mark.parametrize("variable", [None, ""])
def test_the_configuration_folder_is_ours_unless_the_user_has_one(tmp_path, monkeypatch, variable):
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    assert spark_conf.spark_conf_dir() == tmp_path
    if variable is None:
        monkeypatch.delenv("SPARK_CONF_DIR")
    else:
        monkeypatch.setenv("SPARK_CONF_DIR", variable)
    assert spark_conf.spark_conf_dir() == _ROOT / "conf"


class TestVersions:
    @pytest.fixture(autouse=True)
    def our_settings(self, monkeypatch):
        monkeypatch.setenv("SPARK_CONF_DIR", str(_DEFAULTS.parent))
        monkeypatch.delenv("SPARK_HOME", raising=False)

    def test_the_installed_ones_fit(self):
        spark_conf.check_versions()

    def test_another_spark(self, monkeypatch):
        monkeypatch.setattr(spark_conf, "version", {"pyspark": "4.1.0", "delta-spark": "4.4.0"}.get)
        with pytest.raises(SetupError, match=r"pyspark 4\.1\.0 .* does not match .*; pip install 'pyspark==4\.0\.\*'"):
            spark_conf.check_versions()

    def test_another_delta(self, monkeypatch):
        monkeypatch.setattr(spark_conf, "version", {"pyspark": pyspark.__version__, "delta-spark": "4.3.0"}.get)
        with pytest.raises(SetupError, match=r"delta-spark 4\.3\.0 does not match .*'delta-spark==4\.4\.0'"):
            spark_conf.check_versions()

    def test_no_delta(self, monkeypatch):
        def absent(name):
            raise PackageNotFoundError(name)

        monkeypatch.setattr(spark_conf, "version", absent)
        with pytest.raises(SetupError, match=r"there is no module delta; pip install 'kip848-records\[spark\]'"):
            spark_conf.check_versions()

    def test_a_spark_home_of_another_release(self, monkeypatch, tmp_path):
        monkeypatch.setenv("SPARK_HOME", str(tmp_path))
        with pytest.raises(SetupError, match="unset SPARK_HOME"):
            spark_conf.check_versions()

    def test_a_configuration_folder_of_the_user_s_own(self, monkeypatch, tmp_path):
        """It may name the jars of any Spark, and so of that of SPARK_HOME."""
        monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
        monkeypatch.setenv("SPARK_HOME", str(tmp_path))
        spark_conf.check_versions()

    def test_pins_and_jars_agree(self):
        pins = (_ROOT / "conf" / "constraints.txt").read_text().splitlines()
        assert f"pyspark=={pyspark.__version__}" in pins
        assert "delta-spark==4.4.0" in pins
        assert "io.delta:delta-spark_4.0_2.13:4.4.0" in _DEFAULTS.read_text()


@pytest.mark.slow
def test_a_start_leaves_the_terminal_and_the_temp_folder_clean(run, tmp_path):
    started = run(sys.executable, "-c", _START)
    assert (started.returncode, started.stdout, started.stderr) == (0, "4\n", "")
    assert not list(tmp_path.glob("kip848-spark-*.log"))


@pytest.mark.slow
def test_a_context_without_a_session_is_used(run):
    program = f"""
from pyspark import SparkContext
context = SparkContext(appName="of a program")
{_START.replace("conf.get('spark.sql.shuffle.partitions')", "sparkContext is context")}
"""
    settings = {"SPARK_CONF_DIR": str(_DEFAULTS.parent)}
    started = run(sys.executable, "-c", program, **settings)
    assert (started.returncode, started.stdout.splitlines()[-1:]) == (0, ["True"]), started.stderr


@pytest.mark.slow
def test_jars_that_cannot_be_fetched(run, script, tmp_path):
    settings = tmp_path / "ivysettings.xml"
    # Port 9 of this machine: nobody answers.
    settings.write_text(
        '<ivysettings><settings defaultResolver="closed"/><resolvers>'
        '<ibiblio name="closed" m2compatible="true" root="http://127.0.0.1:9/"/></resolvers></ivysettings>'
    )
    arguments = f"--conf spark.jars.ivySettings={settings} --conf spark.jars.ivy={tmp_path} pyspark-shell"
    started = run(sys.executable, str(script), PYSPARK_SUBMIT_ARGS=arguments)
    (line,) = started.stderr.splitlines()
    assert line.startswith("Spark could not fetch io.delta#delta-spark_4.0_2.13;4.4.0, org.apache.spark#")
    log = next(tmp_path.glob("kip848-spark-*.log"))
    assert str(log) in line
    assert "unresolved dependency" in log.read_text()


@pytest.mark.slow
def test_a_jvm_that_does_not_start(run, script, tmp_path):
    arguments = "--conf spark.driver.memory=1x pyspark-shell"
    started = run(sys.executable, str(script), PYSPARK_SUBMIT_ARGS=arguments)
    log = next(tmp_path.glob("kip848-spark-*.log"))
    assert started.stderr == f"Spark did not start; see the reason in {log}\n"
    assert "Invalid maximum heap size" in log.read_text()


@pytest.mark.slow
def test_spark_submit_without_our_settings_says_how_to_pass_them(run, script):
    started = run("spark-submit", str(script))
    assert started.returncode != 0
    # spark-submit prints both streams of its program as one.
    (line,) = started.stdout.splitlines()
    assert line.endswith("or add those settings to the session")

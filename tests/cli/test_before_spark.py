"""What can be said before Spark starts is said then: of paths, options and settings, without a JVM, and soon."""

import fcntl
import os
import subprocess
import sys
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage

import pytest

from kip848_records.cli import before_spark, main
from kip848_records.errors import InputError
from kip848_records.machine import paths
from kip848_records.machine.paths import SPARK_VARIABLES, known_path
from kip848_records.spark import session

_URL = "kafka://127.0.0.1:9/__consumer_offsets"


@pytest.fixture(autouse=True)
def no_spark(monkeypatch):
    """As on a machine where nobody started Spark: the tests' own session would be asked where paths lie."""
    monkeypatch.setattr(paths, "_active_session", lambda: None)
    for name in SPARK_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(session, "get_session", lambda **_: pytest.fail("Spark was started"))


@pytest.fixture
def refused(capsys):
    """Run a command line that is refused before any work; its error and its hint."""

    def run(*arguments):
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as end:
            code = end.code
        said = capsys.readouterr()
        assert (code, said.out) == (2, ""), said.err
        error, hint = said.err.splitlines()
        return error.removeprefix("error: "), hint.removeprefix("hint: ")

    return run


@pytest.fixture
def broker(tmp_path):
    """A broker's data folder."""
    folder = tmp_path / "broker"
    (folder / "__consumer_offsets-0").mkdir(parents=True)
    (folder / "__consumer_offsets-0" / f"{0:020}.log").touch()
    (folder / "meta.properties").touch()
    return folder


@pytest.fixture
def dump(tmp_path):
    file = tmp_path / "dumps" / "dump.parquet"
    file.parent.mkdir()
    file.touch()
    return file


def settings(folder, text):
    (folder / "client.properties").write_text(text)
    return folder / "client.properties"


class TestOutputs:
    def test_into_a_broker_s_data_folder(self, refused, broker):
        error, hint = refused("audit", broker, "--out", broker / "tables")
        assert error == f"--out {broker}/tables lies in the source {broker}"
        assert hint == "pass a folder outside of it with --out"

    @pytest.mark.parametrize("source", ["__consumer_offsets-0", f"__consumer_offsets-0/{0:020}.log"])
    def test_beside_a_partition_of_a_broker(self, refused, broker, source):
        error, hint = refused("audit", broker / source, "--out", broker / "tables")
        assert error == (
            f"--out {broker}/tables lies in the data folder of a Kafka broker: {broker} has meta.properties"
        )
        assert hint.startswith("pass a folder outside of it with --out: the broker does not start")

    @pytest.mark.parametrize("out", ["tables", "a/b/c", "__consumer_offsets-1", "__consumer_offsets-0/tables", ""])
    @pytest.mark.parametrize("sign", ["meta.properties", "__consumer_offsets-0"])
    def test_into_the_folder_of_another_broker(self, refused, broker, dump, sign, out):
        (broker / ("__consumer_offsets-0" if sign == "meta.properties" else "meta.properties")).rename(broker / "x")
        error, _ = refused("audit", dump, "--out", broker / out)
        assert error.startswith(f"--out {broker / out} lies in the data folder of a Kafka broker: {broker}")
        assert error.endswith(sign) or out.startswith("__consumer_offsets-")

    @pytest.mark.parametrize("out", ["", "new/a"])
    def test_in_a_table(self, refused, dump, tmp_path, out):
        table = tmp_path / "out" / "audit_runs"
        (table / "_delta_log").mkdir(parents=True)
        error, hint = refused("audit", dump, "--out", table / out)
        assert error == f"--out {table / out} lies in the Delta table {table}"
        assert hint == "pass a folder outside of it with --out"

    def test_a_folder_that_would_be_a_partition(self, refused, dump, tmp_path):
        error, _ = refused("audit", dump, "--out", tmp_path / "__consumer_offsets-3")
        assert "lies in the data folder of a Kafka broker" in error

    @pytest.mark.parametrize(
        ("out", "relation"), [("dumps", "is"), ("dumps/a/b", "lies in"), ("link/a", "lies in"), (".", "holds")]
    )
    def test_at_the_folder_of_a_dump(self, refused, dump, tmp_path, out, relation):
        (tmp_path / "link").symlink_to("dumps")
        error, _ = refused("audit", dump.parent, "--out", tmp_path / out)
        assert error == f"--out {tmp_path / out} {relation} the source {dump.parent}"

    def test_the_source_of_several_that_it_is_at_is_named(self, refused, dump, broker, tmp_path):
        error, _ = refused("audit", broker, dump, "--out", tmp_path / "dumps")
        assert error == f"--out {tmp_path}/dumps holds the source {dump}"

    def test_every_folder_of_an_audit(self, refused, broker, tmp_path):
        error, _ = refused("audit", _URL, "--out", tmp_path / "out", "--scratch", broker / "x")
        assert error.startswith(f"--scratch {broker}/x lies in the data folder of a Kafka broker")

    @pytest.mark.parametrize("option", ["--out", "--junit", "--sarif", "--json", "--markdown"])
    def test_every_output_of_a_check(self, refused, dump, option):
        error, _ = refused("check", dump.parent, option, dump.parent / "x")
        assert error == f"{option} {dump.parent}/x lies in the source {dump.parent}"

    def test_results_of_tables_may_lie_beside_them(self, tmp_path):
        (tmp_path / "tables" / "any" / "_delta_log").mkdir(parents=True)
        before_spark.check_outputs({"--junit": f"{tmp_path}/tables/results.xml"})

    @pytest.mark.parametrize("command", [["report", "TABLES", "--out", "OUT"], ["simulate", "--out", "OUT"]])
    def test_what_other_commands_write(self, refused, broker, tmp_path, command):
        (tmp_path / "tables" / "any" / "_delta_log").mkdir(parents=True)
        paths = {"TABLES": tmp_path / "tables", "OUT": broker / "x"}
        error, _ = refused(*(paths.get(word, word) for word in command))
        assert error.startswith(f"--out {broker}/x lies in the data folder of a Kafka broker")

    def test_beside_the_source_is_fine(self, broker, dump, tmp_path):
        before_spark.check_outputs({"--out": f"{tmp_path}/out", "--scratch": None}, [str(broker), str(dump)])
        before_spark.check_outputs({"--out": f"{tmp_path}/brokers"}, [str(tmp_path / "broker")])

    @pytest.mark.parametrize(
        ("out", "refused"),
        [("s3a://b/log/x", True), ("s3a://b/log", True), ("s3a://b", True), ("s3a://b/logs", False), ("/log/x", False)],
    )
    def test_paths_elsewhere_are_compared_as_they_are(self, out, refused):
        message = r"^--out s3a://b\S* (is|lies in|holds) the source s3a://b/log/"
        with pytest.raises(InputError, match=message) if refused else nullcontext():
            before_spark.check_outputs({"--out": out}, ["s3a://b/log/"])


class TestSources:
    @pytest.mark.parametrize("command", [["audit", "--out", "o"], ["check"], ["inspect"]])
    def test_nothing_is_there(self, refused, tmp_path, command):
        error, hint = refused(command[0], tmp_path / "nowhere", *command[1:])
        assert error == f"there is nothing at {tmp_path}/nowhere"
        of_tables = "the folder of the tables of an audit, or a log: " if command == ["check"] else ""
        assert hint.startswith(f"expected {of_tables}a broker's data folder")

    @pytest.mark.parametrize("command", [["audit", "--out", "o"], ["check"], ["explain", "--group", "g"]])
    def test_a_name_that_is_similar(self, refused, tmp_path, command):
        (tmp_path / "nights").mkdir()
        _, hint = refused(command[0], tmp_path / "nigths", *command[1:])
        assert hint == "similar: nights"

    @pytest.mark.parametrize("command", [["audit", "--out", "o"], ["check"], ["explain", "--group", "g"]])
    @pytest.mark.parametrize("topic", ["", "/__consumer_offsets"])
    def test_the_address_of_a_broker(self, refused, command, topic):
        error, hint = refused(command[0], f"broker-1.example.com:9092{topic}", *command[1:])
        assert error == f"there is no file broker-1.example.com:9092{topic}, and a live topic is named by a URL"
        assert hint == "did you mean kafka://broker-1.example.com:9092/__consumer_offsets?"

    def test_each_source_is_looked_at(self, refused, dump, tmp_path):
        (tmp_path / "empty").mkdir()
        assert refused("inspect", dump, tmp_path / "empty")[0] == f"{tmp_path}/empty holds no files to read"

    def test_no_source(self, refused, tmp_path):
        (tmp_path / "README.md").touch()
        error, _ = refused("audit", tmp_path / "README.md", "--out", tmp_path / "out")
        assert error == f"{tmp_path}/README.md is not a dump of __consumer_offsets: its file names match no format"

    def test_a_format_that_is_none(self, refused, dump, tmp_path):
        error, hint = refused("audit", dump, "--out", tmp_path / "out", "--format", "csv")
        assert error == "there is no format 'csv'"
        assert hint == "use one of segments, parquet, delta, json"

    def test_files_of_another_format(self, refused, dump):
        error, _ = refused("inspect", dump.parent, "--format", "segments")
        assert error == f"{dump.parent} holds no files of the format segments"

    def test_an_audit_s_tables(self, refused, tmp_path):
        (tmp_path / "audit_runs" / "_delta_log").mkdir(parents=True)
        (tmp_path / "audit_runs" / "_delta_log" / f"{0:020}.json").touch()
        assert refused("inspect", tmp_path)[0] == f"{tmp_path} holds the tables of an audit, not a log"

    def test_a_file_that_may_not_be_read(self, refused, dump, monkeypatch):
        monkeypatch.setattr(os, "access", lambda path, _: path != dump)
        error, _ = refused("inspect", dump)
        assert error == f"{dump} cannot be read: Permission denied"

    @pytest.mark.parametrize("path", ["s3a://bucket/log", "hdfs://host/log", _URL])
    def test_of_paths_elsewhere_nothing_is_known(self, path):
        assert known_path(path) is None

    @pytest.mark.parametrize("name", sorted(SPARK_VARIABLES))
    def test_nor_where_the_default_file_system_may_be_another(self, monkeypatch, name):
        assert str(known_path("log")) == "log"
        monkeypatch.setenv(name, "x")
        assert known_path("log") is None


class TestTables:
    def test_none_are_there(self, refused, tmp_path):
        (tmp_path / "empty").mkdir()
        error, _ = refused("maintain", tmp_path / "empty", "--keep", "1d")
        assert error == f"{tmp_path}/empty has no table audit_runs"
        assert refused("maintain", tmp_path / "emtpy", "--keep", "1d") == (
            f"there is nothing at {tmp_path}/emtpy",
            "similar: empty",
        )

    @pytest.mark.parametrize(
        "command", [["explain", "--group", "g"], ["report", "--out", "x"], ["check"], ["query", "--sql", "slowest"]]
    )
    def test_neither_tables_nor_a_log_are_there(self, refused, tmp_path, command):
        (tmp_path / "empty").mkdir()
        for folder, says in {"nowhere": "there is nothing at {}", "empty": "{} holds no files to read"}.items():
            error, _ = refused(command[0], tmp_path / folder, *command[1:])
            assert error == says.format(tmp_path / folder)

    def test_another_run_writes_to_them(self, refused, dump, tmp_path):
        (tmp_path / "out").mkdir()
        lock = os.open(tmp_path / "out", os.O_RDONLY)
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            error, _ = refused("audit", dump, "--out", tmp_path / "out")
        finally:
            os.close(lock)
        assert error == f"another run writes to the tables in {tmp_path}/out"
        before_spark.check_folder(str(tmp_path / "out"))

    @pytest.mark.parametrize("out", ["file", "file/below"])
    def test_a_file_stands_in_their_place(self, refused, dump, tmp_path, out):
        (tmp_path / "file").touch()
        error, hint = refused("audit", dump, "--out", tmp_path / out)
        assert error == f"nothing can be written to {tmp_path / out}: {tmp_path}/file is a file"
        assert hint == "pass a folder that you can write to with --out; it need not exist"

    def test_a_file_stands_in_the_place_of_another_folder(self, refused, tmp_path):
        (tmp_path / "file").touch()
        error, hint = refused("audit", _URL, "--out", tmp_path / "out", "--scratch", tmp_path / "file")
        assert error == f"nothing can be written to {tmp_path}/file: {tmp_path}/file is a file"
        assert hint == "pass a folder that you can write to with --scratch; it need not exist"

    def test_the_scratch_folder_of_a_retention(self, refused, tmp_path):
        (tmp_path / "file").touch()
        schema = ("--catalog", "main", "--schema", "kafka", "--scratch", tmp_path / "file")
        error, _ = refused("maintain", *schema, "--keep", "1d")
        assert error == f"nothing can be written to {tmp_path}/file: {tmp_path}/file is a file"

    def test_a_folder_that_is_not_the_user_s(self, refused, dump, tmp_path, monkeypatch):
        monkeypatch.setattr(os, "access", lambda path, mode: path != tmp_path or mode == os.R_OK)
        error, _ = refused("check", dump, "--out", tmp_path / "a" / "b")
        assert error == f"nothing can be written to {tmp_path}/a/b: no permission to write to {tmp_path}"


class TestOptions:
    @pytest.mark.parametrize(
        "command",
        [
            ["audit", "--out", "o"],
            ["check"],
            ["report", "--out", "x"],
            ["explain", "--group", "g"],
            ["query", "--sql", "diagnosis"],
        ],
    )
    @pytest.mark.parametrize("source", ["nowhere", _URL])
    def test_limits_that_are_none(self, refused, tmp_path, command, source):
        (tmp_path / "limits.toml").write_text("[diagnosis.storms]")
        error, hint = refused(command[0], source, *command[1:], "--config", tmp_path / "limits.toml")
        reason = "diagnosis has no 'storms': did you mean storm?"
        assert error == f"{tmp_path}/limits.toml is not a valid configuration: {reason}"
        assert hint.endswith("docs/reference/diagnosis.md for the diagnosis")

    @pytest.mark.parametrize("command", [["explain", "--group", "g"], ["query", "--sql", "diagnosis"]])
    def test_limits_are_for_a_log(self, refused, tmp_path, command):
        (tmp_path / "tables" / "any" / "_delta_log").mkdir(parents=True)
        error, _ = refused(command[0], tmp_path / "tables", *command[1:], "--config", "limits.toml")
        assert error == f"--config is for a log, but {tmp_path}/tables holds the tables of an audit"

    def test_a_topic_is_read_alone(self, refused, dump, tmp_path):
        error, _ = refused("audit", _URL, dump, "--out", tmp_path / "out")
        assert error == f"{_URL} is a live topic, which must be the only source"

    @pytest.mark.parametrize("command", [["audit", "--out", "o"], ["check"]])
    def test_a_time_that_is_yet_to_come(self, refused, dump, command):
        at = datetime.now(UTC) + timedelta(hours=1)
        error, _ = refused(command[0], dump, *command[1:], "--captured-at", at.isoformat())
        assert error.startswith(f"the log was not read at {at.isoformat()}: it is 20")

    def test_clocks_may_differ_a_little(self, dump, monkeypatch):
        monkeypatch.setattr(session, "get_session", lambda **_: sys.exit(9))
        at = datetime.now(UTC) + timedelta(minutes=5)
        with pytest.raises(SystemExit, match="9"):
            main(["check", str(dump), "--captured-at", at.isoformat(), "--engine", "spark"])

    @pytest.mark.parametrize(
        ("text", "says"),
        [
            ("group.id=a\n", "client.properties sets group.id, which the reader of the topic must set itself"),
            ("sasl.password=\\u12\n", "a backslash u is not followed by four hexadecimal digits"),
            ("ssl.key.password=${env:KIP848_NOBODY}\n", "the environment has no variable KIP848_NOBODY"),
            (None, "client.properties holds no client settings: No such file or directory"),
        ],
    )
    @pytest.mark.parametrize("command", [["audit", "--out", "o"], ["check"], ["inspect"]])
    def test_client_settings(self, refused, tmp_path, command, text, says):
        path = tmp_path / "client.properties" if text is None else settings(tmp_path, text)
        error, _ = refused(command[0], _URL, *command[1:], "--kafka-config", path)
        assert error.startswith(str(path))
        assert says in error

    @pytest.mark.parametrize("command", [["audit", "--out", "o"], ["check"]])
    def test_a_topics_file(self, refused, dump, tmp_path, command):
        error, _ = refused(command[0], dump, *command[1:], "--topics", tmp_path / "none")
        assert error == f"{tmp_path}/none is not a topics file: No such file or directory"

    def test_a_cluster_without_a_name(self, refused, dump, tmp_path):
        assert refused("audit", dump, "--out", tmp_path / "out", "--cluster=")[0] == "the name of the cluster is empty"

    @pytest.mark.parametrize("command", [["audit", "DUMP"], ["maintain", "--keep", "1d"]])
    def test_a_schema_needs_a_scratch_folder(self, refused, dump, command):
        words = [dump if word == "DUMP" else word for word in command]
        error, _ = refused(*words, "--catalog", "main", "--schema", "kafka")
        assert error == "tables in the schema main.kafka need a scratch folder"

    @pytest.mark.parametrize(
        ("arguments", "written"),
        [
            (("inspect", "x", "--group", "-rf"), "--group=-rf"),
            (("explain", "x", "--group", "-x;y"), "--group='-x;y'"),
            (("audit", "--cluster", "--prod", "--out", "o"), "--cluster=--prod"),
        ],
    )
    def test_a_value_that_begins_with_a_dash(self, refused, arguments, written):
        error, hint = refused(*arguments)
        assert error == f"argument {written.partition('=')[0]}: expected one argument"
        assert hint == f"write a value that begins with a dash as {written}"

    @pytest.mark.parametrize("after", [("--json",), ()])
    def test_a_value_that_is_missing(self, refused, after):
        assert refused("inspect", "x", "--group", *after)[1] == "see kip848 inspect --help"


class TestSoon:
    """Programs of their own: no JVM could start, and nothing waits for one."""

    @pytest.mark.parametrize(
        ("arguments", "says"),
        [
            (["audit", "nowhere", "--out", "x"], "there is nothing at nowhere"),
            (["check", "nowhere"], "there is nothing at nowhere"),
            (["inspect", "nowhere"], "there is nothing at nowhere"),
            (["explain", "nowhere", "--group", "g"], "there is nothing at nowhere"),
            (["report", "nowhere", "--out", "x"], "there is nothing at nowhere"),
            (["maintain", "nowhere", "--keep", "1d"], "there is nothing at nowhere"),
            (["audit", _URL, "--out", "x", "--kafka-config", "none"], "none holds no client settings"),
        ],
    )
    @pytest.mark.process
    def test_a_wrong_path(self, tmp_path, arguments, says):
        env = {"PATH": os.environ["PATH"], "JAVA_HOME": str(tmp_path / "no-java"), "PYTHONPATH": str(Path.cwd())}
        program = "import sys; from kip848_records.command import main; sys.exit(main())"
        command = [sys.executable, "-c", program, *arguments]
        before = getrusage(RUSAGE_CHILDREN)
        ended = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False, timeout=60)
        after = getrusage(RUSAGE_CHILDREN)
        assert ended.returncode == 2
        assert ended.stderr.splitlines()[0].startswith(f"error: {says}")
        # Not the time on the clock: the machine may be busy with something else. On a quiet one it is half a second.
        assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 2

    @pytest.mark.process
    def test_the_command_line_imports_no_pandas(self):
        """Which takes a third of a second, and is imported by PyArrow for every array of Python or NumPy values."""
        program = "import sys, kip848_records.cli; sys.exit('pandas' in sys.modules)"
        assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0

    @pytest.mark.parametrize("command", ["check", "report", "query", "explain"])
    @pytest.mark.process
    def test_a_reader_of_tables_imports_no_pyspark(self, command):
        """Which takes a quarter of a second: the parser of a command has to do without it too."""
        program = f"import sys; from kip848_records.cli import {command}, main; import contextlib\n"
        program += f"with contextlib.suppress(SystemExit): main(['{command}', '--help'])\n"
        program += "sys.exit('pyspark' in sys.modules)"
        ended = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True)
        assert ended.returncode == 0

"""The command line as people and scripts meet it: what is printed where, and the exit code."""

import io
import json
import os
import signal
import subprocess
import sys
from argparse import ArgumentTypeError
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException
from pyspark.logger import PySparkLogger

from kip848_records.cli import inspect, main
from kip848_records.cli.arguments import duration_ms, int32, zoned_time
from kip848_records.errors import UnexpectedError
from kip848_records.machine.paths import SPARK_VARIABLES
from tests import users
from tests.audits import dumped, table_rows
from tests.protocol.segment_writer import Record, write_batch

_ROOT = Path(__file__).parents[2]
_SMALL = "kafka-4.0.0-zstd"
# Of a consumer group: its epoch 1; a member with client id c and host h. Both of version 0, without tagged fields.
_EPOCH = b"\x00\x00\x00\x00\x00\x01\x00"
_MEMBER = b"\x00\x00\x00\x00\x02c\x02h\x01\x00\x00\x00\x03\xe8\x00\x00"


@pytest.fixture
def kip848(capsys):
    """Run a command line in this process: exit code, lines of stdout, lines of stderr."""

    def run(*arguments):
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as end:
            code = end.code
        printed = capsys.readouterr()
        return code, printed.out.splitlines(), printed.err.splitlines()

    return run


@pytest.fixture
def in_tokyo(tmp_path):
    """Run a program with a Spark of its own, on a machine that is nine hours ahead of UTC.

    It does not ignore Ctrl-C, though whoever started the tests may: as a shell does that starts them in the background.
    """

    def run(command):
        kept = users.environment()
        path = f"{Path(sys.executable).parent}{os.pathsep}{kept['PATH']}"
        env = kept | {"PATH": path, "TZ": "Asia/Tokyo", "TMPDIR": str(tmp_path)}
        return subprocess.run(
            ["bash", "-o", "pipefail", "-c", command],
            cwd=tmp_path,
            env=env,
            capture_output=True,
            text=True,
            check=False,
        )

    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield run
    signal.signal(signal.SIGINT, handler)


def without_settings_of_spark(monkeypatch):
    """As in a process without a session: paths are on this machine, and small sources are read without Spark."""
    for name in SPARK_VARIABLES:
        monkeypatch.delenv(name, raising=False)


def interrupted(source, sign, engine="spark"):
    """A command for a shell: an audit, and what a terminal sends it for Ctrl-C when it has said something."""
    return f"""
        set -m  # a process group of its own, all of which is sent the signal
        kip848 audit {source} --out out --engine {engine} 2> said &
        while kill -0 $! && ! grep -q '{sign}' said; do sleep 0.05; done
        kill -INT -- -$!
        wait $!
    """


def refused(run, *arguments):
    """The error and the hint of a command that ends with exit code 2, and with nothing else."""
    code, out, err = run(*arguments)
    assert (code, out) == (2, [])
    error, hint = err[-2:]
    assert error.startswith("error: ")
    assert hint.startswith("hint: ")
    assert not any("Traceback" in line or '"level"' in line for line in err)
    return error.removeprefix("error: "), hint.removeprefix("hint: ")


class TestArguments:
    @pytest.mark.parametrize(
        ("arguments", "words"), [((), ["audit", "inspect"]), (("audit",), ["--out"]), (("inspect",), ["--json"])]
    )
    def test_help(self, kip848, arguments, words):
        code, out, err = kip848(*arguments, "--help")
        assert (code, err) == (0, [])
        text = "\n".join(out)
        assert all(word in text for word in ["usage: kip848", *words])

    @pytest.mark.parametrize(
        ("arguments", "hint"),
        [
            (["repot"], "similar: report; see kip848 --help"),
            (["explain", "x", "--clustr=a"], "similar: --cluster; see kip848 explain --help"),
            (["explain", "x", "--dialect", "Kafak"], "similar: kafka; see kip848 explain --help"),
        ],
    )
    def test_a_name_that_nearly_fits_is_named(self, kip848, arguments, hint):
        assert refused(kip848, *arguments)[1] == hint

    @pytest.mark.parametrize(
        ("arguments", "says"),
        [
            ([], "the following arguments are required: COMMAND"),
            (["audit"], "the following arguments are required: SOURCE"),
            (["inspect"], "the following arguments are required: SOURCE"),
            (["nothing"], "argument COMMAND: invalid choice: 'nothing'"),
            (["audit", "x", "--out", "y", "--wrong"], "unrecognized arguments: --wrong"),
            (
                ["audit", "x", "--out", "y", "--captured-at", "noon"],
                "argument --captured-at: 'noon' is not a time such as",
            ),
            (["inspect", "x", "--limit", "-1"], "argument --limit: '-1' is not a number of records"),
            (["inspect", "x", "--limit", "3000000000"], "argument --limit: '3000000000' is not a number of records"),
            (
                ["explain", "x", "--group", "g", "--epoch", "9" * 20],
                f"argument --epoch: '{'9' * 20}' is not a group epoch",
            ),
            (["explain", "x", "--group", "g", "--epoch", "two"], "argument --epoch: 'two' is not a group epoch"),
            (["inspect", "x", "--type", "eight"], "argument --type: 'eight' is not a record type"),
            (["inspect", "x", "--type", "40000"], "argument --type: '40000' is not a record type"),
        ],
    )
    def test_what_is_wrong_is_said_in_one_line_with_a_hint_in_another(self, kip848, arguments, says):
        error, hint = refused(kip848, *arguments)
        assert error.startswith(says)
        command = "".join(f"{name} " for name in arguments[:1] if name in {"audit", "inspect", "explain"})
        assert hint == f"see kip848 {command}--help"

    @pytest.mark.parametrize(
        ("arguments", "named"),
        [
            (["audit", "", "--out", "y"], "SOURCE"),
            (["audit", "x", "--out", ""], "--out"),
            (["audit", "x", "--out", "y", "--scratch", ""], "--scratch"),
            (["audit", "x", "--out", "y", "--topics", ""], "--topics"),
            (["audit", "x", "--out", "y", "--kafka-config", ""], "--kafka-config"),
            (["inspect", "x", ""], "SOURCE"),
            (["check", ""], "DIR|SOURCE"),
            (["check", "x", "--out", ""], "--out"),
            (["check", "x", "--config", ""], "--config"),
            (["check", "x", "--junit", ""], "--junit"),
            (["explain", "", "--group", "g"], "DIR|SOURCE"),
            (["report", "", "--out", "y"], "DIR|SOURCE"),
            (["report", "x", "--out", ""], "--out"),
            (["report", "x", "--out", "y", "--config", ""], "--config"),
            (["maintain", "", "--keep", "1d"], "DIR"),
            (["simulate", "--out", ""], "--out"),
        ],
    )
    def test_an_empty_path_is_not_the_current_folder(self, kip848, arguments, named):
        error, hint = refused(kip848, *arguments)
        assert (error, hint) == (f"argument {named}: the path is empty", f"see kip848 {arguments[0]} --help")

    def test_the_largest_number_is_one_of_32_bits(self):
        assert int32("a number")("2147483647") == 2147483647
        with pytest.raises(ArgumentTypeError):
            int32("a number")("2147483648")

    @pytest.mark.parametrize(
        ("text", "time"),
        [
            ("2026-11-21T08:00:00Z", "2026-11-21T08:00:00+00:00"),
            ("2026-11-21 08:00", "2026-11-21T08:00:00+00:00"),
            ("2026-11-21T08:00:00+09:00", "2026-11-21T08:00:00+09:00"),
        ],
    )
    def test_a_time_is_utc_unless_it_says_otherwise(self, text, time):
        assert zoned_time(text).isoformat() == time

    @pytest.mark.parametrize("text", ["2d", "48h", "2880min", "172800s"])
    def test_a_duration_has_a_unit(self, text):
        assert duration_ms(text) == 172_800_000

    def test_a_command_says_how_it_ended(self, kip848, monkeypatch):
        monkeypatch.setattr(inspect, "_run", lambda _: 7)
        assert kip848("inspect", "x") == (7, [], [])

    def test_a_bad_topics_file(self, kip848, tmp_path):
        (tmp_path / "topics.json").write_text("{")
        error, hint = refused(kip848, "audit", tmp_path, "--out", tmp_path, "--topics", tmp_path / "topics.json")
        assert error.startswith(f"{tmp_path}/topics.json is not a topics file: ")
        assert hint.startswith("expected JSON: ")


class TestErrors:
    def test_a_source_that_is_not_there(self, kip848, tmp_path):
        error, hint = refused(kip848, "audit", tmp_path / "nowhere", "--out", tmp_path / "out")
        assert error == f"there is nothing at {tmp_path}/nowhere"
        assert hint.startswith("expected a broker's data folder")
        assert not (tmp_path / "out").exists()

    def test_a_damaged_file_shows_no_stack_trace(self, kip848, tmp_path):
        source = tmp_path / "dump"
        source.mkdir()
        (source / "a.parquet").write_bytes(b"PAR1 and more")
        for command in (["inspect", source], ["audit", source, "--out", tmp_path / "out"]):
            error, _ = refused(kip848, *command)
            assert error.startswith(f"{source}/a.parquet cannot be read")

    def test_no_record_at_all(self, kip848, tmp_path):
        (tmp_path / "__consumer_offsets-0").mkdir()
        (tmp_path / "__consumer_offsets-0" / f"{0:020}.log").touch()
        for limit in ([], ["--limit", "3"]):
            error, hint = refused(kip848, "inspect", tmp_path, *limit)
            assert error == f"no record could be read from {tmp_path}"
            assert hint.startswith("expected ")

    def test_an_unexpected_error_is_a_line_and_an_exit_code_of_its_own(self, kip848, monkeypatch):
        def fails(_):
            raise RuntimeError("first\nsecond")

        monkeypatch.setattr(inspect, "_run", fails)
        code, out, err = kip848("inspect", "x")
        assert (code, out) == (70, [])
        assert err == [
            "error: kip848 itself failed: RuntimeError: first",
            f"hint: {UnexpectedError.of(ValueError()).hint}",
        ]

    def test_debug_shows_where_it_happened(self, kip848, tmp_path):
        code, _, err = kip848("inspect", tmp_path, "--debug")
        assert code == 2
        assert err[0] == "Traceback (most recent call last):"
        assert err[-2].startswith("error: ")

    def test_spark_s_own_error_log_is_silent(self, spark, monkeypatch):
        printed = io.StringIO()
        for name in ("DataFrameQueryContextLogger", "SQLQueryContextLogger"):
            handlers = PySparkLogger.getLogger(name).handlers
            assert handlers
            for handler in handlers:
                monkeypatch.setattr(handler, "stream", printed)
        with pytest.raises(AnalysisException):
            spark.range(1).select("nope")
        with pytest.raises(AnalysisException):
            spark.sql("select nope")
        assert printed.getvalue() == ""


class TestInspect:
    def test_outcomes_that_the_source_does_not_show_are_said_to_be_unknown(self, kip848, captures):
        source = captures / "kafka-4.3.1-all-types" / "kafka-source.parquet"
        code, out, err = kip848("inspect", source, "--type", "1", "--limit", "5", "--json", "--engine", "embedded")
        assert (code, len(out)) == (0, 5)
        (note,) = err
        assert note.startswith(f"note: {source} does not show transaction outcomes: ")

    def test_there_is_no_such_note_for_segments(self, kip848, captures):
        source = captures / _SMALL / "segments" / "__consumer_offsets-2"
        code, out, err = kip848("inspect", source, "--type", "1", "--type", "3", "--json", "--engine", "embedded")
        assert (code, err) == (0, [])
        assert {json.loads(line)["type"] for line in out} == {1, 3}

    def test_a_group_that_is_not_there_is_an_error(self, kip848, captures):
        source = captures / _SMALL / "segments" / "__consumer_offsets-0"
        code, out, err = kip848("inspect", source, "--group", "no\nbody", "--type", "3", "--engine", "embedded")
        assert (code, out) == (2, [])
        assert err == [
            rf"error: {source} has no record of type 3 of group 'no\nbody'",
            "hint: without --group it prints the records of all groups",
        ]

    def test_groups_with_a_similar_name_are_named(self, kip848, captures):
        source = captures / _SMALL / "segments" / "__consumer_offsets-2"
        code, out, err = kip848("inspect", source, "--group", "Stuck", "--limit", "3", "--engine", "embedded")
        assert (code, out, err[1:]) == (2, [], ["hint: similar: stuck"])

    @pytest.mark.parametrize(
        ("selected", "says"),
        [
            (["--type", "99"], ["note: no record of type 99"]),
            (["--type", "99", "--type", "98"], ["note: no record of type 99 or 98"]),
            (["--type", "99", "--limit", "0"], []),
        ],
    )
    def test_a_selection_that_nothing_is_of_is_noted(self, kip848, captures, monkeypatch, selected, says):
        without_settings_of_spark(monkeypatch)
        assert kip848("inspect", captures / _SMALL / "segments", *selected, "--json") == (0, [], says)

    @pytest.mark.parametrize("beside", [(), ("--group", "g"), ("--type", "5", "--type", "99"), ("--limit", "1")])
    @pytest.mark.parametrize("below", ["", "__consumer_offsets-0"])
    def test_what_could_not_be_read_is_noted_whatever_is_selected(self, kip848, tmp_path, monkeypatch, below, beside):
        without_settings_of_spark(monkeypatch)  # so that a broker's data folder is first looked at without Spark
        folder = tmp_path / "__consumer_offsets-0"
        folder.mkdir()
        batches = [write_batch([Record(at, 1000, b"\x00\x05\x00\x01g\x00\x01m", _MEMBER)]) for at in range(2)]
        (folder / f"{0:020}.log").write_bytes(b"".join([*batches, b"no batch" * 20]))
        code, out, err = kip848("inspect", tmp_path / below, *beside)
        assert (code, len(out)) == (0, {(): 3, ("--limit", "1"): 1}.get(beside, 2))
        assert [" ERROR " in line for line in out] == [False, False, True][: len(out)]
        (note,) = err
        assert note.startswith(f"note: 1 row could not be read; the first: file:{folder}/{0:020}.log: ")

    @pytest.mark.slow
    @pytest.mark.process
    def test_who_reads_may_stop(self, in_tokyo, captures):
        source = captures / _SMALL / "segments" / "__consumer_offsets-0"
        run = in_tokyo(f"kip848 inspect {source} | head -1")
        assert (run.returncode, run.stderr) == (0, "")
        first = dumped(captures / _SMALL)[0]
        at = datetime.fromtimestamp(first["timestamp"] / 1000, UTC)
        assert run.stdout.startswith(f"0:{first['offset']} {at:%Y-%m-%d %H:%M:%S} UTC ")


class TestAudit:
    @pytest.mark.parametrize(
        ("engine", "sign"),
        [
            ("embedded", "reading with"),
            ("embedded", "replaying"),
            pytest.param("spark", "starting Spark", marks=pytest.mark.nightly),
            pytest.param("spark", "reading /", marks=pytest.mark.nightly),
            pytest.param("spark", "writing tables", marks=pytest.mark.slow),
        ],
    )
    @pytest.mark.process
    def test_an_interrupted_one_ends_soon_and_says_so(self, in_tokyo, captures, tmp_path, engine, sign):
        """What may fail because of it in a moment like these is the matter of `test_interrupts`."""
        # The largest log: a replay of the small one may be over before the shell has seen that it began.
        run = in_tokyo(interrupted(captures / "kafka-4.3.1-all-types" / "segments", sign, engine))
        *phases, last = (tmp_path / "said").read_text().splitlines()
        assert (run.returncode, run.stdout, last) == (130, "", "interrupted")
        assert all(line.startswith("[") for line in phases), phases

    @pytest.mark.nightly
    def test_who_ignores_interrupts_goes_on_doing_so(self, in_tokyo, captures):
        """As `nohup` and shells without job control have it for what runs in the background."""
        run = in_tokyo(f"trap '' INT; {interrupted(captures / _SMALL / 'segments', 'starting Spark')}")
        assert run.returncode == 0
        assert run.stdout.endswith("       kip848 check out\n")

    def test_ids_are_printed_in_full_and_as_they_are(self, kip848, tmp_path):
        ids = ["[bold]x[/bold]", "x" * 249, 'it\'s "quoted"', "two\nlines\x1b[31m", "\N{SNAKE}"]
        records = []
        for at, name in enumerate(ids):
            group = len(name.encode()).to_bytes(2, "big") + name.encode()
            records.append(Record(2 * at, 1000 * at, b"\x00\x05" + group + b"\x00\x01m", _MEMBER))
            records.append(Record(2 * at + 1, 1000 * at, b"\x00\x03" + group, _EPOCH))
        folder = tmp_path / "\x1b\x9b" / "__consumer_offsets-0"
        folder.mkdir(parents=True)
        (folder / f"{0:020}.log").write_bytes(write_batch(records))
        cluster = "[red]c[/red]\x1b[2J\x7f\x9b2J"
        code, out, err = kip848("audit", folder, "--out", tmp_path / "out", "--cluster", cluster)
        text = "\n".join(out)
        assert code == 0
        assert all(line.isprintable() for line in out + err)
        assert r"[red]c[/red]\x1b[2J\x7f\x9b2J, captured " in text
        for name in ["[bold]x[/bold]", "x" * 249, 'it\'s "quoted"', r"two\nlines\x1b[31m", "\N{SNAKE}"]:
            assert name in text
        groups = {row["group_id"] for row in table_rows(tmp_path / "out", "group_state", cluster)}
        assert groups == set(ids)

    @pytest.mark.slow
    def test_the_nightly_job_passes_its_exit_code_on(self, in_tokyo):
        run = in_tokyo(f"spark-submit '{_ROOT}/jobs/nightly_audit.py' nowhere")
        assert run.returncode == 2
        assert "error: no table location given" in run.stdout + run.stderr

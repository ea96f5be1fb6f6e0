"""`kip848 check` as its users type it: what it reads, writes and refuses, and its exit code."""

import json
import os
import subprocess
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from xml.etree.ElementTree import fromstring

import pytest

from kip848_records import check as check_module
from kip848_records.cli import main
from kip848_records.cli.replaced_file import check_file
from kip848_records.config import load_settings
from kip848_records.errors import InputError
from kip848_records.tables.registry import DEFAULT
from tests import made_tables
from tests.audits import CLUSTERS
from tests.cli import offsets_log
from tests.expectations.only import only

ROOT = Path(__file__).parents[2]
DEMO = str(ROOT / "conf" / "audit-demo.toml")
_NOBODY = 65534
_STUCK = "AO+GgHMxReaKGwL+kgwOyw"
EVALUATED = sum(setting.severity != "off" for setting in load_settings().values())


@pytest.fixture
def kip848_check(capsys):
    """Run the command; return the exit code, stdout, and the lines of stderr that are no progress."""

    def run(*arguments):
        code = main(["check", *map(str, arguments)])
        said = capsys.readouterr()
        return code, said.out, [line for line in said.err.splitlines() if not line.startswith("[")]

    return run


class TestPart:
    """One group, or some expectations: nothing else has a result."""

    SEGMENTS = ROOT / "tests" / "captures" / "kafka-4.3.1" / "segments"

    @pytest.mark.slow
    def test_a_group_of_a_log(self, kip848_check, tmp_path):
        code, out, _ = kip848_check(self.SEGMENTS, "--group", "churn", "--json", tmp_path / "r.json", "--no-cache")
        assert code == 0
        assert out.startswith("Group churn only\nCluster default, captured at")
        assert "7 healthy" not in out
        document = json.loads((tmp_path / "r.json").read_text())
        assert document["group"] == "churn"
        results = document["expectations"]
        found = [each for result in results for each in (*result["violations"], *result["unknown"])]
        assert {(each["group_id"], result["name"]) for result in results for each in result["violations"]} == {
            ("churn", "restart_loop")
        }
        assert {each["group_id"] for each in found} == {"churn"}
        nothing = {result["name"]: result["not_applicable"] for result in results if result["not_applicable"]}
        assert nothing["storm_across"]["default"]["reason"] == "nothing of it is about group churn"

    @pytest.mark.slow
    def test_a_group_of_tables(self, kip848_check, audits):
        code, out, _ = kip848_check(audits.out, "--cluster", CLUSTERS["kafka-4.3.1"], "--group", "stuck")
        assert code == 0
        assert "Group stuck only" in out
        assert "churn" not in out

    def test_each_form_names_the_group(self, kip848_check, audits, tmp_path):
        files = {name: tmp_path / name for name in ("junit", "json", "markdown")}
        options = [text for name, path in files.items() for text in (f"--{name}", path)]
        options += ["--cluster", CLUSTERS["kafka-4.3.1"], "--select", "group_stable"]
        assert kip848_check(audits.out, "--group", "stuck", *options)[0] == 0
        assert 'name="group" value="stuck"' in files["junit"].read_text()
        assert "Group stuck only" in files["markdown"].read_text()
        assert json.loads(files["json"].read_text())["group"] == "stuck"

    @pytest.mark.slow
    def test_what_changed_since_the_run_before_goes_by_all_settings(self, kip848_check, tmp_path):
        for _ in range(2):
            main(["audit", str(self.SEGMENTS), "--out", str(tmp_path / "t"), "--offset-commits"])
        for nth, options in enumerate([["--select", "moved_ahead"], ["--release", "4.1.1"]]):
            file = tmp_path / f"{nth}.prom"
            code, out, err = kip848_check(tmp_path / "t", *options, "--openmetrics", file)
            assert (code, err) == (0, []), options
            assert "1 expectation passed" in out
            assert "kip848_group" in file.read_text()

    def test_an_expectation_that_is_off_has_its_own_severity(self, kip848_check, audits, tmp_path):
        (tmp_path / "c.toml").write_text('[expectations.rebalance_time]\nseverity = "off"\nmax_seconds = 15\n')
        options = ["--config", tmp_path / "c.toml", "--select", "rebalance_time"]
        code, out, _ = kip848_check(audits.out, "--cluster", CLUSTERS["kafka-4.3.1"], *options)
        assert "WARN  rebalance_time" in out
        assert code == 0

    def test_a_log_that_cannot_be_audited_without_the_cache(self, kip848_check):
        code, out, err = kip848_check(self.SEGMENTS, "--no-cache", "--captured-at", "2020-01-01T00:00:00Z")
        assert (code, out) == (2, "")
        assert err[0].startswith("error: ")
        assert "kip848 itself" not in err[0]

    def test_a_group_that_is_not_there(self, kip848_check, audits):
        code, out, err = kip848_check(audits.out, "--group", "chrun")
        assert (code, out) == (2, "")
        assert err[1].startswith("hint: similar: churn")

    def test_expectations_by_name(self, kip848_check, audits):
        options = ["--select", "moved_ahead", "--select", "group_stable", "--verbose", "--config", DEMO]
        code, out, _ = kip848_check(audits.out, "--cluster", CLUSTERS["kafka-4.3.1"], *options)
        assert code == 1
        assert "FAIL  group_stable" in out
        assert "moved_ahead" in out  # which is off
        assert "restart_loop" not in out
        assert "1 of 2 expectations failed" in out

    @pytest.mark.parametrize(
        ("options", "error", "hint"),
        [
            (["--select", "group_stabel"], "there is no expectation 'group_stabel'", "similar: group_stable"),
            (["--group", "g", "--release", "4.0"], "--release is about all groups, and --group about one", ""),
            (
                ["--group", "g", "--webhook", "json://x"],
                "--webhook is about all groups, and --group about one",
                None,
            ),
            (
                ["--select", "storm", "--release", "4.0"],
                "--release evaluates one expectation, and --select another",
                None,
            ),
        ],
    )
    def test_what_cannot_be(self, kip848_check, audits, options, error, hint):
        code, out, err = kip848_check(audits.out, *options)
        assert (code, out, err) == (2, "", [f"error: {error}", f"hint: {hint or 'leave one of them out'}"])


class TestTables:
    @pytest.mark.slow
    def test_one_cluster_fails_and_its_results_are_in_every_form(self, kip848_check, audits, tmp_path):
        files = {name: tmp_path / f"results.{name}" for name in ("junit", "sarif", "json", "markdown")}
        options = [text for name, path in files.items() for text in (f"--{name}", path)]
        cluster = CLUSTERS["kafka-4.3.1"]
        code, out, err = kip848_check(audits.out, "--cluster", cluster, "--config", DEMO, *options)
        assert (code, err) == (1, [])
        assert f"1 of {EVALUATED} expectations failed, 2 warned" in out
        results = json.loads(files["json"].read_text())["expectations"]
        failed = [violation for each in results for violation in each["violations"]]
        assert {(each["cluster"], each["group_id"], each["member_id"]) for each in failed} == {
            (cluster, "stuck", _STUCK),
            (cluster, "churn", None),
        }
        assert all(_STUCK in path.read_text() for path in files.values())

    @pytest.mark.slow
    def test_with_the_limits_for_production_nothing_fails_in_any_cluster(self, kip848_check, audits):
        code, out, err = kip848_check(audits.out)
        assert (code, err) == (0, [])
        assert all(f"Cluster {name}" in out for name in CLUSTERS.values())

    @pytest.mark.parametrize("option", ["--topics", "--captured-at", "--format", "--dialect", "--out"])
    def test_what_is_for_a_log_is_refused(self, kip848_check, audits, option):
        value = {"--captured-at": "2026-11-21", "--format": "parquet", "--dialect": "kafka"}.get(option, "x")
        code, out, err = kip848_check(audits.out, option, value)
        assert (code, out) == (2, "")
        assert err[0] == f"error: {option} is for a log, but {audits.out} holds the tables of an audit"

    def test_a_cluster_that_is_not_there(self, kip848_check, audits):
        code, out, err = kip848_check(audits.out, "--cluster", "production")
        assert (code, out) == (2, "")
        assert err[0] == f"error: {audits.out} has no tables of cluster 'production'"
        assert all(repr(cluster)[1:-1] in err[1] for cluster in CLUSTERS.values())

    def test_tables_of_an_older_version(self, kip848_check, tmp_path):
        made_tables.write(tmp_path, "c", latest_state=[])
        code, out, err = kip848_check(tmp_path)
        assert (code, out) == (2, "")
        assert err[0] == f"error: {tmp_path} has no table audit_runs"
        assert "audit the log again" in err[1]


class TestLog:
    def test_its_tables_are_kept_where_they_are_asked_for(self, kip848_check, tmp_path):
        log = offsets_log.write(tmp_path / "log", *offsets_log.member(0, "t"))
        (tmp_path / "audit.toml").write_text(only("group_stable"))
        options = ("--config", tmp_path / "audit.toml", "--cluster", "ci")
        code, out, err = kip848_check(log, *options, "--out", tmp_path / "kept")
        assert (code, err) == (0, [])
        assert out.startswith("Cluster ci, captured at ")
        assert {path.name for path in (tmp_path / "kept").iterdir()} == DEFAULT.keys()

    def test_tables_are_judged_one_folder_at_a_time(self, kip848_check, captures, tmp_path):
        made_tables.write(tmp_path, "c", latest_state=[], audit_runs=[{"version": "1"}])
        for others in ([captures / "kafka-4.0.0-zstd" / "segments"], [tmp_path / "others"]):
            code, out, err = kip848_check(tmp_path, *others)
            assert (code, out) == (2, "")
            assert err == [
                f"error: {tmp_path} holds the tables of an audit, and {others[0]} is named beside it",
                f"hint: kip848 check takes one folder of tables: pass {tmp_path} alone",
            ]

    def test_nothing_to_read(self, kip848_check, tmp_path, monkeypatch):
        temporary = tmp_path / "temporary"
        temporary.mkdir()
        monkeypatch.setattr(tempfile, "tempdir", str(temporary))
        code, out, err = kip848_check(tmp_path / "none")
        assert (code, out) == (2, "")
        assert err[0] == f"error: there is nothing at {tmp_path / 'none'}"
        assert not list(temporary.iterdir())


class TestWithoutSpark:
    """What is refused before Spark starts, and what becomes of the exit code."""

    @pytest.fixture(autouse=True)
    def _no_spark(self, monkeypatch):
        monkeypatch.setattr("kip848_records.spark.session.get_session", lambda **_: pytest.fail("Spark was started"))

    @pytest.fixture
    def tables(self, tmp_path):
        (tmp_path / "tables" / "any" / "_delta_log").mkdir(parents=True)
        return tmp_path / "tables"

    @pytest.mark.parametrize(("limit", "code"), [("0", 1), ("1", 0), ("49%", 1), ("50%", 0)])
    def test_too_much_that_is_unknown(self, kip848_check, tmp_path, limit, code):
        """A quiet check prints nothing while all is well: cron mails what is printed."""
        states = [{"group_id": group, "has_full_history": group == "a"} for group in "ab"]
        tables = {name: [] for name in DEFAULT if name not in ("audit_runs", "log")}
        made_tables.write(
            tmp_path, "c", audit_runs=[{"run": 1, "dialect": "kafka"}], **tables | {"group_state": states}
        )
        config = tmp_path / "audit.toml"
        config.write_text(only("operation_size"))
        found, out, err = kip848_check(tmp_path, "--config", config, "--max-unknown", limit, "--quiet")
        assert (found, out != "") == (code, bool(code))
        assert ("1 of 2 results are unknown" in "".join(err)) == bool(code)

    def test_a_configuration_that_is_none(self, kip848_check, tables, tmp_path):
        path = tmp_path / "audit.toml"
        path.write_text("[expectations.group_stabel]\nmax_seconds = 5\n")
        code, out, err = kip848_check(tables, "--config", path)
        assert (code, out) == (2, "")
        assert err[0] == (
            f"error: {path} is not a valid configuration: "
            "expectations has no 'group_stabel': did you mean group_stable?"
        )

    @pytest.mark.parametrize(
        ("name", "reason"), [("", "it is a folder"), ("none/results.xml", "there is no folder {}/none")]
    )
    def test_a_file_that_cannot_be(self, kip848_check, tmp_path, name, reason):
        code, out, err = kip848_check("out", "--junit", tmp_path / name)
        assert (code, out) == (2, "")
        assert err[0] == f"error: results cannot be written to {tmp_path / name}: {reason.format(tmp_path)}"

    def test_one_file_for_two_kinds(self, kip848_check, tmp_path):
        code, out, err = kip848_check("out", "--junit", tmp_path / "x", "--json", tmp_path / "x")
        assert (code, out) == (2, "")
        assert (
            err[0] == f"error: results cannot be written to {tmp_path / 'x'}: two kinds of results name the same file"
        )

    @pytest.mark.process
    @pytest.mark.parametrize(("verdict", "code"), [("ALL", 1), ("verdict(verdicts.result('fine'))", 0)])
    def test_the_exit_code_is_the_answer_though_nobody_reads(self, tmp_path, verdict, code):
        made_tables.write(tmp_path, "demo", audit_runs=[{"run": 1}], group_state=[])
        program = f"""
import sys
from kip848_records import check
from kip848_records.cli import main
from tests.report import verdicts
check.check = lambda *_, **__: verdicts.{verdict}
sys.exit(main(["check", {str(tmp_path)!r}]))
"""
        reader, writer = os.pipe()
        os.close(reader)
        done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, stdout=writer, stderr=-1, check=False)
        os.close(writer)
        assert (done.returncode, b"Traceback" in done.stderr) == (code, False), done.stderr


class TestFilesThatCannotBeWritten:
    @pytest.fixture
    def folder(self):
        """A folder of a user without rights, as whom the test runs: root may write everything."""
        if os.getuid() != 0:
            with tempfile.TemporaryDirectory() as name:
                yield Path(name)
            return
        with tempfile.TemporaryDirectory() as name:
            os.chown(name, _NOBODY, -1)
            os.setresuid(_NOBODY, _NOBODY, 0)
            try:
                yield Path(name)
            finally:
                os.setresuid(0, 0, 0)

    def test_a_folder_without_permission(self, kip848_check, folder):
        folder.chmod(0o555)
        try:
            for option, file in (("--json", folder / "x.json"), ("--openmetrics", folder / "x.prom")):
                code, out, err = kip848_check("out", option, file)
                assert (code, out) == (2, "")
                assert err[0] == f"error: results cannot be written to {file}: no permission to write to {folder}"
        finally:
            folder.chmod(0o755)

    def test_a_file_without_permission(self, kip848_check, folder):
        file = folder / "x.json"
        file.touch(0o444)
        code, out, err = kip848_check("out", "--json", file)
        assert (code, out) == (2, "")
        assert err[0] == f"error: results cannot be written to {file}: no permission to write to it"

    def test_metrics_replace_a_file_so_only_the_folder_counts(self, folder):
        file = folder / "x.prom"
        file.touch(0o444)
        check_file(file, is_replaced=True)
        folder.chmod(0o555)
        file.chmod(0o644)
        check_file(file)
        with pytest.raises(InputError, match=f"no permission to write to {folder}"):
            check_file(file, is_replaced=True)
        folder.chmod(0o755)

    def test_a_folder_that_may_not_be_looked_into(self, folder):
        (folder / "a").mkdir()
        (folder / "a" / "b").mkdir()
        (folder / "a").chmod(0)
        with pytest.raises(InputError, match="there is no folder"):
            check_file(folder / "a" / "b" / "x.json")
        (folder / "a").chmod(0o755)

    @pytest.mark.parametrize("stuck", [True, False])
    @pytest.mark.parametrize("line", [False, True])
    def test_at_the_end_the_verdict_is_printed_and_the_other_files_are_written(
        self, kip848_check, tmp_path, stuck, line
    ):
        """A folder is full, or vanishes, while the check runs: here /dev/full is the file."""
        tables = {name: [] for name in DEFAULT if name not in ("audit_runs", "log")}
        states = [{"group_id": "g", "group_type": "consumer", "has_full_history": True, "state": "Reconciling"}]
        captured = datetime(2026, 1, 1, 12, tzinfo=UTC)
        states[0] |= {"since": captured - timedelta(hours=5), "members": 1, "converged_members": 0}
        made_tables.write(
            tmp_path / "out",
            "c",
            audit_runs=[{"run": 1, "dialect": "kafka", "captured_at": captured}],
            **tables | {"group_state": states if stuck else []},
        )
        config = tmp_path / "audit.toml"
        config.write_text(only("group_stable"))
        checked = (tmp_path / "out", "--config", config)
        verdict = kip848_check(*checked)
        other = tmp_path / "x.md"
        options = ["--json-line"] * line
        code, out, err = kip848_check(*checked, "--json", "/dev/full", "--markdown", other, *options)
        assert verdict[0] == int(stuck)
        assert (code, len(err)) == (1, 2)
        assert err[0] == "error: results cannot be written to /dev/full: No space left on device"
        assert other.read_text().startswith("#")
        if line:
            assert json.loads(out)["exit_code"] == 1
        else:
            assert out == verdict[1]


class TestFaults:
    """A query of this package breaks: the others' results are there, and the exit code is that of a fault."""

    @pytest.fixture
    def broken(self, tmp_path, monkeypatch):
        """Tables of two clusters with a stuck group each; one of two queries breaks in one of them."""
        captured = datetime(2026, 1, 1, 12, tzinfo=UTC)
        state = {"group_id": "g", "group_type": "consumer", "has_full_history": True, "state": "Reconciling"}
        state |= {"since": captured - timedelta(hours=5), "members": 1, "converged_members": 0}
        for cluster in ("good", "bad"):
            run = {"run": 1, "dialect": "kafka", "captured_at": captured}
            tables = dict.fromkeys((name for name in DEFAULT if name != "log"), ())
            made_tables.write(tmp_path / "out", cluster, **tables | {"audit_runs": [run], "group_state": [state]})
        answer = check_module._evaluate

        def evaluate(tables, audited, alike, *more):
            if alike[0].name == "one_owner" and audited.run.cluster == "bad":
                raise ArithmeticError("overflow | of\nint32 <b>")
            return answer(tables, audited, alike, *more)

        monkeypatch.setattr(check_module, "_evaluate", evaluate)
        (tmp_path / "audit.toml").write_text(only("one_owner", "group_stable"))
        return [tmp_path / "out", "--config", tmp_path / "audit.toml"]

    def test_the_other_results_are_in_every_form(self, kip848_check, broken, tmp_path):
        files = {name: tmp_path / f"x.{name}" for name in ("junit", "sarif", "json", "markdown")}
        files["openmetrics"] = tmp_path / "x.prom"
        code, out, err = kip848_check(*broken, *(text for name, path in files.items() for text in (f"--{name}", path)))
        why = "the query of one_owner for cluster bad failed: ArithmeticError: overflow | of"
        assert code == 70
        assert err[0] == f"error: {why}"
        assert err[1].startswith("hint: this is a fault of kip848, not of your input")
        assert why in out
        assert "\n1 of 2 expectations broke, 1 failed" in out
        results = {each["name"]: each for each in json.loads(files["json"].read_text())["expectations"]}
        assert results["one_owner"]["status"] == "fault"
        assert results["one_owner"]["faults"] == {"bad": why}
        assert results["one_owner"]["passed"] == 1  # of the other cluster
        assert results["group_stable"]["errors"] == 2
        cases = fromstring(files["junit"].read_bytes()).iter("testcase")  # noqa: S314 - our own
        (case,) = (each for each in cases if each.get("name") == "one_owner")
        assert [each.get("message") for each in case] == [why]
        (run,) = json.loads(files["sarif"].read_text())["runs"]
        assert run["invocations"][0]["executionSuccessful"] is False
        notes = run["invocations"][0]["toolExecutionNotifications"]
        assert [why in each["message"]["text"] for each in notes if each["level"] == "error"] == [True]
        assert len(run["results"]) == 2
        assert "overflow \\| of" in files["markdown"].read_text()
        metrics = files["openmetrics"].read_text()
        assert 'kip848_expectation_results{cluster="good",expectation="one_owner",result="pass"} 1.0' in metrics
        assert 'cluster="bad",expectation="one_owner"' not in metrics

    def test_debug_shows_where(self, kip848_check, broken):
        code, _, err = kip848_check(*broken, "--debug", "--json-line")
        assert code == 70
        assert err[0] == "Traceback (most recent call last):"
        assert "in evaluate" in "\n".join(err)

    @pytest.mark.slow
    def test_the_page_has_it_too(self, broken, tmp_path, capsys):
        assert main(["report", *map(str, broken), "--out", str(tmp_path / "x.html"), "--quiet"]) == 70
        assert "the query of one_owner for cluster bad failed" in (tmp_path / "x.html").read_text()
        assert "the query of one_owner for cluster bad failed" in capsys.readouterr().err

    def test_a_form_that_breaks_costs_the_others_nothing(self, kip848_check, broken, tmp_path, monkeypatch):
        monkeypatch.setattr(check_module, "_evaluate", lambda *_: [])
        monkeypatch.setattr("kip848_records.report.sarif.sarif", lambda _: 1 / 0)
        sarif, other = tmp_path / "x.sarif", tmp_path / "x.json"
        code, _, err = kip848_check(*broken, "--sarif", sarif, "--json", other)
        assert code == 70
        assert err[0] == f"error: writing {sarif} failed: ZeroDivisionError: division by zero"
        assert json.loads(other.read_text())["status"] == "not_applicable"

    def test_the_comparison_with_the_run_before_breaks(self, kip848_check, broken, tmp_path, monkeypatch):
        monkeypatch.setattr("kip848_records.report.changes.changes_of_clusters", lambda *_: 1 / 0)
        code, out, err = kip848_check(*broken, "--openmetrics", tmp_path / "x.prom")
        assert code == 70
        assert "error: the comparison with the run before failed: ZeroDivisionError: division by zero" in err
        assert "kip848_stuck_groups" in (tmp_path / "x.prom").read_text()
        assert "1 failed" in out

"""Questions about a log, without an audit before: the answers are those of tables, and the second one is cached."""

import json
import os
import shutil
import tempfile
from html import unescape

import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

from kip848_records.cli import audited, main
from kip848_records.engines import choice
from kip848_records.machine import paths
from kip848_records.machine.cache import Cache
from kip848_records.machine.paths import SPARK_VARIABLES
from kip848_records.pipeline import audit as pipeline
from kip848_records.pipeline.options import AuditOptions
from kip848_records.pipeline.progress import Progress
from kip848_records.queries.duck import DuckTables
from kip848_records.tables.errors import TablesError
from tests.audits import CLUSTERS
from tests.cli import offsets_log
from tests.cli.offsets_log import commit, member
from tests.commits_of_a_broker import unpacked
from tests.seeds import few

STUCK = "kafka-4.3.1"
CACHED = "from the cache of "
GROUPS = "SELECT group_id FROM group_state ORDER BY group_id"


@pytest.fixture(autouse=True)
def no_spark(monkeypatch, tmp_path):
    """As on a machine without Spark, and with a cache of its own."""
    monkeypatch.setattr(paths, "_active_session", lambda: None)
    for name in SPARK_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def kip848(capsys):
    """Run a command line in this process: exit code, stdout, and the notes on stderr."""

    def run(*arguments):
        code = main([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        return code, printed.out, [line for line in printed.err.splitlines() if not line.startswith("[")]

    return run


@pytest.fixture
def copy(captures, tmp_path):
    """A copy of the log of the capture with a stuck group, and the names of its topics."""
    folder = tmp_path / "a copy"
    shutil.copytree(captures / STUCK / "segments", folder)
    shutil.copy(captures / STUCK / "topics.json", tmp_path)
    return folder


@pytest.fixture
def log(tmp_path):
    """A log of two groups, each in a partition of its own; one has also committed an offset."""
    folder = tmp_path / "a log"
    offsets_log.write(folder, *member(0, "t", group="stuck"), commit(1, 5, group="stuck"))
    return offsets_log.write(folder, *member(0, "t", group="static"), partition=1)


def topics(capture):
    file = capture / "topics.json"
    return ["--topics", file] if file.exists() else []


def is_cached(notes):
    return any(CACHED in note for note in notes)


class TestSameAnswers:
    """As with the tables of a whole audit, byte for byte."""

    @pytest.mark.slow
    @pytest.mark.parametrize("name", few(tuple(CLUSTERS), 1, "direct"))
    def test_explain(self, kip848, captures, name, tmp_path):
        """The groups that have most rows, and the one that has least."""
        log = [captures / name / "segments", *topics(captures / name)]
        assert kip848("audit", *log, "--out", tmp_path / "out", "--quiet")[0] == 0
        text = "SELECT group_id, count(*) AS n FROM group_state_timeline GROUP BY group_id ORDER BY n DESC, group_id"
        first, second, *_, last = [row.group_id for row in DuckTables(str(tmp_path / "out")).rows(text)]
        for group in (first, second, last):
            _, expected, _ = kip848("explain", tmp_path / "out", "--group", group)
            assert expected
            code, found, notes = kip848("explain", *log, "--group", group, "--quiet", "--no-cache")
            assert (code, found, notes) == (0, expected, []), group

    @pytest.mark.slow
    def test_explain_with_commits(self, kip848, tmp_path):
        """Whether messages wait for a group shows in what the owners of other groups have committed."""
        unpacked(tmp_path)
        log = [tmp_path / "segments", "--topics", tmp_path / "topics.json", "--offset-commits"]
        assert kip848("audit", *log, "--out", tmp_path / "out", "--quiet")[0] == 0
        said = {}
        for group in ("g-pause", "g-adminonly"):  # one of commits only
            said[group] = kip848("explain", tmp_path / "out", "--group", group)[:2]
            assert kip848("explain", *log, "--group", group, "--quiet", "--no-cache")[:2] == said[group]
        assert "g-manual has read 556 offsets" in said["g-pause"][1]

    @pytest.mark.slow
    def test_what_does_not_depend_on_the_group(self, captures, tmp_path):
        """Names of topics, undecodable rows of unknown groups, and what is known of the log come from everything."""
        copy = tmp_path / "copy"
        shutil.copytree(captures / "kafka-4.0.0-zstd" / "segments", copy)
        damaged = min(copy.rglob("*.log"))
        damaged.write_bytes(damaged.read_bytes() + b"no batch" * 20)
        answers = []
        for group in (None, "nobody"):
            out = str(tmp_path / f"of {group}")
            options = AuditOptions((str(copy),), out)
            if group is None:
                pipeline.run_audit(None, options, Progress())
            else:
                pipeline.run_audit(None, options, Progress(), group)
            tables = DuckTables(out)
            answers.append(
                [
                    sorted(map(repr, tables.rows(f"SELECT * FROM {text}")))  # noqa: S608 - our own
                    for text in ("topic_name", "quarantine WHERE group_id IS NULL", "partition_history")
                ]
            )
        assert answers[0] == answers[1]
        assert all(answers[0])

    def test_the_tables_of_one_group_replace_no_others(self, copy, tmp_path):
        options = AuditOptions((str(copy),), str(tmp_path / "out"))
        pipeline.run_audit(None, options, Progress())
        with pytest.raises(TablesError, match="an audit of one group would replace the tables in "):
            pipeline.run_audit(None, options, Progress(), "stuck")
        with pytest.raises(TypeError):
            AuditOptions((str(copy),), str(tmp_path / "new"), group="stuck")

    @pytest.mark.slow
    def test_check_report_and_query(self, kip848, copy, tmp_path):
        log = [copy, "--topics", tmp_path / "topics.json"]
        assert kip848("audit", *log, "--out", tmp_path / "out", "--quiet")[0] == 0
        assert kip848("check", *log)[:2] == kip848("check", tmp_path / "out")[:2]
        for question in ("slowest", "SELECT group_id, state FROM group_state ORDER BY group_id"):
            expected = kip848("query", tmp_path / "out", question, "--json")[:2]
            assert kip848("query", *log, question, "--json")[:2] == expected
            assert kip848("query", *log, "--sql", question, "--json")[:2] == expected
        assert kip848("report", *log, "--out", tmp_path / "page.html", "--quiet")[0] == 0
        page = (tmp_path / "page.html").read_text()
        assert f"from <code>{copy}</code>" in unescape(page)

    @pytest.mark.slow
    def test_several_copies(self, kip848, log, tmp_path):
        shutil.copytree(log, tmp_path / "another")
        expected = kip848("explain", log, "stuck")[:2]
        assert kip848("explain", log, tmp_path / "another", "--group", "stuck")[:2] == expected

    def test_offset_commits(self, kip848, log):
        asked = ["query", log, "SELECT count(*) AS n FROM latest_state WHERE key_type = 1", "--csv"]
        assert kip848(*asked)[1] == "n\n0\n"
        assert kip848(*asked, "--offset-commits")[1] == "n\n1\n"


class TestGroups:
    def test_an_empty_id(self, kip848, log):
        code, _, (error, hint) = kip848("explain", log, "", "--quiet")
        assert (code, error) == (2, f"error: the group id is empty, and {log} has no such group")
        assert hint.startswith("hint: pass a group id; ")

    def test_a_name_that_is_similar(self, kip848, log):
        code, out, (error, hint) = kip848("explain", log, "--group", "stuk", "--quiet")
        assert (code, out) == (2, "")
        assert error == f"error: {log} has no membership records of group 'stuk'"
        assert hint.startswith("hint: similar: stuck; ")

    def test_the_command_that_lists_all(self, kip848, log):
        _, _, (_, hint) = kip848("explain", log, "nobody at all", "--dialect", "kafka", "--quiet")
        named = f"'{log}' --dialect kafka"
        assert f"this lists the groups: kip848 query {named} --sql " in hint

    def test_no_group(self, kip848, log):
        code, _, (error, hint) = kip848("explain", log)
        assert (code, error) == (2, "error: no group is given")
        assert f"use kip848 explain '{log}' --group G" in hint

    def test_options_of_a_log_are_not_for_tables(self, kip848, log, tmp_path):
        assert kip848("audit", log, "--out", tmp_path / "out", "--quiet")[0] == 0
        for command in (["explain", tmp_path / "out", "stuck"], ["query", tmp_path / "out", "slowest"]):
            code, _, (error, hint) = kip848(*command, "--offset-commits")
            assert (code, hint) == (2, "hint: omit --offset-commits")
            assert error == f"error: --offset-commits is for a log, but {tmp_path}/out holds the tables of an audit"


class TestOtherClustersOfTheLocation:
    @pytest.fixture
    def out(self, kip848, log, tmp_path):
        """Tables of two clusters, of which the run of `live` did not finish."""
        out = tmp_path / "out"
        for cluster in ("live", "other"):
            assert kip848("audit", log, "--out", out, "--cluster", cluster, "--quiet")[0] == 0
        DeltaTable(out / "audit_runs").delete("cluster = 'live'")
        return out

    @pytest.mark.slow
    def test_what_has_to_be_rebuilt_counts(self, capsys, log, out):
        assert main(["audit", str(log), "--out", str(out), "--cluster", "other"]) == 0
        first = capsys.readouterr().err.splitlines()[0]
        assert first.endswith("on this machine, with the log of cluster 'live', whose tables are rebuilt")
        assert DuckTables(str(out)).chosen_runs("live")

    @pytest.mark.slow
    def test_too_much_is_refused_before_anything_changes(self, kip848, log, out, monkeypatch):
        monkeypatch.setattr(choice, "MOST_BYTES", 1)
        versions = {path.name: DeltaTable(path).version() for path in out.iterdir()}
        code, _, (error, hint) = kip848("audit", log, "--out", out, "--cluster", "other", "--engine", "embedded")
        assert (code, hint[:43]) == (2, "hint: run the same command with --engine sp")
        assert error.startswith("error: the tables of cluster 'live' have to be rebuilt, and ")
        assert versions == {path.name: DeltaTable(path).version() for path in out.iterdir()}
        assert kip848("audit", log, "--out", out, "--cluster", "live", "--engine", "embedded", "--quiet")[0] == 0


class TestCache:
    @pytest.mark.slow
    def test_the_second_question_needs_no_audit(self, kip848, log, monkeypatch):
        first = kip848("explain", log, "stuck")
        assert not is_cached(first[2])
        monkeypatch.setattr(pipeline, "audit_copies", lambda *_: pytest.fail("it was audited again"))
        code, out, (note,) = kip848("explain", log, "stuck")
        assert (code, out) == first[:2]
        assert note.startswith("note: from the cache of ")
        assert note.endswith(" s ago; --no-cache audits again")

    @pytest.mark.slow
    def test_tables_of_all_groups_have_the_answer_about_one(self, kip848, log):
        assert not is_cached(kip848("check", log)[2])
        assert is_cached(kip848("explain", log, "stuck")[2])
        assert is_cached(kip848("query", log, GROUPS)[2])

    @pytest.mark.slow
    def test_tables_of_one_group_have_no_answer_about_others(self, kip848, log):
        assert not is_cached(kip848("explain", log, "stuck")[2])
        assert not is_cached(kip848("explain", log, "static")[2])
        assert not is_cached(kip848("query", log, GROUPS)[2])

    @pytest.mark.slow
    def test_no_cache(self, kip848, log):
        for _ in range(2):
            assert not is_cached(kip848("explain", log, "stuck", "--no-cache")[2])
        assert kip848("cache")[1].startswith("cached: 0 audits, 0 B in ")

    @pytest.mark.parametrize(
        "change",
        few(["touched", "appended", "same size", "replaced", "another file", "a file less"], 2, "changes of a file"),
    )
    def test_a_file_that_changed(self, kip848, log, change):
        asked = ["query", log, GROUPS]
        assert not is_cached(kip848(*asked)[2])
        assert is_cached(kip848(*asked)[2])
        file = min(log.rglob("*.log"))
        before = file.stat()
        if change == "touched":
            os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns + 1))
        elif change == "appended":
            file.write_bytes(file.read_bytes() + b"\0")
            os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
        elif change == "same size":
            content = bytearray(file.read_bytes())
            content[-1] ^= 1
            with file.open("r+b") as opened:
                opened.write(content)
            os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
        elif change == "replaced":
            shutil.copy2(file, log / "new")
            (log / "new").rename(file)
        elif change == "another file":
            (log / "__consumer_offsets-7").mkdir()
            shutil.copy(file, log / "__consumer_offsets-7" / f"{0:020}.log")
        else:
            shutil.rmtree(file.parent)
        code, _, notes = kip848(*asked)
        assert (code, is_cached(notes)) == (0, False)

    @pytest.mark.slow
    @pytest.mark.parametrize(
        "options", [["--dialect", "auto"], ["--captured-at", "2026-11-28"], ["--cluster", "x"], ["--offset-commits"]]
    )
    def test_other_options(self, kip848, log, options):
        asked = ["query", log, GROUPS]
        assert not is_cached(kip848(*asked)[2])
        code, _, notes = kip848(*asked, *options)
        assert (code, is_cached(notes)) == (0, False)
        assert is_cached(kip848(*asked, *options)[2])

    def test_other_names_of_topics_in_the_same_file(self, kip848, log, tmp_path):
        names = tmp_path / "topics.json"
        asked = ["query", log, "SELECT topic FROM topic_name", "--csv", "--topics", names]
        for name in ("named", "renamed"):
            names.write_text(json.dumps({offsets_log.OLD: name}))
            code, out, notes = kip848(*asked)
            assert (code, is_cached(notes)) == (0, False)
            assert name in out.split()

    def test_another_version(self, kip848, log, monkeypatch):
        assert not is_cached(kip848("query", log, GROUPS)[2])
        monkeypatch.setattr(audited, "__version__", "another")
        assert not is_cached(kip848("query", log, GROUPS)[2])

    @pytest.mark.parametrize("ending", ["py", "sql", "toml"])
    def test_code_that_changed_in_a_clone(self, tmp_path, monkeypatch, ending):
        """Tables of columns that were described otherwise are made anew."""
        monkeypatch.setattr(audited, "__file__", str(tmp_path / "cli" / "audited.py"))
        for at, name in ((1, "old.py"), (7, f"specs/new.{ending}"), (9, "specs/notes.md")):
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).touch()
            os.utime(tmp_path / name, ns=(at, at))
        assert audited._code_changed_ns() == 7

    def test_code_that_changed(self, kip848, log, monkeypatch):
        assert not is_cached(kip848("query", log, GROUPS)[2])
        monkeypatch.setattr(audited, "_code_changed_ns", lambda: 1)
        assert not is_cached(kip848("query", log, GROUPS)[2])

    @pytest.mark.slow
    def test_a_delta_copy_whose_rows_were_deleted(self, kip848, captures, tmp_path):
        """Only its log changes: the files with the rows stay."""
        rows = pq.read_table(captures / "kafka-4.3.1-all-types" / "kafka-source.parquet").replace_schema_metadata(None)
        for part in (rows.slice(0, 200), rows.slice(200, 200)):
            write_deltalake(tmp_path / "delta", part, mode="append")
        asked = ["query", tmp_path / "delta", "SELECT count(*) AS n FROM log", "--csv"]
        _, every, _ = kip848(*asked)
        assert is_cached(kip848(*asked)[2])
        DeltaTable(tmp_path / "delta").restore(0)
        code, some, notes = kip848(*asked)
        assert (code, is_cached(notes)) == (0, False)
        assert int(some.split()[1]) < int(every.split()[1])

    def test_a_file_that_changes_while_it_is_read(self, kip848, log, monkeypatch):
        audit_copies = pipeline.audit_copies

        def changed(*arguments):
            audit = audit_copies(*arguments)
            os.utime(min(log.rglob("*.log")), (1, 1))
            return audit

        monkeypatch.setattr(pipeline, "audit_copies", changed)
        expected = kip848("query", log, GROUPS, "--no-cache")[:2]
        os.utime(min(log.rglob("*.log")), (2, 2))
        assert kip848("query", log, GROUPS)[:2] == expected
        assert kip848("cache")[1].startswith("cached: 0 audits")

    def test_it_is_the_users_alone(self, kip848, log, tmp_path):
        kip848("query", log, GROUPS)
        folder = tmp_path / "cache" / "kip848-records" / "audits"
        (entry,) = folder.iterdir()
        assert [each.stat().st_mode & 0o777 for each in (folder, entry)] == [0o700, 0o700]

    @pytest.mark.parametrize("variables", [{"XDG_CACHE_HOME": "", "HOME": ""}, {"XDG_CACHE_HOME": "/dev/null"}])
    def test_without_a_place(self, kip848, log, monkeypatch, variables):
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        for _ in range(2):
            assert kip848("query", log, GROUPS, "--csv") == (0, "group_id\nstatic\nstuck\n", [])

    def test_a_disk_that_is_full(self, kip848, log, monkeypatch):
        from kip848_records.machine.disks import DiskError  # noqa: PLC0415 - of this test alone

        audit_copies = pipeline.audit_copies

        def full(engine, options, *others):
            if "cache" in options.out:
                raise DiskError.full({})
            return audit_copies(engine, options, *others)

        monkeypatch.setattr(pipeline, "audit_copies", full)
        assert kip848("query", log, GROUPS, "--csv") == (0, "group_id\nstatic\nstuck\n", [])
        assert kip848("cache")[1].startswith("cached: 0 audits")

    def test_the_command(self, kip848, log, tmp_path):
        kip848("query", log, GROUPS)
        folder = tmp_path / "cache" / "kip848-records" / "audits"
        assert kip848("cache")[1].startswith("cached: 1 audit, ")
        _, cleared, _ = kip848("cache", "--clear")
        assert cleared.splitlines()[0].startswith("removed: 1 audit, ")
        assert cleared.splitlines()[1] == f"cached: 0 audits, 0 B in {folder}"
        assert list(folder.iterdir()) == []

    def test_the_command_without_a_place(self, kip848, monkeypatch):
        monkeypatch.delenv("XDG_CACHE_HOME")
        monkeypatch.delenv("HOME")
        assert kip848("cache")[1].startswith("There is no cache: ")

    def test_its_folder_is_that_of_the_user(self, tmp_path):
        assert Cache.of_user().folder == tmp_path / "cache" / "kip848-records" / "audits"


def test_no_folder_for_temporary_files(kip848, log, monkeypatch):
    """As on the read-only root of a container."""
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", list)
    code, _, said = kip848("query", log, GROUPS, "--no-cache")
    assert code == 2
    assert said == [
        "error: no folder for temporary files can be written to",
        "hint: set TMPDIR to a folder that you can write to; in a container, mount /tmp: docker run --tmpfs /tmp ...",
    ]

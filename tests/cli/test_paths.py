"""Paths as users write them: each means the same file or folder in every command, on both engines."""

import base64
import gzip
import json
import shutil
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake

from kip848_records.cli import main
from kip848_records.simulate.partition_log import KAFKA_ROWS
from kip848_records.sources.read import read_copies
from tests.cli.offsets_log import commit, write
from tests.engines.engines import EMBEDDED, SPARK, new_engine
from tests.seeds import few

DUMP = "poll-timeout-loop.jsonl"
SOURCES = ("a dump.jsonl", "lines", "dump.parquet", "parts", "delta", "segments")
SHAPES = {
    "absolute": "{root}/{name}",
    "ends in a slash": "{root}/{name}/",
    "from below": "../../{name}",
    "from here": "./../../{name}",
    "on the way": "{root}/below/../{name}",
    "home": "~/{name}",
    "link": "{root}/../link/{name}",
    "parent of what a link leads to": "{root}/../deep/../../{name}",
    "URI": "file:{root}/{name}",
    "URI with ..": "file://{root}/below/../{name}",
}


@pytest.fixture
def root(tmp_path, captures, monkeypatch):
    """A folder with a log in each format; the working directory is two folders below, and `deep` a link to it."""
    found = tmp_path / "some logs"
    here = found / "below" / "here"
    here.mkdir(parents=True)
    (tmp_path / "link").symlink_to(found)
    (tmp_path / "deep").symlink_to(here)
    dump = captures / "reports" / DUMP
    rows = pa.Table.from_pylist([_row(json.loads(line)) for line in dump.read_text().splitlines()], KAFKA_ROWS)
    shutil.copy(dump, found / "a dump.jsonl")
    (found / "lines" / "partition=3").mkdir(parents=True)
    shutil.copy(dump, found / "lines" / "partition=3" / "x.jsonl")
    pq.write_table(rows, found / "dump.parquet")
    for partition in range(2):
        (found / "parts" / f"partition={partition}").mkdir(parents=True)
        pq.write_table(rows.drop_columns(["partition"]), found / "parts" / f"partition={partition}" / "x.parquet")
    write_deltalake(found / "delta", rows)
    shutil.copytree(captures / "lost-segment" / "segments", found / "segments")
    monkeypatch.chdir(here)
    monkeypatch.setenv("HOME", str(found))
    return found


def _row(row):
    given = {name: row.get(name) for name in KAFKA_ROWS.names}
    found = {name: None if given[name] is None else base64.b64decode(given[name]) for name in ("key", "value")}
    return given | found | {"timestamp": datetime.fromtimestamp(row["timestamp"] / 1000, UTC)}


def shaped(shape, root, name):
    return SHAPES[shape].format(root=root, name=name)


@pytest.fixture
def answer(capsys):
    """Run a command: its exit code, and what it printed on stdout and stderr."""

    def run(*arguments):
        code = main([str(each) for each in arguments])
        said = capsys.readouterr()
        return code, said.out, [line for line in said.err.splitlines() if not line.startswith("[")]

    return run


@pytest.mark.slow
@pytest.mark.parametrize("name", SOURCES)
def test_sources(root, answer, name):
    expected = answer("inspect", root / name, "--limit", 3)
    assert expected[0] == 0
    for shape in SHAPES:
        assert answer("inspect", shaped(shape, root, name), "--limit", 3) == expected, shape


@pytest.mark.parametrize("kind", [EMBEDDED, pytest.param(SPARK, marks=pytest.mark.nightly)])
def test_both_engines_read_what_the_operating_system_finds(root, request, kind):
    engine = new_engine(kind, request.getfixturevalue("classic") if kind == SPARK else None)
    for name in SOURCES:
        counts = {
            shape: [row[0] for row in engine.collect(engine.sql("SELECT count(*) AS n FROM {rows}", rows=rows))]
            for shape in ("absolute", "from below", "parent of what a link leads to", "URI with ..")
            for rows in [read_copies(engine, shaped(shape, root, name))]
        }
        assert len({tuple(each) for each in counts.values()}) == 1, (name, counts)


@pytest.mark.parametrize("shape", few(list(SHAPES), 3, "places of tables"))
def test_tables_are_written_and_read_at_one_place(root, answer, shape):
    before = set(root.parent.rglob("*"))
    tables = shaped(shape, root, "tables")
    assert answer("audit", root / "a dump.jsonl", "--out", tables, "--quiet")[0] == 0
    made = {path for path in set(root.parent.rglob("*")) - before if root / "tables" not in path.parents}
    assert made == {root / "tables"}
    found = answer("query", tables, "SELECT group_id FROM group_state", "--quiet", "--csv")
    assert found == (0, "group_id\npoll-timeout-loop\n", [])


@pytest.mark.parametrize(
    "shape", few([shape for shape in SHAPES if "slash" not in shape and "URI" not in shape], 2, "files of options")
)
def test_files_of_options(root, answer, shape):
    (root / "topics.json").write_text("{}")
    (root / "limits.toml").write_text("")
    log = write(root / "commits", commit(1, 5))
    topics, limits, out = (shaped(shape, root, name) for name in ("topics.json", "limits.toml", "offsets.csv"))
    options = ("--group", "g", "--topics", topics, "--config", limits, "--out", out, "--no-cache", "--quiet")
    assert answer("offsets", log, *options)[0] == 0
    assert (root / "offsets.csv").read_text() == "t,0,5\n"


def test_a_group_id_is_no_path(root, answer):
    code, _, said = answer("explain", root / "a dump.jsonl", "~/orders", "--quiet")
    assert code == 2
    assert "~/orders" in said[0]


@pytest.mark.parametrize("damage", [lambda data: data[:-9], lambda data: data[:20] + b"x" * 30, lambda _: b"x" * 99])
@pytest.mark.parametrize("command", [["inspect"], ["audit", "--out", "{out}"], ["query", "--sql", "SELECT 1"]])
def test_a_damaged_file_is_named(captures, tmp_path, answer, command, damage):
    name, *options = (each.format(out=tmp_path / "out") for each in command)
    log = tmp_path / "x.json.gz"
    log.write_bytes(damage(gzip.compress((captures / "reports" / DUMP).read_bytes())))
    code, _, said = answer(name, log, *options)
    assert (code, said[0]) == (2, f"error: {log} cannot be read: it is damaged, truncated or of another format")

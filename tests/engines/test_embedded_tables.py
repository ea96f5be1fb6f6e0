"""Tables that the embedded engine cannot write, disks that take no more, and other writers: one line each."""

import gc
import json
from pathlib import Path

import pyarrow as pa
import pytest

from kip848_records.engines.embedded import tables
from kip848_records.engines.embedded.engine import EmbeddedEngine
from kip848_records.engines.embedded.errors import EngineError
from kip848_records.engines.embedded.tagged_rows import TaggedRows
from kip848_records.machine.disks import DiskError
from kip848_records.queries.duck import DuckTables
from kip848_records.tables import locks
from kip848_records.tables.errors import TablesError
from kip848_records.tables.registry import TABLES
from tests.small_disks import fill, small_disk

SPEC = TABLES["topic_name"]


def topics(*ids):
    return pa.table({"topic_id": pa.array(ids, pa.string()), "topic": ids, "source": ["cluster"] * len(ids)})


@pytest.fixture
def engine(tmp_path):
    return EmbeddedEngine(str(tmp_path / "out"))


def change_protocol(table, **protocol):
    """Add a commit that changes a table's protocol, or its properties."""
    log = Path(table) / "_delta_log"
    version = max(int(file.stem) for file in log.glob("*.json"))
    actions = [json.loads(line) for line in (log / f"{0:020}.json").read_text().splitlines()]
    about = next(action["metaData"] for action in actions if "metaData" in action)
    about["configuration"] |= protocol.pop("configuration", {})
    if about["configuration"]:
        schema = json.loads(about["schemaString"])
        for number, field in enumerate(schema["fields"], start=1):
            mapping = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": field["name"]}
            field["metadata"] |= mapping
        about["schemaString"] = json.dumps(schema)
    lines = [{"protocol": protocol}, {"metaData": about}]
    (log / f"{version + 1:020}.json").write_text("\n".join(map(json.dumps, lines)))


FEATURES = {
    "deletionVectors": {"readerFeatures": ["deletionVectors"], "writerFeatures": ["deletionVectors", "invariants"]},
    "columnMapping": {
        "readerFeatures": ["columnMapping"],
        "writerFeatures": ["columnMapping"],
        "configuration": {"delta.columnMapping.mode": "name"},
    },
    "rowTracking": {"readerFeatures": [], "writerFeatures": ["rowTracking", "domainMetadata"]},
}


@pytest.mark.parametrize("feature", FEATURES)
@pytest.mark.parametrize("method", ["replace", "append", "delete", "restore", "optimize", "table", "ask"])
def test_features_that_delta_rs_lacks(engine, method, feature):
    name, spec = SPEC.name, SPEC
    engine.tables.create(spec)
    change_protocol(f"{engine.out}/{name}", minReaderVersion=3, minWriterVersion=7, **FEATURES[feature])
    rows = engine.relation(topics("1"))
    calls = {
        "replace": lambda: engine.replace(spec, "a", rows),
        "append": lambda: engine.append(spec, "a", rows, application="x", number=1),
        "delete": lambda: engine.replace(spec, "a", None),
        "restore": lambda: engine.tables.restore(name, 0),
        "optimize": lambda: engine.tables.optimize(name, 7),
        "table": lambda: engine.table(name, "a"),
        "ask": lambda: engine.ask("SELECT * FROM topic_name", name),
    }
    said = (
        f"the table {engine.out}/{name} has the Delta feature .*{feature}.*, which delta-rs lacks; use --engine spark"
    )
    with pytest.raises(EngineError, match=said):
        calls[method]()
    assert engine.tables.version(name) == 1


def test_tables_of_an_older_version_with_such_a_feature(engine):
    engine.tables.create(TABLES["audit_runs"])
    change_protocol(f"{engine.out}/audit_runs", minReaderVersion=3, minWriterVersion=7, **FEATURES["deletionVectors"])
    with pytest.raises(EngineError, match="audit_runs has the Delta feature deletionVectors, which delta-rs lacks"):
        engine.prepare()


def test_column_mapping_of_an_older_protocol(engine):
    engine.tables.create(SPEC)
    mapping = {"delta.columnMapping.mode": "name"}
    change_protocol(f"{engine.out}/{SPEC.name}", minReaderVersion=2, minWriterVersion=5, configuration=mapping)
    with pytest.raises(EngineError, match="has the Delta feature columnMapping, which delta-rs lacks"):
        engine.replace(SPEC, "a", engine.relation(topics("1")))


@pytest.mark.parametrize("name", ["a%20b", "a[b]", "a\\b", "a?b#c*d"])
def test_paths_that_delta_rs_takes_for_others(tmp_path, name):
    engine = EmbeddedEngine(str(tmp_path / name))
    with pytest.raises(
        EngineError, match=r"delta-rs cannot write tables in .*, because of . (and . )*in its path; rename"
    ):
        engine.tables.create(SPEC)
    assert not (tmp_path / name).exists()


@pytest.mark.parametrize("name", ["plain", "with spaces", "\N{SNOWMAN}'s", "a:b=c&d"])
def test_paths_of_other_characters(tmp_path, name):
    engine = EmbeddedEngine(f"file:{tmp_path / name}")
    with engine.alone(engine.out):
        for topic in ("1", "2"):
            engine.replace(SPEC, "a", engine.relation(topics(topic)))
    assert [row.topic for row in engine.collect(engine.table(SPEC.name, "a"))] == ["2"]
    assert [row.topic for row in engine.ask("SELECT topic FROM topic_name", SPEC.name)] == ["2"]
    assert [path.name for path in (tmp_path / name).iterdir()] == [SPEC.name]


@pytest.mark.parametrize("name", ["plain", "with spaces \N{SNOWMAN}"])
@pytest.mark.parametrize("cluster", ["a", "of % [odd] names"])
def test_a_query_sees_the_version_that_it_names(tmp_path, name, cluster):
    engine = EmbeddedEngine(str(tmp_path / name))
    for topic in ("1", "2"):
        engine.replace(SPEC, cluster, engine.relation(topics(topic)))
    assert DuckTables(engine.out)._opened(SPEC.name, 1).version() == 1


def test_a_table_is_opened_once(engine, monkeypatch):
    opened, paths = tables.opened, []
    monkeypatch.setattr(tables, "opened", lambda path, *more: paths.append(path) or opened(path, *more))
    for topic in ("1", "2"):
        engine.replace(SPEC, "a", engine.relation(topics(topic)))
        for _ in range(2):
            assert [row.topic for row in engine.ask("SELECT topic FROM topic_name", SPEC.name)] == [topic]
            assert [row.topic for row in engine.collect(engine.table(SPEC.name, "a"))] == [topic]
    assert len(paths) == 1
    EmbeddedEngine(engine.out).replace(SPEC, "a", engine.relation(topics("3")))
    assert [row.topic for row in engine.ask("SELECT topic FROM topic_name", SPEC.name)] == ["3"]


class TestLock:
    def test_a_second_writer_is_refused(self, engine):
        with engine.alone(engine.out):
            with pytest.raises(TablesError, match="another run writes to the tables in"), engine.alone(engine.out):
                pytest.fail("there were two writers")
            assert locks.is_locked(Path(engine.out))


class TestDisks:
    @pytest.mark.process
    def test_no_space_for_a_table(self, tmp_path):
        with small_disk(tmp_path / "disk", size="4m") as disk:
            engine = EmbeddedEngine(f"{disk}/out")
            engine.tables.create(SPEC)
            fill(disk, leave=64 << 10)
            ids = [f"{number * 7919 % 100_003:x}{number:x}" * 3 for number in range(100_000)]
            with (
                pytest.raises(DiskError, match=r"there is no space left on a disk \(.* on the disk of .*/out now\)"),
                engine.alone(engine.out),
            ):
                engine.replace(SPEC, "a", engine.relation(topics(*ids)))
            assert engine.tables.version(SPEC.name) == 0
            assert not (disk / "out" / "_staging").exists()

    @pytest.mark.process
    def test_a_writer_says_once_that_there_is_no_space(self, tmp_path):
        """Python would report a failure of its own when it collects a writer that tries again."""
        with small_disk(tmp_path / "disk") as disk:
            rows = TaggedRows(lambda: disk, 0)
            for count in range(1, 20):  # there is space for the ends of some of the files
                rows.add(f"{count}", topics(*map(str, range(count * 37))).to_batches()[0])
            fill(disk)
            with pytest.raises(OSError, match="No space left on device"):
                rows.end()
            del rows
            gc.collect()

    @pytest.mark.process
    def test_no_space_for_scratch_rows(self, tmp_path):
        with small_disk(tmp_path / "disk", size="2m") as disk:
            engine = EmbeddedEngine(f"{disk}/out")
            ids = [f"{number * 7919 % 1_000_003:x}{number:x}" * 3 for number in range(1_000_000)]
            some = engine.sql("SELECT topic || topic_id AS topic FROM {rows}", rows=engine.relation(topics(*ids)))
            with pytest.raises(DiskError, match="there is no space left on a disk"), engine.alone(engine.out):
                engine.materialize(some, "much")
            assert not (disk / "out" / "_staging").exists()

    @pytest.mark.process
    def test_a_folder_that_cannot_be_written(self, tmp_path):
        with small_disk(tmp_path / "disk", options=",ro") as disk:
            engine = EmbeddedEngine(f"{disk}/out")
            with (
                pytest.raises(
                    DiskError, match=r"nothing can be written to .*/out: Read-only file system; pass a folder"
                ),
                engine.alone(engine.out),
            ):
                pytest.fail("it is locked")

    @pytest.mark.process
    def test_a_folder_in_which_nothing_can_be_made(self, tmp_path):
        with small_disk(tmp_path / "disk", options=",ro") as disk:
            engine = EmbeddedEngine(str(disk))
            with (
                pytest.raises(
                    DiskError, match=r"nothing can be written to .*/disk: Read-only file system; pass a folder"
                ),
                engine.alone(engine.out),
            ):
                pytest.fail("it has a scratch folder")
            with pytest.raises(DiskError, match="Read-only file system"):
                engine.tables.create(SPEC)

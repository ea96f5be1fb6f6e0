"""Rows that are added and replaced in place, against a dict of them."""

import random
from contextlib import nullcontext
from dataclasses import replace

import pytest

from kip848_records.landing import Scratch
from kip848_records.tables.columns import CLUSTER, GROUP_ID, INT, STRING, Column, TableSpec
from kip848_records.tables.delta import Change, ClusterTables, append, upsert
from kip848_records.tables.places import delta_table
from kip848_records.tables.writers import only_writer
from tests.audits import table_rows

SPEC = TableSpec(
    "things",
    "Things",
    ("cluster", "group_id", "number"),
    (
        CLUSTER,
        GROUP_ID,
        Column("number", INT, "A number", required=True),
        Column("text", STRING, "A text"),
        Column("kind", STRING, "What kind of text", required=True),
    ),
)
ROW = "group_id string, number int, text string, kind string"
OURS, OTHERS = r"it's \ours", "it"
KEYS = [(group, number) for group in ("a", "b", r"c'\%") for number in range(3)]
TEXTS = ["x", "y", r"it's \x", None]


class Table:
    def __init__(self, spark, folder, spec=SPEC):
        self.spark, self.out, self.spec = spark, folder, spec
        self.scratch = Scratch(str(folder / "scratch"))
        self.tables = {name: ClusterTables(spark, str(folder), name) for name in (OURS, OTHERS)}
        self.used = 0

    def frame(self, rows):
        return self.spark.createDataFrame([(*key, text, f"it's {text}") for key, text in rows.items()], ROW)

    def add(self, cluster, rows, version):
        append(self.tables[cluster], self.spec, self.frame(rows).coalesce(1), f"app {cluster}", version)

    def upsert(self, rows, groups, meanwhile=lambda: None):
        """`meanwhile`: what another run does when this one knows what it will change, and has not yet done so."""

        def keep(frame, name):
            self.used += 1
            kept = self.scratch.keep(frame, f"{name}-{self.used}")
            meanwhile()
            return kept

        change = Change(self.frame(rows), lambda found: found.where(found.group_id.isin(groups)), SPEC.key[1:])
        upsert(self.tables[OURS], self.spec, change, keep)

    def rows(self, cluster):
        rows = table_rows(self.out, "things", cluster)
        found = [((row["group_id"], row["number"]), row["text"]) for row in rows]
        assert len(found) == len(dict(found))
        assert all(row["kind"] == f"it's {row['text']}" for row in rows)
        return dict(found)

    def commit(self):
        return delta_table(self.spark, str(self.out), "things").history(1).collect()[0]

    def version(self):
        return self.commit().version

    def files(self, texts):
        """Those with rows of ours that have one of these texts."""
        rows = self.tables[OURS].read("things")
        return {row[0] for row in rows.where(rows.text.isin(texts)).select("_metadata.file_path").distinct().collect()}


def some(rng, groups):
    return {key: rng.choice(TEXTS) for key in KEYS if key[0] in groups and rng.random() < 0.6}


@pytest.fixture(scope="module", params=[None, "kind"], ids=["together", "apart"])
def table(request, spark, tmp_path_factory):
    """Every cluster has the same keys."""
    table = Table(spark, tmp_path_factory.mktemp("things"), replace(SPEC, also_partitioned_by=request.param))
    table.add(OTHERS, dict.fromkeys(KEYS, "of others"), 1)
    table.add(OURS, dict.fromkeys(KEYS[:5], "first"), 1)
    return table


def test_a_part_is_what_is_wanted_and_all_else_as_it_was(table):
    model, others = table.rows(OURS), table.rows(OTHERS)
    for seed in range(4):
        rng = random.Random(seed)  # noqa: S311 - not for secrets
        groups = rng.sample(["a", "b", r"c'\%"], rng.choice([1, 2]))
        wanted = some(rng, groups)
        table.upsert(wanted, groups)
        model = {key: text for key, text in model.items() if key[0] not in groups} | wanted
        assert table.rows(OURS) == model, seed
        assert table.rows(OTHERS) == others


@pytest.mark.parametrize("is_locked", [True, False], ids=["locked", "unlocked"])
@pytest.mark.parametrize("change", ["nothing", "insert", "update", "delete", "all gone"])
def test_one_commit_or_none(table, change, is_locked):
    groups = ["a"]
    table.upsert({("a", 0): None, ("a", 1): "x"}, groups)
    before, others, version = table.rows(OURS), table.rows(OTHERS), table.version()
    wanted = {
        "nothing": {("a", 0): None, ("a", 1): "x"},
        "insert": {("a", 0): None, ("a", 1): "x", ("a", 2): None},
        "update": {("a", 0): "now", ("a", 1): None},
        "delete": {("a", 1): "x"},
        "all gone": {},
    }[change]
    with only_writer(table.spark, str(table.out)) if is_locked else nullcontext():
        table.upsert(wanted, groups)
    assert table.rows(OURS) == {key: text for key, text in before.items() if key[0] != "a"} | wanted
    assert table.rows(OTHERS) == others
    assert table.version() - version == (change != "nothing")


def test_rows_that_are_apart_stay_in_their_files(spark, tmp_path):
    table = Table(spark, tmp_path, replace(SPEC, also_partitioned_by="kind"))
    table.add(OURS, {("a", number): text for number, text in enumerate(["over", "over", "open", "open", "gone"])}, 1)
    before = table.files(["over"])
    wanted = {("a", 0): "over", ("a", 1): "over", ("a", 2): "over", ("a", 3): "open", ("a", 5): "over"}
    with only_writer(spark, str(tmp_path)):
        table.upsert(wanted, ["a"])
    assert table.rows(OURS) == wanted
    assert before < table.files(["over"])
    assert table.commit().operationMetrics["numTargetRowsCopied"] == "1"  # beside one that changes
    looked_at = table.commit().operationParameters["predicate"]
    assert all(f"it's {text}" in looked_at for text in ("open", "gone"))
    assert "it's over" not in looked_at


def test_another_run_without_a_lock_was_first(table):
    table.upsert({("a", 0): "open", ("a", 1): "gone"}, ["a"])
    wanted = {("a", 0): "over", ("a", 2): "open"}
    table.upsert(wanted, ["a"], meanwhile=lambda: table.upsert(wanted, ["a"]))
    assert {key: text for key, text in table.rows(OURS).items() if key[0] == "a"} == wanted


def test_rows_of_one_version_are_added_once(table):
    first, others = table.rows(OURS), table.rows(OTHERS)
    new = {("once", 0): "x", ("once", 1): None}
    for version in (2, 2, 1):
        table.add(OURS, new, version)
        assert table.rows(OURS) == first | new
    table.add(OURS, {("twice", 0): None}, 3)
    table.add(OTHERS, {("of others", 0): None}, 2)  # of another application
    assert table.rows(OURS) == first | new | {("twice", 0): None}
    assert table.rows(OTHERS) == others | {("of others", 0): None}


@pytest.mark.parametrize("left", [[], [".00000000000000000000.json.4e0f.tmp"]])
def test_a_table_whose_first_commit_was_killed_is_created(spark, tmp_path, left):
    log = tmp_path / "things" / "_delta_log"
    log.mkdir(parents=True)
    for name in left:
        (log / name).touch()
    table = Table(spark, tmp_path)
    table.add(OURS, dict.fromkeys(KEYS[:2], "there"), 1)
    assert table.rows(OURS) == dict.fromkeys(KEYS[:2], "there")

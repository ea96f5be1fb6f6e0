"""Each rule about a log gives the same rows on both engines: random copies of random logs, with damaged rows."""

import random
from functools import partial
from itertools import chain, permutations
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from kip848_records.decode.dialects import choose_dialect
from kip848_records.decode.inspect import inspect_log
from kip848_records.decode.records import (
    checked_commits,
    records_as_json,
    records_of_table,
    records_of_unknown_types,
    undecoded,
)
from kip848_records.engines.embedded.engine import EmbeddedEngine
from kip848_records.engines.spark.engine import SparkEngine
from kip848_records.errors import InputError
from kip848_records.log.coverage import _missing_in_bases
from kip848_records.log.facts import LogFacts
from kip848_records.log.losses import records_of_other_copies
from kip848_records.log.retention import prunable
from kip848_records.log.runs import PartitionRead, RunInfo
from kip848_records.log.state import state_of
from kip848_records.log.table import Knowledge
from kip848_records.pipeline.commit_before import with_commit_before
from kip848_records.pipeline.commits import consumption_stops
from kip848_records.pipeline.names import names_of_commits
from kip848_records.protocol.columns import FAILURE_COLUMNS, OFFSET_COMMIT_TABLE, PLACE
from kip848_records.protocol.decoded_rows import typed_records
from kip848_records.protocol.messages import KAFKA
from kip848_records.replay.inputs import PartitionCoverage, ReplayInputs
from kip848_records.replay.rows import FoundProgress, FoundStop, StoppedPartition, row_type
from kip848_records.sources.copies import drop_copies, merge_copies
from kip848_records.sources.known_keys import check_rows_are_log
from kip848_records.sources.transactions import with_outcomes, without_aborted
from kip848_records.specs.log_columns import LOG_COLUMNS
from kip848_records.times import utc
from tests.engines.equal_cases import of_every_kind
from tests.equal_rows import Rows
from tests.log.test_random_copies import scenario
from tests.log_rows import coverage_of, keyed
from tests.protocol.samples import vector_records
from tests.sessions import BOTH
from tests.sources.batches import read_batch

SCENARIOS = 60
INPUTS = ReplayInputs("kafka", None, {0: PartitionCoverage(((0, 1000),), last_offset=999)}, offset_commits=True)
LAST_OFFSET = 200
KEY = b"\x00\x03\x00\x01g"


@pytest.fixture(scope="module")
def log():
    """The rows of all copies of some partitions; a few could not be read, and a few are not what other copies have."""
    rng = random.Random(1)  # noqa: S311 - rows, not secrets
    rows = list(chain.from_iterable(scenario(seed).rows() for seed in range(SCENARIOS)))
    for row in rows:
        if row["key"] is None or row["error_code"] is not None:
            continue
        draw = rng.random()
        if draw < 0.05:
            row |= {"error_code": "bad_records", "error": "damaged"}
        elif draw < 0.1:
            row["value"] = None if rng.random() < 0.5 else b"other"
        elif draw < 0.12:
            row["leader_epoch"] = None
    return pa.Table.from_pylist(rows, LOG_COLUMNS)


@pytest.fixture(scope="module")
def typed():
    """Records of all types, offset commits in transactions among them, with markers, damaged values, unknown types."""
    rng = random.Random(2)  # noqa: S311 - as above
    records = [*vector_records("4.4.0"), (b"\x00\x63\x00\x01g", b"new"), (b"\x00", b""), (b"\x00\x03\x00\x09g", b"")]
    rows = []
    for offset in range(1000):
        key, value = rng.choice(records)
        row = {"key": key, "value": value if rng.random() < 0.8 else None, "transaction": "none", **keyed(key)}
        if rng.random() < 0.02:
            row["value"] = b"\x00\xff"
        if row["key_type"] in (0, 1) and rng.random() < 0.5:
            row |= {"transaction": "pending", "producer_id": rng.randrange(3)}
        if row["key_type"] is None:
            row |= {"error_code": "key_without_type", "error": "key: none"}
        if rng.random() < 0.1:
            control = rng.choice(["commit", "commit", "abort", "unknown"])
            row = {"control": control, "producer_id": rng.randrange(3), "transaction": "committed"}
        elif rng.random() < 0.01:
            row |= {"error_code": "bad_records", "error": "damaged"}
        at = utc(1_000_000 + offset * 700)
        rows.append(row | {"partition": offset % 2, "offset": offset, "timestamp": at, "copies": ["a"]})
    return pa.Table.from_pylist(rows, LOG_COLUMNS)


@pytest.fixture
def on_both(spark):
    """Compare the rows of a rule on both engines, over relations of the same rows; return them."""
    return partial(compared, spark)


def compared(spark, rule, *rows):
    found = []
    for engine in (SparkEngine(spark), EmbeddedEngine()):
        answer = rule(engine, *map(engine.relation, rows))
        found.append([row._asdict() for row in engine.collect(answer)])
    by_spark, embedded = found
    assert Rows(embedded) == Rows(by_spark)
    return embedded


def engine_rows(commits):
    """The decoded offset commits among rows."""
    rows = pa.Table.from_pylist(commits, LOG_COLUMNS).select([*PLACE, "transaction", "key", "value"])
    batches = typed_records(OFFSET_COMMIT_TABLE, "kafka", rows.to_batches())
    return pa.Table.from_batches(batches).to_pylist()


def one_copy(log):
    """The same rows, all of one copy."""
    return log.set_column(log.schema.get_field_index("copies"), "copies", pa.array([["a"]] * len(log)))


def merged(engine, log):
    return merge_copies(engine, with_outcomes(engine, log))


class TestCopies:
    def test_merged(self, on_both, log):
        rows = on_both(merged, log)
        assert {row["error_code"] for row in rows} >= {"conflict", "bad_records", None}
        assert max(len(row["copies"]) for row in rows) == 3

    def test_one_copy(self, on_both, log):
        assert len(on_both(drop_copies, one_copy(log))) < len(log)

    @pytest.mark.parametrize("rule", [drop_copies, merge_copies])
    @pytest.mark.parametrize(
        "values",
        [
            {"copies": [["a"], ["b"]]},
            {"producer_id": [None, -1, 7]},
            {"timestamp_type": [None, 0, 1]},
            {"leader_epoch": [4, 3, None]},
            {"transaction": ["none", None, "unknown"]},
        ],
    )
    def test_the_kept_row_does_not_depend_on_the_order_of_rows(self, on_both, values, rule):
        """Each order is a partition of its own."""
        record = {"offset": 7, "transaction": "none", "timestamp": utc(1_000_000), "copies": ["a"]}
        ((name, each),) = values.items()
        orders = [*permutations(each)]
        rows = [
            record | keyed(KEY) | {"partition": partition, "key": KEY, "value": b"", name: value}
            for partition, given in enumerate(orders)
            for value in given
        ]
        found = [row | {"partition": None} for row in on_both(rule, pa.Table.from_pylist(rows, LOG_COLUMNS))]
        assert len(found) == len(orders)
        assert found == found[:1] * len(orders)

    @BOTH
    def test_outcomes(self, on_both, log, typed):
        outcomes = {row["transaction"] for row in on_both(with_outcomes, log)}
        assert outcomes >= {"pending", "committed", "aborted", "unknown"}
        assert len(on_both(with_outcomes, typed)) == len(typed)

    def test_aborted_records(self, on_both, log):
        counts = []

        def kept(engine, log):
            rows, dropped = without_aborted(engine, log)
            answer = engine.relation(pa.Table.from_pylist([row._asdict() for row in engine.collect(rows)], LOG_COLUMNS))
            counts.append(dropped())
            return answer

        rows = on_both(kept, log)
        assert counts[0] == counts[1] == len(log) - len(rows) > 0


class TestSources:
    def test_what_a_run_reads(self, on_both, captures, tmp_path):
        """Without offset commits, which files count instead; `test_equal_audits` reads them with all."""
        paths = of_every_kind(tmp_path, captures)["sources"]
        rows = on_both(lambda engine: read_batch(engine, paths, offset_commits=False).rows)
        skipped = {row["file"]["format"] for row in rows if row["file"] and row["file"]["skipped"]}
        assert skipped == {"segments", "parquet", "delta", "json"}

    def test_whether_they_are_the_log(self, on_both, typed):
        business = typed.set_column(
            typed.schema.get_field_index("key_type"), "key_type", pa.nulls(len(typed), pa.int32())
        )

        def said(engine, *logs):
            for log in logs:
                try:
                    check_rows_are_log(engine, log, "x")
                    yield "log"
                except InputError as error:
                    yield error.message

        rows = on_both(
            lambda engine, *logs: engine.relation(pa.table({"said": list(said(engine, *logs))})), typed, business
        )
        assert [row["said"] for row in rows] == ["log", "x has no record with a key that a group coordinator writes"]


class TestCoverage:
    def test_coverage(self, on_both, log):
        def known(engine, log):
            found = coverage_of(engine, merged(engine, log))
            said = [str(each) for each in (*found.copies, *sorted(found.partitions.items()))]
            return engine.relation(pa.table({"said": said}))

        assert len(on_both(known, log)) > SCENARIOS

    @staticmethod
    def missing(engine, log):
        asked = [(partition, "copy 0", 3, LAST_OFFSET) for partition in range(0, SCENARIOS, 2)]
        return _missing_in_bases(engine, merged(engine, log), asked)

    def test_records_that_bases_lack(self, on_both, log):
        assert on_both(self.missing, log)

    def test_records_of_other_copies(self, on_both, log):
        assert on_both(lambda engine, log: records_of_other_copies(engine, merged(engine, log)), log)

    def test_replayable_rows(self, on_both, log):
        def replayable(engine, log):
            rows = merged(engine, log)
            held = records_of_other_copies(engine, rows)
            facts = SimpleNamespace(stale=self.missing(engine, log), held_elsewhere=held)
            return LogFacts.replayable(facts, engine, rows)

        rows = on_both(replayable, log)
        assert any(row["group_id"] is None for row in rows if row["error"] == "damaged")


class TestState:
    @pytest.mark.parametrize(
        "limits",
        [{}, {"offsets": {0: 3, 1: 0, 2: 20}}, {"until": utc(1_500)}, {"offsets": {1: 9}, "until": utc(1_900)}],
    )
    def test_last_values(self, on_both, log, limits):
        assert on_both(lambda engine, log: state_of(engine, drop_copies(engine, log), **limits), one_copy(log))


class TestDecoded:
    def test_records(self, on_both, typed):
        for table in sorted({record.table for record in KAFKA.records}):
            rows = on_both(lambda engine, log, table=table: records_of_table(engine, log, table, "kafka"), typed)
            assert rows or table in {"group_configuration", "share_group_partition_metadata"}

    @BOTH
    def test_json(self, on_both, typed):
        assert {
            row["error"] is None for row in on_both(lambda engine, log: records_as_json(engine, log, "kafka"), typed)
        } == {
            True,
            False,
        }

    @pytest.mark.parametrize(
        "selected", [{}, {"group": "group"}, {"types": [3, 99, -1]}, {"types": [3], "group": "group", "limit": 2}]
    )
    def test_inspected(self, on_both, typed, selected):
        assert on_both(lambda engine, log: inspect_log(engine, log, **selected), typed)

    def test_undecoded(self, on_both, typed):
        rows = on_both(lambda engine, log: undecoded(engine, log, "kafka"), typed)
        assert {row["position"] is None for row in rows} == {True, False}

    def test_unknown_types(self, on_both, typed):
        assert {row["key_type"] for row in on_both(records_of_unknown_types, typed)} == {99}

    def test_dialect(self, on_both, typed):
        on_both(lambda engine, log: engine.relation(pa.table({"said": [str(choose_dialect(engine, log))]})), typed)


class TestCommits:
    def test_names(self, on_both, typed):
        def names(engine, log):
            return names_of_commits(engine, records_of_table(engine, log, OFFSET_COMMIT_TABLE, "kafka"))

        def names_of_checked(engine, log):
            return names_of_commits(engine, checked_commits(engine, with_outcomes(engine, log), "kafka"))

        assert Rows(on_both(names_of_checked, typed)) == Rows(on_both(names, typed))

    def test_undecoded_ones(self, on_both, typed):
        commits = typed.filter(pc.less(pc.fill_null(typed["key_type"], 9), 2))

        def checked(engine, log):
            found = checked_commits(engine, log, "kafka")
            columns = ", ".join(f"found.{name}" for name in FAILURE_COLUMNS.names)
            text = f"SELECT {columns} FROM {{found}} AS found WHERE error_code IS NOT NULL"  # noqa: S608 - ours
            return engine.sql(text, found=found)

        def readable(engine, log):
            return undecoded(
                engine, engine.sql("SELECT * FROM {log} AS log WHERE error_code IS NULL", log=log), "kafka"
            )

        rows = on_both(checked, commits)
        assert Rows(rows) == Rows(on_both(readable, commits))
        assert len(rows) > 3

    def test_commits_before(self, on_both, typed):
        is_commit = pc.less(pc.fill_null(typed["key_type"], 0), 2)
        rows = on_both(with_commit_before, typed.filter(pc.invert(is_commit)), typed.filter(is_commit))
        assert {row["commit_before"] is None for row in rows} == {True, False}

    def test_stops_of_consumption(self, on_both):
        """Each stop has a random owner, rebalance and time, or lacks them."""
        rng = random.Random(3)  # noqa: S311 - rows, not secrets
        key = {"offsets_partition": 0, "group_id": "g", "incarnation": 0, "topic": "t", "partition": 0}
        stays = [
            key | {"owner": "member", "member_id": member, "acquired_offset": acquired, "usual_ms": usual_ms}
            for member, acquired, usual_ms in (("a", 1, 50), ("a", 2, None), ("b", 2, 7))
        ]
        stopped, stops = [], []
        for offset in range(200):
            rebalance = {"rebalance_offset": rng.randrange(-1, 2), "is_one_round": rng.random() < 0.7}
            history = rng.choice(["observed", "left_censored"])
            stopped.append(key | rebalance | {"offset": offset, "kind": "moved", "history": history})
            owner = {"member_id": rng.choice(["a", "b", None]), "acquired_offset": rng.choice([1, 2, None])}
            ends = {"last_progress_at": utc(100), "first_progress_at": rng.choice([utc(90), utc(300), None])}
            idle = {"idle_before_ms": rng.randrange(200), "is_complete": rng.random() < 0.5}
            stops.append(key | owner | ends | idle | {"offset": offset, "committed_offset": 1})
        tables = zip((StoppedPartition, FoundStop, FoundProgress), (stopped, stops, stays), strict=True)
        rows = on_both(
            consumption_stops, *(pa.Table.from_pylist(each, pa.schema(list(row_type(kind)))) for kind, each in tables)
        )
        assert len({(row["history"], row["is_idle"], row["stop_min_ms"] is None) for row in rows}) > 8


class TestRetention:
    def test_prunable_rows(self, on_both, typed):
        rows = typed.append_column("run", pa.array([1] * len(typed), pa.int64()))
        rows = rows.append_column("is_inferred", pa.array([False] * len(typed)))
        places = pa.schema([("partition", pa.int32()), ("offset", pa.int64())])
        tables = {
            "quarantine": pa.Table.from_pylist([{"partition": 0, "offset": 4}], places),
            "epoch_timeline": pa.table({"group_id": ["g"], "status": ["open"]}),
            "rebalance_lag": pa.table({"group_id": ["group"], "status": ["converged"]}),
        }
        info = RunInfo(1, is_copy=False, sources=(), version="1", dialect="kafka", offset_commits=True, read_ms=9)
        reads = [PartitionRead(1, number, until_offset=1000, compaction_probe=8 + number) for number in (0, 1)]

        def gone(engine, rows):
            log = SimpleNamespace(
                engine=engine,
                records=lambda: rows,
                read=lambda name: engine.relation(tables[name]),
                next_run=lambda _: 2,
            )
            return prunable(log, Knowledge([info], reads), 1_000_000 + 700 * 700)[0]

        offsets = {row["offset"] for row in on_both(gone, rows)}
        assert offsets
        assert max(offsets) < 700
        assert offsets.isdisjoint({4, 8, 9})

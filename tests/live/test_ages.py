"""Ages of open groups on a live topic: they count to the time up to which their partition is known."""

import shutil
from datetime import UTC, datetime, timedelta

import pyarrow.compute as pc
import pytest
from rich.console import Console

from kip848_records.check import check
from kip848_records.config import load_settings
from kip848_records.engines.embedded.engine import EmbeddedEngine
from kip848_records.expectations.results import FAIL, PASS
from kip848_records.log.runs import PartitionRead
from kip848_records.log.table import LogTable
from kip848_records.pipeline.rebuild import rebuild
from kip848_records.pipeline.topic import captured
from kip848_records.queries.duck import DuckTables
from kip848_records.report.explain import explain
from kip848_records.report.group_history import GroupHistory
from kip848_records.report.metrics import metrics
from kip848_records.report.page.contents import contents
from kip848_records.report.summary import summary
from kip848_records.sources.topic.ends import Ends
from kip848_records.times import utc, utc_text
from tests.audits import table_rows
from tests.live import two_days
from tests.live.test_runs import KilledError, kill_after
from tests.live.topics import tables
from tests.progress import Watcher

HANGING = {0: 16, 1: 34}
"""Where the partitions end while the stuck group, in partition 0, waits for a member that gives nothing up."""
QUARTER = 15 * 60 * 1000
STUCK = "stuck"
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("each_engine")]

SHOWN = 1.5e-3
"""Metrics are rounded to ms."""


def rows(out, table, **wanted):
    return [row for row in table_rows(out, table, "default") if all(row[name] == each for name, each in wanted.items())]


def millis(at: datetime | None) -> int | None:
    return None if at is None else round(at.replace(tzinfo=UTC).timestamp() * 1000)


def known(out):
    """Up to when each partition is known, and whether it was read to its end: by the three tables that have it."""
    run = max(rows(out, "audit_runs"), key=lambda row: row["run"])
    read = {each["partition"]: (millis(each["captured_at"]), each["is_read_to_end"]) for each in run["partitions"]}
    for table in ("partition_history", "group_state"):
        found = {row["partition"]: (millis(row["captured_at"]), row["is_read_to_end"]) for row in rows(out, table)}
        assert found == {partition: read[partition] for partition in found}, table
    return read


def open_ages(out):
    """By table, until when the rows of the stuck group that are open have lasted."""
    (rebalance,) = rows(out, "rebalance", group_id=STUCK, outcome="open")
    (state,) = rows(out, "group_state_timeline", group_id=STUCK, to_at=None)
    members = rows(out, "member_state_timeline", group_id=STUCK, to_at=None)
    lags = rows(out, "rebalance_lag", group_id=STUCK, status="open", superseded=False)
    return {
        millis(rebalance["began_at"]) + rebalance["duration_ms"],
        *(millis(row["from_at"]) + row["duration_ms"] for row in (state, *members)),
        *(millis(row["first_bumped_at"]) + row["lag_ms"] for row in lags),
    }


def lines(parts):
    console = Console(width=1000, highlight=False, color_system=None)
    with console.capture() as captured:
        for part in parts:
            console.print(part)
    return captured.get()


def verdict_of(out):
    return check(DuckTables(str(out)), load_settings(None), cluster="default")


@pytest.mark.parametrize(
    ("end", "newest", "before", "expected"),
    [
        pytest.param(9, None, None, 1000, id="read to its end, without a record"),
        pytest.param(9, 900, 800, 1000, id="read to its end"),
        pytest.param(9, 1300, 800, 1300, id="the broker's clock is ahead"),
        pytest.param(9, 900, 5000, 1000, id="another machine's clock was ahead at the run before"),
        pytest.param(8, 900, 800, 900, id="a transaction is open behind the last record"),
        pytest.param(8, None, 800, 800, id="a transaction is open and nothing came"),
        pytest.param(8, 700, 800, 800, id="the broker's clock went back"),
        pytest.param(8, None, None, None, id="a transaction is open from the start"),
    ],
)
def test_up_to_when_a_partition_is_known(end, newest, before, expected):
    ends = Ends("id", {0: (0, end), 1: (0, 4)}, {0: 9, 1: 4}, None, {}, 1000)
    reads = {} if before is None else {0: PartitionRead(1, 0, captured_ms=before)}
    assert captured(ends, 1000, reads, {} if newest is None else {0: newest}) == {0: expected, 1: 1000}


def hanging(log):
    """The topic, asked 10 s behind its last record."""
    topic = two_days.topic(log.folder, dict(HANGING))
    topic.now_ms = max(topic.newest_ms().values()) + 10_000
    return topic


@pytest.fixture(scope="module")
def first(log, tmp_path_factory):
    """A folder after the first run, for tests to copy, and what the run returned."""
    out = tmp_path_factory.mktemp("first")
    return out, hanging(log).audit(out)


@pytest.fixture(scope="module")
def quiet(log, first, tmp_path_factory):
    """Two runs over a topic in which nothing happens: 10 s behind its last record, and 15 minutes later."""
    out, topic = tmp_path_factory.mktemp("quiet") / "out", hanging(log)
    shutil.copytree(first[0], out)
    found = []
    for is_first in (True, False):
        audit = first[1] if is_first else topic.audit(out)
        opened = DuckTables(str(out))
        verdict = verdict_of(out)
        (group,) = (row for row in contents(opened).groups if row["group_id"] == STUCK)
        found.append(
            {
                "asked": topic.now_ms,
                "audit": audit,
                "known": known(out),
                "ages": open_ages(out),
                "summary": lines(summary(opened, audit)),
                "explain": lines(explain(GroupHistory(opened, STUCK, None))),
                "stable": next(result for result in verdict.results if result.name == "group_stable"),
                "metrics": metrics(opened, verdict, {}),
                "page": group["captured_ms"] - group["since_ms"],
                "began": group["since_ms"],
            }
        )
        topic.now_ms += QUARTER
    return topic, out, found


def test_time_passes_where_nothing_is_written(quiet):
    """Each age counts to when the run asked where the topic ends, in each table and each report."""
    _, _, found = quiet
    for run in found:
        assert set(run["known"].values()) == {(run["asked"], True)}
        assert run["ages"] == {run["asked"]}
        assert millis(run["audit"].captured_at) == run["asked"]
        stuck_ms = run["asked"] - run["began"]
        assert run["page"] == stuck_ms
        (line,) = [line for line in run["metrics"].splitlines() if line.startswith("kip848_stuck_group_seconds")]
        assert float(line.split()[-1]) == pytest.approx(stuck_ms / 1000, abs=SHOWN)
        assert 'kip848_partitions_not_read_to_end{cluster="default"} 0.0' in run["metrics"]
        assert "known only to" not in run["summary"] + run["explain"]
        assert "newest record" not in run["summary"] + run["explain"]
    first, second = found
    assert (first["stable"].status, second["stable"].status) == (PASS, FAIL)
    assert [each.group_id for each in second["stable"].violations] == [STUCK]
    assert "stuck for ≥ 15 min" in second["explain"]
    assert "1 newly overdue" in second["summary"]  # beyond the limit of group_stable now


def test_a_rebuild_reuses_the_time_that_was_stored(quiet, tmp_path):
    _, out, found = quiet
    before = tables(out)
    log = LogTable(EmbeddedEngine(str(out)), "default")
    with log.engine.alone(str(tmp_path)):
        rebuild(log, log.knowledge(), Watcher())
    assert tables(out) == before
    assert known(out) == found[-1]["known"]


def test_an_open_transaction_stops_what_is_known_of_its_partition(log, tmp_path):
    """Its groups are known only to the last record that was read, or to what the run before knew; never less."""
    topic = two_days.topic(log.folder, dict(HANGING))
    newest = topic.newest_ms()
    stuck, other = 0, 1
    topic.open_after, topic.now_ms = {stuck: 7}, max(newest.values()) + QUARTER
    audit = topic.audit(tmp_path, offset_commits=True)
    assert known(tmp_path) == {stuck: (newest[stuck], False), other: (topic.now_ms, True)}
    assert open_ages(tmp_path) == {newest[stuck]}
    opened = DuckTables(str(tmp_path))
    known_to = f"is known only to {utc_text(utc(newest[stuck]))}"
    limit = f"Partition {stuck} {known_to}: later records are behind an open transaction, or were not read"
    assert limit in lines(summary(opened, audit))
    assert limit in " ".join(lines(explain(GroupHistory(opened, STUCK, None))).split())
    (group,) = (row for row in contents(opened).groups if row["group_id"] == STUCK)
    assert group["captured_ms"] == newest[stuck]
    verdict = verdict_of(tmp_path)
    stuck_s = (
        f'kip848_stuck_group_seconds{{cluster="default",group="stuck"}} {(newest[stuck] - group["since_ms"]) / 1000}'
    )
    assert {stuck_s, 'kip848_partitions_not_read_to_end{cluster="default"} 1.0'} <= {
        *metrics(opened, verdict, {}).splitlines()
    }
    assert verdict.limits["default"].known_to == {stuck: utc(newest[stuck])}
    assert next(result for result in verdict.results if result.name == "group_stable").status == PASS

    topic.open_after, topic.now_ms = {other: 1}, topic.now_ms + QUARTER  # the transaction has ended, another is open
    asked_before = topic.now_ms - QUARTER
    topic.audit(tmp_path, offset_commits=True)
    assert known(tmp_path) == {stuck: (topic.now_ms, True), other: (asked_before, False)}
    assert open_ages(tmp_path) == {topic.now_ms}


@pytest.mark.nightly
def test_partitions_without_a_record(log, tmp_path):
    """Never written, emptied by retention, or with an open transaction alone: nothing is known of the last one."""
    topic = two_days.topic(log.folder, dict(HANGING))
    never, emptied, hidden = 2, 3, 4
    topic.until |= {never: 0, emptied: 7, hidden: 0}
    topic.starts, topic.open_after = {emptied: 7}, {hidden: 5}
    topic.now_ms = max(topic.newest_ms().values()) + QUARTER
    audit = topic.audit(tmp_path, offset_commits=True)
    read = dict.fromkeys([*HANGING, never, emptied], (topic.now_ms, True))
    assert known(tmp_path) == {**read, hidden: (None, False)}
    assert open_ages(tmp_path) == {topic.now_ms}
    opened, verdict = DuckTables(str(tmp_path)), verdict_of(tmp_path)
    assert verdict.limits["default"].known_to == {hidden: None}
    limits = [line for line in lines(summary(opened, audit)).splitlines() if "known" in line and "Partition" in line]
    assert limits == [
        f"Partition {hidden} is not known: later records are behind an open transaction, or were not read"
    ]
    assert 'kip848_partitions_not_read_to_end{cluster="default"} 1.0' in metrics(opened, verdict, {})

    topic.until[hidden], topic.open_after = 5, {}  # the transaction was aborted: its records are not shown
    topic.now_ms += QUARTER
    topic.audit(tmp_path, offset_commits=True)
    assert known(tmp_path) == dict.fromkeys(topic.until, (topic.now_ms, True))


@pytest.mark.parametrize("tables_written", [0, 7])
def test_a_run_that_was_interrupted_tells_up_to_when_partitions_are_known(log, first, tmp_path, tables_written):
    """It stored its time with the log, before the tables; the run behind it is stopped by a transaction."""
    topic, cut, other = hanging(log), 0, 1
    shutil.copytree(first[0], tmp_path, dirs_exist_ok=True)
    interrupted_ms = topic.now_ms = topic.now_ms + QUARTER
    with pytest.MonkeyPatch.context() as patch:
        kill_after(patch, tables_written)
        with pytest.raises(KilledError):
            topic.audit(tmp_path)
    topic.now_ms, topic.open_after = interrupted_ms + QUARTER, {cut: 3}
    audit = topic.audit(tmp_path)
    assert audit.resumed
    assert known(tmp_path) == {cut: (interrupted_ms, False), other: (topic.now_ms, True)}
    assert open_ages(tmp_path) == {interrupted_ms}
    known_to = f"Partition {cut} is known only to {utc_text(utc(interrupted_ms))}"
    assert known_to in lines(summary(DuckTables(str(tmp_path)), audit))


@pytest.mark.nightly
def test_no_age_ends_before_the_newest_record_of_the_partition(log, tmp_path):
    """This machine's clock is behind that of the brokers, and one of these is behind the other."""
    topic = two_days.topic(log.folder, dict(HANGING))
    for row in topic.rows.filter(pc.field("partition") == 0).to_pylist():
        topic.change(0, row["offset"], timestamp=row["timestamp"] - timedelta(minutes=30))
    newest = topic.newest_ms()
    topic.now_ms = min(newest.values()) - 60_000
    topic.audit(tmp_path)
    assert known(tmp_path) == {partition: (ms, True) for partition, ms in newest.items()}
    assert newest[0] < newest[1]


@pytest.mark.nightly
def test_offset_commits_that_are_skipped_tell_up_to_when_a_partition_is_known(log, tmp_path):
    """The last record that was read is a commit, which is not kept."""
    topic = two_days.topic(log.folder, dict(HANGING))
    newest, end = topic.newest_ms()[1], topic.until[1]
    key = b"\x00\x01\x00\x01g\x00\x01t\x00\x00\x00\x00"
    topic.change(1, end, key=key, key_type=1, group_id="g", timestamp=utc(newest + 3_600_000))
    topic.until[1], topic.open_after, topic.now_ms = end + 1, {1: 1}, newest + 7_200_000
    topic.audit(tmp_path)
    assert known(tmp_path)[1] == (newest + 3_600_000, False)

"""After any number of runs the tables are what one run over all that was read would have written.

The product is its own oracle: several runs are compared with its one run. `tests/pipeline/test_audit.py` compares one
run with Kafka's own tools.
"""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from kip848_records.log.runs import RunInfo
from kip848_records.pipeline import rebuild
from kip848_records.replay.diagnosis.limits import ENABLED
from kip848_records.replay.inputs import ChangedLimit
from tests.audits import table_rows
from tests.equal_rows import Rows
from tests.live.topics import Topic, ends_of, read_as_consumed, tables
from tests.progress import Watcher


@pytest.fixture(scope="module")
def log(captures):
    return read_as_consumed(captures / "kafka-4.3.1" / "segments")


@pytest.fixture(scope="module")
def ends(log):
    return ends_of(log)


@pytest.fixture(scope="module")
def once(log, ends, tmp_path_factory):
    out = tmp_path_factory.mktemp("once")
    Topic(log, ends).audit(out)
    return tables(out)


def part(ends, nth, of):
    return {partition: end * nth // of for partition, end in ends.items()}


class KilledError(Exception):
    pass


def kill_after(patch, steps):
    """Let a run be killed when it has written so many tables."""
    replace, left = rebuild._replace, [steps]

    def stop(*arguments):
        left[0] -= 1
        if left[0] < 0:
            raise KilledError
        replace(*arguments)

    patch.setattr(rebuild, "_replace", stop)


@pytest.mark.slow
@pytest.mark.usefixtures("each_engine")
def test_interrupted_runs_write_what_one_would(log, ends, once, tmp_path):
    """Each run is stopped somewhere else between its commits, but for the last."""
    topic = Topic(log, {})
    for nth, steps in enumerate((5, 0, 4, 11), start=1):
        topic.until = part(ends, nth, 5)
        with pytest.MonkeyPatch.context() as patch:
            kill_after(patch, steps)
            with pytest.raises(KilledError):
                topic.audit(tmp_path)
    topic.until = ends
    topic.audit(tmp_path)
    written = tables(tmp_path)
    assert written.keys() == once.keys()
    for name in once:
        assert written[name] == once[name], name


@pytest.mark.nightly
def test_each_run_has_its_own_limits_of_the_diagnosis(log, ends, once, tmp_path):
    """The second run reads the facts of the first one, and makes all rows anew with its own."""
    off = ChangedLimit("restart_loop", "churn*", ENABLED, 0)
    topic = Topic(log, part(ends, 4, 5))
    topic.audit(tmp_path)
    topic.until = ends
    topic.audit(tmp_path, limits=(off,))
    changed = tables(tmp_path)
    assert {name for name in once if changed.get(name, Rows(())) != once[name]} == {"diagnosis"}
    topic.audit(tmp_path)
    assert tables(tmp_path)["diagnosis"] == once["diagnosis"]
    runs = sorted(table_rows(tmp_path, "audit_runs", "default"), key=lambda row: row["run"])
    assert [row["diagnosis_limits"] for row in runs] == [None, [off._asdict()], None]


@pytest.mark.slow
def test_a_broker_says_how_long_it_keeps_offsets_unless_the_user_does(log, ends, tmp_path):
    topic = Topic(log, part(ends, 1, 5), offsets_retention_ms=60_000)
    topic.audit(tmp_path)
    topic.audit(tmp_path, offsets_retention_ms=5)
    runs = sorted(table_rows(tmp_path, "audit_runs", "default"), key=lambda row: row["run"])
    assert [row["offsets_retention_ms"] for row in runs] == [60_000, 5]


@pytest.mark.slow
@pytest.mark.parametrize("minutes", [15, 16])
def test_a_slow_rebuild_of_a_topic_advises_retention(log, ends, tmp_path, monkeypatch, minutes):
    """By a clock that stands still but for the time that the writing takes."""
    now, progress = [1000.0], Watcher()
    replace = rebuild._replace

    def slowly(log, name, rows):
        replace(log, name, rows)
        now[0] += 60 * minutes if name == "group_state" else 0

    monkeypatch.setattr(rebuild, "monotonic", lambda: now[0])
    monkeypatch.setattr(rebuild, "_replace", slowly)
    out = tmp_path / "my tables"
    Topic(log, part(ends, 1, 5)).audit(out, progress)
    count = sum(row["content"] == "record" for row in table_rows(out, "log", "default"))
    advice = (
        f"replaying {count:,} records of the log and writing the tables took 16 minutes; "
        f"to keep less history, run kip848 maintain '{out}' --keep 90d"
    )
    assert progress.notes == [advice] * (minutes > 15)


TOPIC = RunInfo(1, is_copy=False, sources=("s",), version="1", dialect="kafka", offset_commits=False, read_ms=0)


@pytest.mark.parametrize(
    ("out", "what", "advised"),
    [
        ("out", {}, "kip848 maintain out --keep 90d"),
        ("catalog:main.kafka", {}, "kip848 maintain --catalog main --schema kafka --scratch DIR --keep 90d"),
        ("out", {"is_copy": True}, None),
        ("out", {"is_archived": True}, None),
        ("out", {"is_pruning": True}, None),
    ],
)
def test_retention_is_advised_where_it_helps(out, what, advised):
    progress, facts = Watcher(), SimpleNamespace(counts=SimpleNamespace(records=5))
    rebuild._advise_retention(SimpleNamespace(out=out), replace(TOPIC, **what), facts, 7_200, progress)
    assert [note.partition("run ")[2] for note in progress.notes] == ([] if advised is None else [advised])

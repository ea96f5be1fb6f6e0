"""Audits of a log that grows: each trouble over time is news once when it begins, and once when it ends."""

from collections import Counter

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from kip848_records.config import load_settings
from kip848_records.pipeline.audit import run_audit
from kip848_records.pipeline.options import AuditOptions
from kip848_records.queries.duck import DuckTables
from kip848_records.report.changes import changes_since_last_run
from kip848_records.report.diagnosis import subject_text
from tests.progress import Watcher
from tests.simulator.run import Simulation, simulate

FIRST = 1.2
"""The first copy ends at so many eighths of the log."""


def known_by(row):
    return row.group_id, row.pattern, subject_text(row.subject)


@pytest.mark.nightly
def test_each_trouble_is_news_once(tmp_path):
    """A run that is repeated has no news. What ended before the first run is none."""
    simulated = simulate(Simulation(0, hours=12, seed=3, partitions=8, troubled_groups=75), tmp_path)
    log = pq.read_table(simulated.log)
    times = log["timestamp"]
    first, last = pc.min(times).as_py(), pc.max(times).as_py()
    out, found = tmp_path / "out", []
    for eighths in (FIRST, 1.4, 1.4, 8):
        until = first + (last - first) * eighths / 8
        copy = tmp_path / f"{eighths}.parquet"
        pq.write_table(log.filter(pc.less_equal(times, pa.scalar(until, times.type))), copy)
        run_audit(None, AuditOptions((str(copy),), str(out), cluster="c", captured_at=until), Watcher())
        found.append(changes_since_last_run(DuckTables(str(out)), "c", load_settings()))
    counts = [tuple(map(len, (each.began, each.ended, each.passed))) for each in found]
    assert all(sum(count) for count in (counts[0], counts[1], counts[3]))
    assert (counts[0][1:], counts[2]) == ((0, 0), (0, 0, 0))
    assert all(counts[3])
    rows = DuckTables(str(out)).rows("SELECT * FROM diagnosis WHERE severity <> 'info'", "c")
    since = first + (last - first) * FIRST / 8
    rows = [row for row in rows if row.is_present or row.ended_at > since]
    alarms = [row for row in rows if row.explained_by is None]
    began = Counter(known_by(row) for each in found for row in (*each.began, *each.passed))
    ended = Counter(known_by(row) for each in found for row in (*each.ended, *each.passed))
    assert not Counter(map(known_by, alarms)) - began
    # A loop that is present is told; behind it a storm may begin that explains it.
    assert set(began - Counter(map(known_by, alarms))) <= {known_by(row) for row in rows if row.explained_by == "storm"}
    assert set(began.values()) == {1}
    assert ended == Counter(known_by(row) for row in alarms if not row.is_present)

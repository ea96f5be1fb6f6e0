"""Groups with a trouble in a simulated log, through an audit: each trouble is found, with its subject and count."""

import pytest

from kip848_records.pipeline.audit import run_audit
from kip848_records.pipeline.options import AuditOptions
from tests.audits import table_rows
from tests.progress import Watcher
from tests.simulator.run import Simulation, simulate

pytestmark = pytest.mark.slow


@pytest.mark.nightly
@pytest.mark.process
@pytest.mark.parametrize("engine", ["embedded", pytest.param("spark", marks=pytest.mark.nightly)])
def test_each_trouble_is_found_by_an_audit(engine, tmp_path, request):
    simulated = simulate(Simulation(0, hours=12, seed=3, partitions=8, troubled_groups=75), tmp_path)
    session = request.getfixturevalue("spark") if engine == "spark" else None
    tables = tmp_path / "tables"
    run_audit(session, AuditOptions((str(simulated.log),), str(tables), cluster="c"), Watcher())
    truth = simulated.truth["diagnosis"]
    assert len(truth) == 75
    rows = [row for row in table_rows(tables, "diagnosis", "c") if row["explained_by"] is None]
    for true in truth:
        same = [row for row in rows if (row["group_id"], row["pattern"]) == (true["group_id"], true["pattern"])]
        assert [row["count"] for row in same] == [true["count"]], true
        assert {name: same[0]["subject"][name] for name in true["subject"]} == true["subject"]

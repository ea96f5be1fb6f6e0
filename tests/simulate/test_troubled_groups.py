"""Groups with a trouble in a simulated log, through an audit: each trouble is found, with its subject and count."""

import pyarrow.parquet as pq
import pytest

from kip848_records.errors import InputError
from kip848_records.pipeline.audit import run_audit
from kip848_records.pipeline.options import AuditOptions
from kip848_records.simulate import Simulation, simulate
from tests.audits import table_rows
from tests.progress import Watcher


@pytest.mark.parametrize("engine", ["embedded", pytest.param("spark", marks=pytest.mark.slow)])
def test_each_trouble_is_found_by_an_audit(engine, tmp_path, request):
    simulated = simulate(Simulation(0, hours=12, seed=3, partitions=8, troubled_groups=75), tmp_path)
    session = request.getfixturevalue("spark") if engine == "spark" else None
    tables = tmp_path / "tables"
    run_audit(session, AuditOptions((str(simulated.log),), str(tables), cluster="c"), Watcher())
    truth = pq.read_table(simulated.truth / "diagnosis.parquet").to_pylist()
    assert len(truth) == 75
    rows = [row for row in table_rows(tables, "diagnosis", "c") if row["explained_by"] is None]
    for true in truth:
        same = [row for row in rows if (row["group_id"], row["pattern"]) == (true["group_id"], true["pattern"])]
        assert [row["count"] for row in same] == [true["count"]], true
        known = {name: value for name, value in true["subject"].items() if value is not None}
        assert {name: same[0]["subject"][name] for name in known} == known


def test_a_trouble_takes_half_a_day():
    with pytest.raises(InputError, match="cannot simulate hours = 2"):
        Simulation(0, hours=2, troubled_groups=1)

"""Tables that an older version of this package wrote."""

import pytest
from deltalake import DeltaTable

from kip848_records import __version__
from tests.audits import table_rows
from tests.live import two_days
from tests.live.topics import tables

OTHER = "it's \\ other"
OLD = "0.0.9"


@pytest.mark.nightly
@pytest.mark.usefixtures("each_engine")
def test_an_audit_rebuilds_the_tables_of_an_older_version(log, tmp_path):
    """Those of another cluster too: each is made of its log."""
    topic = two_days.topic(log.folder, log.ends)
    topic.audit(tmp_path, cluster=OTHER)
    before = tables(tmp_path, OTHER)
    runs = DeltaTable(tmp_path / "audit_runs")
    runs.update(updates={"version": f"'{OLD}'"})
    topic.audit(tmp_path, cluster="ours")
    assert tables(tmp_path, OTHER) == before
    assert {row["version"] for row in table_rows(tmp_path, "audit_runs", OTHER)} == {__version__}

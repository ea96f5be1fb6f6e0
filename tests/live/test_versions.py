"""Tables that an older version of this package wrote."""

import pytest
from delta.tables import DeltaTable

from kip848_records import __version__
from tests.audits import table_rows
from tests.live import two_days
from tests.live.topics import tables

pytestmark = pytest.mark.slow

OTHER = "it's \\ other"
OLD = "0.0.9"


def test_an_audit_rebuilds_the_tables_of_an_older_version(spark, log, tmp_path):
    """Those of another cluster too: each is made of its log."""
    topic = two_days.topic(spark, log.folder, log.ends)
    topic.audit(tmp_path, cluster=OTHER)
    before = tables(tmp_path, OTHER)
    runs = DeltaTable.forPath(spark, str(tmp_path / "audit_runs"))
    runs.update(set={"version": f"'{OLD}'"})
    topic.audit(tmp_path, cluster="ours")
    assert tables(tmp_path, OTHER) == before
    assert {row["version"] for row in table_rows(tmp_path, "audit_runs", OTHER)} == {__version__}

"""The logs of all cases as tables, and the limits that the cases are made for."""

from datetime import UTC, datetime
from pathlib import Path

from kip848_records.config import load_settings
from kip848_records.expectations.files import Setting
from kip848_records.simulate.broker.cluster import uuid_of
from tests import made_tables
from tests.audits import audit_rows
from tests.expectations import (
    convergence_cases,
    early_cases,
    invariants_cases,
    kinds_cases,
    members_cases,
    records_cases,
)
from tests.expectations.logs import END, dump

CASES = [*convergence_cases.CASES, *members_cases.CASES, *invariants_cases.CASES, *records_cases.CASES]
CLUSTER, EARLY, KINDS = "cases", "early", "kinds"
CAPTURED_AT = datetime.fromtimestamp(END / 1000, UTC)
TOPICS = {uuid_of("topic", 0, name): name for name in ("orders", "payments")}
CONFIG = """
[expectations]
group_stable.max_seconds = 30
rebalance_time.max_seconds = 30
rebalance_time_p95.max_seconds = 20.5
revocation_time.max_seconds_over = 5
awaited_partition_free.max_seconds = 12
unowned_time.max_seconds = 20
superseded_epochs = { max_percent = 50, min_epochs = 5 }
mixed_protocols.max_seconds = 60
upgradable.severity = "error"
eager_rebalances.max_rebalances = 3
streams_cold_handover.max_tasks = 3
operation_size = { max_bytes = 5000, warn_percent = 75 }
"""


def audit_cases(out: Path) -> dict[str, int]:
    """Write the tables of the clusters `CLUSTER` and `EARLY`; return in which partition each group is."""
    rows, partitions = dump(CASES)
    audit_rows(out, CLUSTER, rows, captured_at=CAPTURED_AT, topics=TOPICS)
    audit_rows(out, EARLY, early_cases.rows(), captured_at=CAPTURED_AT, dialect=early_cases.DIALECT)
    return partitions


def write_kinds(out: Path) -> None:
    """Write made-up tables about single kinds of groups, of the cluster `KINDS`."""
    made_tables.write(
        out,
        KINDS,
        audit_runs=[{"run": 1, "captured_at": CAPTURED_AT}],
        partition_history=[{"is_base": True, "captured_at": CAPTURED_AT}],
        **kinds_cases.tables(),
    )


def settings_of_cases(folder: Path) -> dict[str, Setting]:
    """Return the settings of all expectations, from a file that this writes into a folder."""
    file = folder / "check.toml"
    file.write_text(CONFIG)
    return load_settings(str(file))

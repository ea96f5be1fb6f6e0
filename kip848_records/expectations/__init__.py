"""Expectations about what an audit found: one SQL file each, and one for each pattern over time.

`EXPECTATIONS` contains those of this package. If the remaining history of the log is not enough to decide, the result
is unknown: it neither passes nor fails.
"""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Final

from kip848_records.errors import InputError
from kip848_records.expectations.files import Expectation, Limit, read_expectation
from kip848_records.expectations.patterns import PATTERNS

__all__ = ["EXPECTATIONS", "Expectation", "Limit", "load_expectations"]

_NAMES: Final = (
    *("group_stable", "rebalance_time", "rebalance_time_p95", "revocation_time", "awaited_partition_free"),
    *("unowned_time", "superseded_epochs", "mixed_protocols", "no_common_protocol", "upgradable"),
    *("one_owner", "epoch_order", "epochs_grow", "target_covers_topics", "names_or_regex", "assignor_versions"),
    *("aborted_rounds", "sync_time", "eager_rebalances", "downgraded"),
    *("connect_task_running", "connect_delay", "connect_config_lag", "connect_balance"),
    *("streams_ready", "streams_topology_epoch", "streams_standby", "streams_cold_handover"),
    "share_partition_assigned",
    *("owned_not_consumed", "blocked_by_transaction", "offsets_lost", "hanging_transaction"),
    *("moved_back", "moved_ahead", "repeat_at_handover"),
    *("group_in_its_partition", "operation_size", "loadable_records", "compaction_alive"),
    *("commit_rate", "dead_offsets"),
    "audit_is_recent",
)

# Spark may hand this package to a job as a zip file.
_OF_FILES: Final = tuple(read_expectation(resources.files(__name__).joinpath(f"{name}.sql")) for name in _NAMES)

EXPECTATIONS: Final = (*PATTERNS, *_OF_FILES)
"""The expectations of this package in display order: troubles over time, convergence, the invariants of the KIP, and
the audit."""


def load_expectations(folder: str | None) -> tuple[Expectation, ...]:
    """Return the expectations of this package, followed by the SQL files of a folder, by name.

    Raises InputError if the folder or a file cannot be read, or if a file has the name of a built-in expectation.
    """
    if folder is None:
        return EXPECTATIONS
    if not Path(folder).is_dir():
        raise InputError.bad_expectation(folder, "it is not a folder")
    own = [read_expectation(path) for path in sorted(Path(folder).glob("*.sql"))]
    known = {each.name for each in EXPECTATIONS}
    for each in own:
        if each.is_shared:
            raise InputError.bad_expectation(each.path, "only expectations of kip848 share a text")
        if each.name in known:
            raise InputError.bad_expectation(each.path, "kip848 has an expectation of that name")
    return (*EXPECTATIONS, *own)

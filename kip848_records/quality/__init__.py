"""Expectations about what an audit found: that groups converge, and that the log keeps what KIP-848 promises.

Pure ``DataFrame -> DataFrame`` rules over the tables; `EXPECTATIONS` are all that there are. What a rule cannot know
from the history that the log has left is unknown, and neither passes nor fails.
"""

from kip848_records.quality.convergence import (
    awaited_partition_free,
    epochs_per_hour,
    group_stable,
    rebalance_lag,
    rebalance_lag_p95,
    superseded_epochs,
    unowned_time,
)
from kip848_records.quality.expectations import Audited, Expectation, judged, number, sentence
from kip848_records.quality.invariants import epoch_order, epochs_grow, one_owner, target_covers_topics
from kip848_records.quality.members import mixed_protocols, regex_flaps, revocation_time, static_member_away
from kip848_records.quality.records import (
    assignor_versions,
    group_in_its_partition,
    loadable_records,
    names_or_regex,
    operation_size,
)

__all__ = ["EXPECTATIONS", "Audited", "Expectation", "judged", "number", "sentence"]

EXPECTATIONS = (
    Expectation("group_stable", group_stable, ("max_seconds",)),
    Expectation("rebalance_lag", rebalance_lag, ("max_seconds",)),
    Expectation("rebalance_lag_p95", rebalance_lag_p95, ("max_seconds",)),
    Expectation("revocation_time", revocation_time, ("max_seconds_over",)),
    Expectation("awaited_partition_free", awaited_partition_free, ("max_seconds",)),
    Expectation("unowned_time", unowned_time, ("max_seconds",)),
    Expectation("epochs_per_hour", epochs_per_hour, ("max_epochs",)),
    Expectation("superseded_epochs", superseded_epochs, ("max_percent", "min_epochs")),
    Expectation("static_member_away", static_member_away, ("max_seconds",)),
    Expectation("regex_flaps", regex_flaps, ("max_flaps",)),
    Expectation("mixed_protocols", mixed_protocols, ("max_seconds",)),
    Expectation("one_owner", one_owner),
    Expectation("epoch_order", epoch_order),
    Expectation("epochs_grow", epochs_grow),
    Expectation("target_covers_topics", target_covers_topics),
    Expectation("names_or_regex", names_or_regex),
    Expectation("assignor_versions", assignor_versions),
    Expectation("group_in_its_partition", group_in_its_partition, ("offsets_partitions",)),
    Expectation("operation_size", operation_size, ("max_bytes", "warn_percent")),
    Expectation("loadable_records", loadable_records),
)
"""In the order in which they are told: convergence first, then the invariants of the KIP."""

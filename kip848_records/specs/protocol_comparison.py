"""The table `protocol_comparison`."""

from __future__ import annotations

from typing import Final

from kip848_records.specs.columns import (
    BIGINT,
    DOUBLE,
    GROUP,
    HISTORY,
    INT,
    PARTITION,
    STRING,
    TIMESTAMP,
    Column,
    TableSpec,
)

PROTOCOL_COMPARISON: Final = TableSpec(
    "protocol_comparison",
    "Before and after: every period of one protocol of a group that was converted from one to another. A period has "
    "the group's rebalances without the conversion itself, without the first assignment of a group that was empty, and "
    "without those that left it empty",
    ("cluster", "group_id", "partition", "from_offset", "protocol"),
    (
        *GROUP,
        PARTITION,
        Column("protocol", STRING, "classic, consumer or streams", required=True),
        Column("from_at", TIMESTAMP, "When the period began (UTC)"),
        Column("from_offset", BIGINT, "Offset of the last record of the operation that began it", required=True),
        Column("to_at", TIMESTAMP, "When it ended (UTC); null: it lasts"),
        Column("observed_ms", BIGINT, "Its duration as far as the log shows the group's state, in ms"),
        Column(
            "rebalances",
            INT,
            "Rebalances that converged; at least, if the history is left_censored or censored, as are the next sums",
            required=True,
        ),
        Column("rounds", INT, "Classic: their rounds, with those that were given up; others: their epochs"),
        Column(
            "rebalances_per_hour",
            DOUBLE,
            "Null if the period is shorter than 10 minutes, or if its start is not seen",
        ),
        Column("partitions_moved", INT, "Partitions, or active tasks, that they gave to another owner"),
        Column(
            "partitions_stopped",
            INT,
            "Those that no member could consume for a time: in an eager classic group all with an owner before",
        ),
        Column(
            "unowned_min_partition_ms",
            BIGINT,
            "Partition-milliseconds without an owner: a lower bound. Do not compare it between the protocols: a "
            "classic group hides its whole join phase",
        ),
        Column(
            "stop_known",
            INT,
            "Estimate, only with --offset-commits: of how many stopped partitions the commits show the stop. The next "
            "columns are about these; both protocols are estimated alike, so compare these only",
        ),
        Column("stop_max_p50_ms", BIGINT, "Estimate: median of stop_max_ms in consumption_stop"),
        Column("stop_max_p95_ms", BIGINT, "Estimate: its 95th percentile"),
        Column("stop_max_partition_ms", BIGINT, "Estimate: its sum, in partition-milliseconds"),
        HISTORY,
    ),
)

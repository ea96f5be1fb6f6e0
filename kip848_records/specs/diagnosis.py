"""The table `diagnosis`."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from kip848_records.specs.columns import (
    BIGINT,
    BOOLEAN,
    CLUSTER,
    DOUBLE,
    GROUP_ID,
    INCARNATION,
    INT,
    PARTITION,
    STRING,
    STRINGS,
    TIMESTAMP,
    Column,
    TableSpec,
    list_of,
    struct_of,
)

SUBJECT: Final = struct_of(
    client_id=STRING,
    client_host=STRING,
    instance_id=STRING,
    member_id=STRING,
    members_of_that_name=INT,
    members=INT,
    groups=STRINGS,
    topics=STRINGS,
    regex=STRING,
    what=STRING,
    clients=STRINGS,
)

BEGINS: Final = list_of(struct_of(at=BIGINT, offset=BIGINT, hosts=STRINGS, by_topics=BOOLEAN))

GROUP_OUTLINE: Final = TableSpec(
    "group_outline",
    "Not a table: what a comparison of groups needs of each. `diagnosis` has its result",
    ("cluster", "group_id", "partition"),
    (
        CLUSTER,
        GROUP_ID,
        PARTITION,
        Column("hosts", STRINGS, "Hosts of all its members"),
        Column("topics", STRINGS, "Topics of all its members"),
        Column("run_begins", list_of(BIGINT), "When times with members began, in ms since 1970"),
        Column("run_ends", list_of(BIGINT), "When they ended; null: it has members"),
        Column("begins", BEGINS, "Rebalances that may have a cause outside of the group, with the hosts that began it"),
    ),
)

DIAGNOSIS: Final = TableSpec(
    "diagnosis",
    "What has been wrong with each group over time: one row for each trouble, from all of the history",
    ("cluster", "group_id", "incarnation", "pattern", "subject", "first_seen"),
    (
        CLUSTER,
        replace(GROUP_ID, comment="Group id, in full; null: of several groups", required=False),
        replace(
            INCARNATION,
            comment="How often the group id had been deleted before, at the end; null: of several groups",
            required=False,
        ),
        replace(PARTITION, comment="Partition of __consumer_offsets; null: of several groups", required=False),
        Column(
            "pattern",
            STRING,
            "restart_loop, leaves_and_returns, static_member_flaps, duplicate_instance_id, storm, rolling_restart, "
            "job, "
            "everybody_left, spares, no_topic, slow_by_habit, coordinator_silent, flapping_topics, assignor_flip, "
            "two_applications, task_restarts, not_consumed, blocked_by_transaction, offsets_lost, storm_across",
            required=True,
        ),
        Column("probable_cause", STRING, "The cause that the log makes likely, a word of the pattern"),
        Column(
            "severity",
            STRING,
            "error: it is present and costs the group a tenth of its work (error_share), or an instance id has two "
            "holders, or an open transaction blocks a partition; warning; "
            "info: no alarm",
            required=True,
        ),
        Column(
            "subject",
            SUBJECT,
            "Whom or what it is about; fields that do not apply are null. members_of_that_name: members with this "
            "client "
            "id and host at once; what: a normalised client id, in which `*` stands for UUIDs, hashes and numbers, or "
            "names of tasks, assignors, applications",
            required=True,
        ),
        Column("count", BIGINT, "How often it happened; of states, how many members were concerned", required=True),
        Column("at_least", BOOLEAN, "Whether it may have begun before the history does", required=True),
        Column(
            "median_interval_ms",
            BIGINT,
            "Median time from one event to the next, in ms; the mean if most come at once; jobs: their period",
        ),
        Column("usual_stay_ms", BIGINT, "Median time for which a member stayed, or a job ran, in ms"),
        Column("first_seen", TIMESTAMP, "The first of the events that made it recognisable (UTC)", required=True),
        Column("last_seen", TIMESTAMP, "The last event; of states that last, the capture (UTC)", required=True),
        Column(
            "recognized_at",
            TIMESTAMP,
            "When it could be known: at a time t, those are open with recognized_at <= t and ended_at null or > t "
            "(UTC)",
            required=True,
        ),
        Column(
            "ended_at", TIMESTAMP, "When nothing had come for too long, or the state ended; null: it is present (UTC)"
        ),
        Column("is_present", BOOLEAN, "Whether it lasts at the capture", required=True),
        Column(
            "unowned_ms",
            BIGINT,
            "Partition-milliseconds that its rebalances cost (rebalance.unowned_ms), and gaps while a static member "
            "was "
            "away; null: the log does not show it",
        ),
        Column(
            "away_ms",
            BIGINT,
            "The part of unowned_ms that is in no rebalance: gaps while a static member was away; null: none is known",
        ),
        Column(
            "lost_ms",
            BIGINT,
            "The part of unowned_ms that counts here when rows are added up: without away_ms, and each rebalance in "
            "one row only. Null as unowned_ms",
        ),
        Column(
            "empty_ms",
            BIGINT,
            "Time in which the group had no member, between first_seen and last_seen, in ms; null: it began before the "
            "known history",
        ),
        Column("late_ms", BIGINT, "Time of its rebalances in which a member was late, in ms"),
        Column(
            "cost_share",
            DOUBLE,
            "The larger part of the group's work that was lost: unowned_ms of all partitions' time, or empty_ms of the "
            "time; null: the log does not show it",
        ),
        Column("rebalances", INT, "Rebalances that its members began; null: the pattern begins none"),
        Column("rebalances_shared", INT, "Those that are also in another row"),
        Column("epochs", INT, "Epochs or generations of these rebalances"),
        Column("partitions_moved", BIGINT, "Partitions that they gave to another owner"),
        Column("sentence", STRING, "What happened, for a reader who does not know the group", required=True),
        Column("next_step", STRING, "What to do", required=True),
        Column("evidence", list_of(BIGINT), "Offsets of some records that show it: the first, and the last ones"),
        Column(
            "explained_by",
            STRING,
            "Pattern of another row of the group that covers half of its time and explains it: then it is not shown, "
            "counted or alerted by itself",
        ),
        Column("episode", INT, "Its number among the rows of the same pattern and subject", required=True),
    ),
    ended_at="ended_at",
)

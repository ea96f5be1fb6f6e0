-- The rows of protocol_comparison. A period begins at the last conversion before a row, or before the first one.
WITH conversions AS (
    SELECT migrations.group_id, migrations.partition, migrations.offset AS converted
    FROM group_migration AS migrations
    WHERE migrations.cluster = :cluster
),
intervals AS (
    SELECT
        states.group_id, states.partition, states.group_type, states.incarnation, states.from_offset, states.from_at,
        states.to_at, states.duration_ms, states.history, states.state,
        max(CASE WHEN converted <= states.from_offset THEN converted ELSE -1 END) AS begins
    FROM group_state_timeline AS states
    JOIN conversions ON conversions.group_id = states.group_id AND conversions.partition = states.partition
    WHERE states.cluster = :cluster
    GROUP BY
        states.group_id, states.partition, states.group_type, states.incarnation, states.from_offset, states.from_at,
        states.to_at, states.duration_ms, states.history, states.state
),
periods AS (
    SELECT
        group_id, partition, group_type, begins, min(incarnation) AS incarnation, min(from_at) AS from_at,
        min(from_offset) AS from_offset,
        CASE WHEN count(to_at) = count(*) THEN max(to_at) END AS to_at,
        -- A clock that went back counts as 0.
        sum(CASE WHEN duration_ms < 0 THEN 0 ELSE duration_ms END) AS observed_ms,
        max(
            CASE WHEN history IN ('left_censored', 'censored') OR state = 'unknown' OR from_at < :kept_since THEN 1
                ELSE 0
            END
        ) = 1 AS is_left_censored,
        max(CASE WHEN history IN ('right_censored', 'censored') THEN 1 ELSE 0 END) = 1 AS is_right_censored
    FROM intervals
    GROUP BY group_id, partition, group_type, begins
),
-- Neither the first assignment of a life, nor the conversion itself.
counted AS (
    SELECT
        found.group_id, found.partition, found.group_type, found.began_offset, found.rounds, found.epochs,
        found.partitions_moved, found.partitions_stopped, found.unowned_ms,
        max(CASE WHEN converted <= found.began_offset THEN converted ELSE -1 END) AS begins
    FROM rebalance AS found
    JOIN conversions ON conversions.group_id = found.group_id AND conversions.partition = found.partition
    WHERE found.cluster = :cluster AND found.outcome = 'converged' AND NOT found.started_empty
        AND NOT coalesce(array_contains(found.causes, 'downgraded'), false)
        AND NOT coalesce(array_contains(found.causes, 'upgraded') AND found.epochs = 1, false)
    GROUP BY
        found.group_id, found.partition, found.group_type, found.began_offset, found.rounds, found.epochs,
        found.partitions_moved, found.partitions_stopped, found.unowned_ms
),
totals AS (
    SELECT
        group_id, partition, group_type, begins, count(*) AS rebalances,
        CASE WHEN count(coalesce(rounds, CASE WHEN has_epochs(group_type) THEN epochs END)) = count(*)
            -- Generations of damaged records may differ by more than fits.
            THEN nullif(least(sum(coalesce(rounds, epochs)), 2147483648), 2147483648)
        END AS rounds,
        CASE WHEN count(partitions_moved) = count(*) THEN sum(partitions_moved) END AS moved,
        CASE WHEN count(coalesce(partitions_stopped, partitions_moved)) = count(*)
            THEN sum(coalesce(partitions_stopped, partitions_moved))
        END AS stopped,
        CASE WHEN count(unowned_ms) = count(*) THEN sum(unowned_ms) END AS unowned_ms
    FROM counted
    GROUP BY group_id, partition, group_type, begins
),
stops AS (
    SELECT
        counted.group_id, counted.partition, counted.group_type, counted.begins, count(*) AS known,
        percentile(stopped.stop_max_ms, 0.5) AS p50_ms, percentile(stopped.stop_max_ms, 0.95) AS p95_ms,
        sum(stopped.stop_max_ms) AS partition_ms
    FROM counted
    JOIN consumption_stop AS stopped
        ON stopped.group_id = counted.group_id AND stopped.offsets_partition = counted.partition
        AND stopped.group_type = counted.group_type AND stopped.rebalance_offset = counted.began_offset
    WHERE stopped.cluster = :cluster AND stopped.kind <> 'revoked' AND stopped.history = 'observed'
        AND NOT stopped.is_idle
    GROUP BY counted.group_id, counted.partition, counted.group_type, counted.begins
)
SELECT
    periods.group_id, periods.incarnation, periods.partition, periods.group_type AS protocol,
    periods.from_at, periods.from_offset, periods.to_at, CAST(observed_ms AS bigint) AS observed_ms,
    CAST(coalesce(rebalances, 0) AS int) AS rebalances,
    CAST(CASE WHEN rebalances IS NULL AND NOT is_left_censored THEN 0 ELSE rounds END AS int) AS rounds,
    CASE WHEN NOT is_left_censored AND observed_ms >= 600000
        THEN round(coalesce(rebalances, 0) * 3.6e6 / observed_ms, 3)
    END AS rebalances_per_hour,
    CAST(CASE WHEN rebalances IS NULL AND NOT is_left_censored THEN 0 ELSE moved END AS int) AS partitions_moved,
    CAST(CASE WHEN rebalances IS NULL AND NOT is_left_censored THEN 0 ELSE stopped END AS int) AS partitions_stopped,
    CAST(CASE WHEN rebalances IS NULL AND NOT is_left_censored THEN 0 ELSE unowned_ms END AS bigint) AS unowned_min_partition_ms,
    CAST(CASE WHEN :offset_commits THEN coalesce(known, 0) END AS int) AS stop_known,
    CAST(round(p50_ms) AS bigint) AS stop_max_p50_ms, CAST(round(p95_ms) AS bigint) AS stop_max_p95_ms,
    CAST(partition_ms AS bigint) AS stop_max_partition_ms,
    CASE WHEN is_left_censored AND is_right_censored THEN 'censored'
        WHEN is_left_censored THEN 'left_censored'
        WHEN is_right_censored THEN 'right_censored'
        ELSE 'observed'
    END AS history
FROM periods
LEFT JOIN totals ON totals.group_id = periods.group_id AND totals.partition = periods.partition
    AND totals.group_type = periods.group_type AND totals.begins = periods.begins
LEFT JOIN stops ON stops.group_id = periods.group_id AND stops.partition = periods.partition
    AND stops.group_type = periods.group_type AND stops.begins = periods.begins
ORDER BY periods.group_id, periods.partition, periods.from_offset

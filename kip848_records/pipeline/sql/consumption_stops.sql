{# The stops of rebalances, with the usual time between advances in the stay that each one interrupted. #}
SELECT
    bounds.group_id, bounds.incarnation, bounds.group_type, bounds.offsets_partition, bounds.epoch, bounds.topic,
    bounds.partition, bounds.kind, bounds.offset, bounds.rebalance_offset, bounds.last_progress_at,
    bounds.first_progress_at, bounds.usual_ms, bounds.idle_before_ms,
    CASE
        WHEN NOT bounds.is_one_round OR bounds.stop_max_ms IS NULL OR bounds.usual_ms IS NULL THEN NULL
        ELSE greatest(0, bounds.stop_max_ms - 2 * bounds.usual_ms)
    END AS stop_min_ms,
    bounds.stop_max_ms,
    coalesce(bounds.idle_before_ms > 2 * bounds.usual_ms, true) AS is_idle,
    CASE
        WHEN bounds.history = 'observed' AND bounds.is_complete
            THEN CASE WHEN bounds.first_progress_at IS NULL THEN 'right_censored' ELSE 'observed' END
        WHEN bounds.first_progress_at IS NULL THEN 'censored'
        ELSE 'left_censored'
    END AS history
FROM (
    SELECT
        stopped.group_id, stopped.incarnation, stopped.group_type, stopped.offsets_partition, stopped.epoch,
        stopped.topic, stopped.partition, stopped.kind, stopped.offset,
        nullif(stopped.rebalance_offset, -1) AS rebalance_offset, stopped.is_one_round, stopped.history,
        stops.last_progress_at, stops.first_progress_at, stops.idle_before_ms, stops.is_complete, stays.usual_ms,
        CASE
            WHEN stops.first_progress_at >= stops.last_progress_at
                THEN unix_millis(stops.first_progress_at) - unix_millis(stops.last_progress_at)
        END AS stop_max_ms
    FROM {stopped} AS stopped
    JOIN {stops} AS stops
        ON stops.offsets_partition = stopped.offsets_partition AND stops.group_id = stopped.group_id
        AND stops.topic = stopped.topic AND stops.partition = stopped.partition AND stops.offset = stopped.offset
    LEFT JOIN {stays} AS stays
        ON stays.offsets_partition = stops.offsets_partition AND stays.group_id = stops.group_id
        AND stays.topic = stops.topic AND stays.partition = stops.partition AND stays.member_id = stops.member_id
        AND stays.acquired_offset = stops.acquired_offset
) AS bounds

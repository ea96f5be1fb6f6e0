-- name = "streams_topology_epoch"
-- sentence = "A streams member runs the group's topology within max_seconds after it changed"
-- severity = "warn"
-- needs = []
-- about = "member of a streams group"
-- [limits.max_seconds]
-- default = 900
-- unit = "seconds"
-- reason = "A rolling restart takes minutes. A member with an older topology gets no new tasks until it is restarted with the new one."

SELECT
    verdict(
        lag_ms > max_seconds * 1000,
        lag_ms > max_seconds * 1000 OR (lag_ms IS NOT NULL AND history IN ('observed', 'right_censored'))
    ) AS verdict,
    group_id, CAST(NULL AS int) AS group_epoch, member_id, partition, joined_offset AS offset,
    lag_ms AS lasts_ms,
    concat(
        'expected the topology of the group within ', max_seconds_text, ', ',
        CASE WHEN lag_ms IS NULL THEN 'the log does not show it'
            ELSE concat('an older one for ', at_least(lag_ms), ', its last topology epoch: ', text(topology_epoch))
        END
    ) AS message
FROM (
    SELECT stays.*, max_seconds, max_seconds_text, topology_lag_ms AS lag_ms
    FROM membership AS stays
    JOIN limits ON limits.group_id = stays.group_id
    WHERE group_type = 'streams'
) AS timed

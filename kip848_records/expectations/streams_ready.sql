-- name = "streams_ready"
-- sentence = "A streams group with members is not NotReady for longer than max_seconds"
-- severity = "error"
-- needs = []
-- about = "streams group"
-- [limits.max_seconds]
-- default = 300
-- unit = "seconds"
-- reason = "The broker needs seconds to create internal topics. Longer: a source topic is missing, or topics cannot be created."

SELECT
    verdict(
        state = 'NotReady' AND lasted > max_seconds * 1000,
        state <> 'unknown' AND (
            state <> 'NotReady' OR lasted > max_seconds * 1000 OR history IN ('observed', 'right_censored')
        )
    ) AS verdict,
    group_id, CAST(NULL AS int) AS group_epoch, CAST(NULL AS string) AS member_id, partition, from_offset AS offset,
    lasted AS lasts_ms,
    concat(
        'expected the topology to be validated within ', max_seconds_text, ', ',
        CASE WHEN state = 'unknown' THEN 'the log does not show it'
            ELSE concat('NotReady for ', at_least(lasted))
        END
    ) AS message
FROM (
    SELECT states.*, max_seconds, max_seconds_text, lasted_ms(from_at, coalesce(to_at, captures.captured_at)) AS lasted
    FROM group_state_timeline AS states
    JOIN limits ON limits.group_id = states.group_id
    LEFT JOIN captures ON captures.partition = states.partition
    WHERE group_type = 'streams'
) AS timed

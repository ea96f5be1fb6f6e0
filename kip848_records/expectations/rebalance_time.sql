-- name = "rebalance_time"
-- sentence = "A rebalance converges within max_seconds of its first bump, unless the group empties or is deleted first"
-- severity = "error"
-- needs = []
-- about = "rebalance of a group whose members have epochs"
-- [limits.max_seconds]
-- default = 900
-- unit = "seconds"
-- reason = "Seconds from the first bump to Stable: three rounds of the 5 minutes that a slow member may take."

-- An open rebalance is a warning, because group_stable is the error for its group and has the shorter limit. A censored
-- rebalance may include an epoch of the previous one. If it has ended, the verdict is unknown. If it is open, it has
-- lasted at least since the group was last Stable, unless a lost record may have ended it.
SELECT
    verdict(
        CASE WHEN outcome IS NOT NULL THEN is_over_limit AND outcome IN ('converged', 'open') END,
        NOT clock_skew AND (is_complete OR (outcome = 'open' AND is_over_limit AND NOT has_losses))
    ) AS verdict,
    CASE WHEN outcome = 'open' THEN 'warn' END AS severity,
    group_id, first_epoch AS group_epoch, CAST(NULL AS string) AS member_id, partition, began_offset AS offset,
    coalesce(outcome = 'open', false) AS names_blocker,
    CASE WHEN NOT clock_skew OR outcome = 'open' THEN lasted END AS lasts_ms,
    concat(
        'expected to converge within ', max_seconds_text, ', ',
        CASE WHEN outcome = 'open'
            THEN concat('ongoing for ', at_least(lasted))
            ELSE concat('took ', span(CASE WHEN clock_skew THEN -1 ELSE lasted END))
        END,
        CASE WHEN is_complete OR outcome = 'open' THEN '' ELSE ' as far as the log shows' END,
        ' (', CASE WHEN epochs = 1 THEN '' ELSE concat(counted(epochs, epoch), ', ') END, text(causes_text(causes)), ')'
    ) AS message
FROM (
    SELECT timed.*, lasted > max_seconds * 1000 AS is_over_limit
    FROM (
        SELECT
            rebalance.*, limits.max_seconds, limits.max_seconds_text,
            CASE WHEN outcome = 'open' AND rebalance.history = 'censored'
                THEN least(duration_ms, lasted_ms(present.rebalancing_since, present.captured_at))
                ELSE duration_ms
            END AS lasted,
            rebalance.history = 'observed'
                OR (rebalance.history = 'right_censored' AND NOT coalesce(present.state = 'unknown', false)) AS is_complete,
            coalesce(present.has_lost_prefix OR present.state = 'unknown', false) AS has_losses
        FROM rebalance
        JOIN limits ON limits.group_id = rebalance.group_id
        LEFT JOIN group_state AS present
            ON present.partition = rebalance.partition AND present.group_id = rebalance.group_id
            AND present.incarnation = rebalance.incarnation
        WHERE has_epochs(rebalance.group_type)
    ) AS timed
) AS measured

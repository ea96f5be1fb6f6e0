-- name = "rebalance_time_p95"
-- sentence = "95 % of the observed rebalances of a group with members converge within max_seconds"
-- severity = "warn"
-- needs = []
-- about = "rebalance of a group that had members before"
-- [limits.max_seconds]
-- default = 120
-- unit = "seconds"
-- reason = "A heartbeat takes 5 s and a rebalance a few heartbeats: a group that usually needs minutes has slow members."

SELECT
    verdict(p95 > max_seconds * 1000, true) AS verdict,
    group_id, CAST(NULL AS int) AS group_epoch, CAST(NULL AS string) AS member_id, partition,
    CAST(NULL AS bigint) AS offset,
    concat(
        'expected 95 % of rebalances to converge within ', max_seconds_text, ', took up to ', span(p95),
        ' (95th percentile of ', counted(measured, observed rebalance), ')'
    ) AS message
FROM (
    SELECT partition, group_id, percentile(took, 0.95) AS p95, count(took) AS measured
    FROM (
        SELECT partition, group_id, CASE WHEN is_measured THEN duration_ms END AS took
        FROM rebalance
        WHERE has_epochs(group_type) AND NOT coalesce(started_empty, false)
            AND (outcome = 'converged' OR outcome IS NULL OR history NOT IN ('observed', 'right_censored'))
    ) AS timed
    GROUP BY partition, group_id
) AS of_groups
JOIN limits USING (group_id)

-- What is wrong with groups over time, at capture: a row for each group and pattern, errors first, then by what they cost.
-- An id may be in several partitions, and a pattern may be about several subjects: the worst counts.
SELECT group_id, pattern, max(severity) AS severity, max(failing_ms) AS failing_ms
FROM (
    SELECT
        group_id, pattern, failing_ms, harm,
        first_value(severity) OVER (PARTITION BY group_id, pattern ORDER BY harm DESC) AS severity
    FROM troubles_now
    WHERE failing_ms >= 0
) AS found
GROUP BY group_id, pattern
ORDER BY max(harm) DESC, max(failing_ms) DESC, group_id, pattern
LIMIT 500

-- What is wrong with groups over time, at capture: a row for each group and pattern, errors first, then by what they cost.
-- An id may be in several partitions, and a pattern may be about several subjects: the worst counts.
SELECT group_id, pattern, severity, longest_ms
FROM (
    SELECT
        group_id, pattern, max_by(severity, harm) AS severity, max(failing_ms) AS longest_ms, max(harm) AS worst
    FROM troubles_now
    WHERE failing_ms >= 0
    GROUP BY group_id, pattern
) AS found
ORDER BY worst DESC, longest_ms DESC, group_id, pattern
LIMIT :shown

-- How many troubles of groups last of which it is not known since when, by severity: with zeros.
SELECT severity, CAST(sum(troubles) AS bigint) AS troubles
FROM (
    SELECT severity, 1 AS troubles FROM troubles_now WHERE coalesce(failing_ms < 0, true)
    UNION ALL SELECT 'error', 0
    UNION ALL SELECT 'warning', 0
) AS counted
GROUP BY severity
ORDER BY severity

-- What has been wrong with the group over time: what is present first, and of that the worst.
SELECT pattern, severity, count, at_least, is_present, unix_millis(first_seen) AS first_ms,
    unix_millis(last_seen) AS last_ms, cost_share, sentence, next_step, partition, count(*) OVER () AS total
FROM diagnosis
WHERE group_id = :group AND explained_by IS NULL
ORDER BY
    is_present DESC, CASE severity WHEN 'error' THEN 0 WHEN 'warning' THEN 1 ELSE 2 END, coalesce(cost_share, 0) DESC,
    last_seen DESC, partition, pattern, first_seen,
    subject.client_id, subject.client_host, subject.instance_id, subject.member_id, subject.what,
    subject.regex, episode
LIMIT 5

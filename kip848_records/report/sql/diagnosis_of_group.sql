-- What has been wrong with the group over time: what is present first, and of that the worst. Of a trouble that came several
-- times the first one; others: how often it came besides, since_ms: since when.
SELECT *, count(*) OVER () AS total
FROM (
    SELECT *, count(*) OVER (PARTITION BY partition, pattern, who) - 1 AS others,
        min(first_ms) OVER (PARTITION BY partition, pattern, who) AS since_ms,
        row_number() OVER (PARTITION BY partition, pattern, who
            ORDER BY is_present DESC, rank, coalesce(cost_share, 0) DESC, last_ms DESC, first_ms, episode) AS nth
    FROM (
        SELECT pattern, severity, count, at_least, is_present, unix_millis(first_seen) AS first_ms,
            unix_millis(last_seen) AS last_ms, cost_share, sentence, next_step, partition, episode,
            CASE severity WHEN 'error' THEN 0 WHEN 'warning' THEN 1 ELSE 2 END AS rank,
            concat_ws(' ', coalesce(subject.client_id, '?'), coalesce(subject.client_host, '?'),
                coalesce(subject.instance_id, '?'), coalesce(subject.member_id, '?'), coalesce(subject.what, '?'),
                coalesce(subject.regex, '?'), coalesce(array_join(subject.topics, ' '), '?')) AS who
        FROM diagnosis
        WHERE group_id = :group AND explained_by IS NULL
    ) AS troubles
) AS told
WHERE nth = 1
ORDER BY is_present DESC, rank, coalesce(cost_share, 0) DESC, last_ms DESC, partition, pattern, first_ms, who
LIMIT 5

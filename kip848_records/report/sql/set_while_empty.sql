-- The groups whose committed offsets were set while they had no members, the latest first. total: how many there are.
SELECT
    group_id, array_join(array_sort(collect_list(topic)), ' ') AS topics, max(has_back) AS has_back,
    max(has_ahead) AS has_ahead, max(amount) AS amount, unix_millis(max(jumped_at)) AS jumped_ms, count(*) OVER () AS total
FROM (
    SELECT
        group_id, topic, max(amount) AS amount, max(jumped_at) AS jumped_at,
        max(CASE WHEN kind = 'back' THEN 1 ELSE 0 END) AS has_back,
        max(CASE WHEN kind = 'ahead' THEN 1 ELSE 0 END) AS has_ahead
    FROM set_while_empty
    GROUP BY group_id, topic
) AS of_topics
GROUP BY group_id
ORDER BY jumped_ms DESC, group_id
LIMIT 3

-- How many members of each group wait for partitions or tasks at capture.
SELECT partition, group_id, incarnation, count(*) AS waiting
FROM member_state_timeline
WHERE to_at IS NULL AND state = 'waiting'
GROUP BY partition, group_id, incarnation

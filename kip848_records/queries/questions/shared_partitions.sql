-- How many members of a share group read each partition now?
SELECT group_id, topic, partition, count(*) AS members
FROM ownership
WHERE group_type = 'share' AND to_at IS NULL
GROUP BY group_id, topic, partition
ORDER BY members, group_id, topic, partition LIMIT 20

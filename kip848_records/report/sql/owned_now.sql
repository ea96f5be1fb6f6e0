SELECT member_id, coalesce(topic, subtopology_id) AS place, role, partition, count(*) OVER () AS total
FROM ownership
WHERE group_id = :group AND offsets_partition = :partition AND incarnation = :incarnation AND to_at IS NULL
ORDER BY member_id, role, place, partition
LIMIT 10000

SELECT member_id, worker_url, config_offset, worker_config_offset, running, delay_ms
FROM connect_assignment
WHERE group_id = :group AND partition = :partition AND incarnation = :incarnation AND generation = :generation
ORDER BY worker_url, member_id
LIMIT 101

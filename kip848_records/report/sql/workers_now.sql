SELECT workers.member_id, workers.worker_url, names.worker, names.is_shared, config_offset, worker_config_offset, running,
    delay_ms
FROM connect_assignment AS workers
JOIN worker_urls AS names
    ON names.group_id = workers.group_id AND names.partition = workers.partition
    AND names.incarnation = workers.incarnation AND names.member_id = workers.member_id
WHERE workers.group_id = :group AND workers.partition = :partition AND workers.incarnation = :incarnation
    AND generation = :generation
ORDER BY workers.worker_url, workers.member_id
LIMIT 101

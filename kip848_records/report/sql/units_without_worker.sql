SELECT connector, tasks.task, coalesce(workers.worker, tasks.from_member) AS worker, reason,
    unix_millis(released_at) AS released_ms, unix_millis(expected_at) AS expected_ms, unowned_max_ms
FROM task_handover AS tasks
LEFT JOIN worker_urls AS workers
    ON workers.group_id = tasks.group_id AND workers.partition = tasks.partition
    AND workers.incarnation = tasks.incarnation AND workers.member_id = tasks.from_member
WHERE tasks.group_id = :group AND tasks.partition = :partition AND tasks.incarnation = :incarnation AND status = :open
    AND connector IS NOT NULL
ORDER BY CASE WHEN tasks.released_at IS NULL THEN 0 ELSE 1 END, tasks.released_at, connector, tasks.task

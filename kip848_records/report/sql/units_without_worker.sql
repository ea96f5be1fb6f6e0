SELECT connector, tasks.task, coalesce(workers.worker_url, tasks.from_member) AS worker, reason,
    unix_millis(released_at) AS released_ms, unix_millis(expected_at) AS expected_ms, unowned_max_ms
FROM task_handover AS tasks
LEFT JOIN (
    SELECT member_id, max(worker_url) AS worker_url
    FROM connect_assignment
    WHERE group_id = :group AND partition = :partition AND incarnation = :incarnation
    GROUP BY member_id
) AS workers ON workers.member_id = tasks.from_member
WHERE group_id = :group AND partition = :partition AND incarnation = :incarnation AND status = :open
    AND connector IS NOT NULL
ORDER BY connector, tasks.task

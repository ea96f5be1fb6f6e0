SELECT connector, task, from_member, reason, unix_millis(released_at) AS released_ms,
    unix_millis(expected_at) AS expected_ms, unowned_max_ms
FROM task_handover
WHERE group_id = :group AND partition = :partition AND incarnation = :incarnation AND status = :open
    AND connector IS NOT NULL
ORDER BY connector, task

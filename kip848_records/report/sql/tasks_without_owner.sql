SELECT subtopology_id, tasks.task, from_member, unix_millis(released_at) AS released_ms
FROM task_handover AS tasks
WHERE group_id = :group AND partition = :partition AND incarnation = :incarnation AND status = :open
    AND subtopology_id IS NOT NULL
ORDER BY CASE WHEN tasks.released_at IS NULL THEN 0 ELSE 1 END, tasks.released_at, subtopology_id, from_member, tasks.task

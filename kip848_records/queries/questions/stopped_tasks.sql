-- Which connectors and tasks of a Connect cluster have no worker, and when does the leader assign them again?
SELECT group_id, connector, task, reason, released_at, expected_at
FROM task_handover
WHERE connector IS NOT NULL AND status = 'open'
ORDER BY group_id, connector, task LIMIT 20

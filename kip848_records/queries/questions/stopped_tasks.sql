-- question = "Which connectors and tasks have no worker or owner, since when, and when does the leader assign them again?"
-- needs = []
-- about = "handover of tasks"
-- among = "task_handover"
-- empty = "No connector or task is without a worker or owner"
SELECT t.group_id, coalesce(t.connector, t.subtopology_id) AS connector_or_subtopology, t.task, t.reason, t.released_at,
       t.expected_at, coalesce(w.worker, t.from_member) AS last_owner
FROM task_handover t
LEFT JOIN worker_urls w
  ON w.group_id = t.group_id AND w.partition = t.partition AND w.incarnation = t.incarnation AND w.member_id = t.from_member
WHERE t.status = 'open'
ORDER BY CASE WHEN t.released_at IS NULL THEN 0 ELSE 1 END, t.released_at, t.group_id,
    connector_or_subtopology, t.task LIMIT 20

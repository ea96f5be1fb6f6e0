-- Which connectors and tasks have no worker or owner, since when, and when does the leader assign them again?
SELECT t.group_id, coalesce(t.connector, t.subtopology_id) AS connector_or_subtopology, t.task, t.reason, t.released_at,
       t.expected_at, coalesce(w.worker_url, t.from_member) AS last_owner
FROM task_handover t
LEFT JOIN (SELECT group_id, partition, incarnation, member_id, max(worker_url) AS worker_url FROM connect_assignment
           GROUP BY group_id, partition, incarnation, member_id) w
  ON w.group_id = t.group_id AND w.partition = t.partition AND w.incarnation = t.incarnation AND w.member_id = t.from_member
WHERE t.status = 'open'
ORDER BY CASE WHEN t.released_at IS NULL THEN 0 ELSE 1 END, t.released_at, t.group_id,
    connector_or_subtopology, t.task LIMIT 20

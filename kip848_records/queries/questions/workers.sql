-- question = "Which connectors and tasks does each worker of a Connect cluster run now?"
-- note = "Task -1 is the connector itself. The log shows what the leader decided: a failed task looks like a running one. A worker that runs nothing has no connector and no tasks."
-- needs = []
-- about = "Connect worker"
-- among = "connect_assignment"
-- empty = "No worker of a Connect cluster is known"
SELECT w.group_id, n.worker, w.member_id = g.leader AS is_leader, r.unit.connector AS connector, r.unit.tasks AS tasks
FROM connect_assignment w
JOIN group_state g ON g.group_id = w.group_id AND g.partition = w.partition AND g.incarnation = w.incarnation
  AND g.generation = w.generation
JOIN worker_urls n ON n.group_id = w.group_id AND n.partition = w.partition AND n.incarnation = w.incarnation
  AND n.member_id = w.member_id
LEFT JOIN (SELECT group_id, partition, incarnation, generation, member_id, explode(running) AS unit
           FROM connect_assignment) r
  ON r.group_id = w.group_id AND r.partition = w.partition AND r.incarnation = w.incarnation
  AND r.generation = w.generation AND r.member_id = w.member_id
ORDER BY w.group_id, n.worker, w.member_id, connector

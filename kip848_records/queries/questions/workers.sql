-- Which connectors and tasks does each worker of a Connect cluster run now?
-- Task -1 is the connector itself. The log shows what the leader decided: a failed task looks like a running one.
-- A worker that runs nothing has no connector and no tasks.
SELECT w.group_id, w.worker_url, w.member_id = g.leader AS is_leader, r.unit.connector AS connector, r.unit.tasks AS tasks
FROM connect_assignment w
JOIN group_state g ON g.group_id = w.group_id AND g.partition = w.partition AND g.incarnation = w.incarnation
  AND g.generation = w.generation
LEFT JOIN (SELECT group_id, partition, incarnation, generation, member_id, explode(running) AS unit
           FROM connect_assignment) r
  ON r.group_id = w.group_id AND r.partition = w.partition AND r.incarnation = w.incarnation
  AND r.generation = w.generation AND r.member_id = w.member_id
ORDER BY w.group_id, w.worker_url, w.member_id, connector

-- Which connectors and tasks does each worker of a Connect cluster run now?
-- Task -1 is the connector itself. The log shows what the leader decided: a failed task looks like a running one.
SELECT group_id, worker_url, is_leader, unit.connector AS connector, unit.tasks AS tasks
FROM (
  SELECT w.group_id, w.worker_url, w.member_id = g.leader AS is_leader, explode(w.running) AS unit
  FROM connect_assignment w
  JOIN group_state g ON g.group_id = w.group_id AND g.partition = w.partition AND g.incarnation = w.incarnation
    AND g.generation = w.generation
) AS units
ORDER BY group_id, worker_url, connector

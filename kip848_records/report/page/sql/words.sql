-- What groups are searched for besides their ids: members, clients, hosts and topics; Connect workers and connectors.
WITH stays AS (
  SELECT *, row_number() OVER (
    PARTITION BY partition, group_id ORDER BY CASE WHEN left_at IS NULL THEN 0 ELSE 1 END,
      coalesce(joined_offset, left_offset) DESC, member_id, group_type, incarnation
  ) AS nth
  FROM membership
),
connectors AS (
  SELECT workers.partition, workers.group_id, worker_url, unit.connector AS connector
  FROM (
    SELECT partition, group_id, incarnation, generation, worker_url, explode(running) AS unit FROM connect_assignment
  ) AS workers
  JOIN group_state AS states ON workers.partition = states.partition AND workers.group_id = states.group_id
    AND workers.incarnation = states.incarnation AND workers.generation = states.generation
  UNION ALL
  SELECT partition, group_id, CAST(NULL AS string) AS worker_url, connector
  FROM task_handover WHERE status = 'open' AND connector IS NOT NULL
)
SELECT partition, group_id, member_id, instance_id, client_id, client_host, array_join(array_sort(topics), ' ') AS topics,
  nth
FROM stays WHERE nth <= :members
UNION ALL
SELECT partition, group_id, worker_url, CAST(NULL AS string), CAST(NULL AS string), CAST(NULL AS string),
  array_join(array_sort(collect_set(connector)), ' '), 0
FROM connectors GROUP BY partition, group_id, worker_url
ORDER BY partition, group_id, nth, member_id

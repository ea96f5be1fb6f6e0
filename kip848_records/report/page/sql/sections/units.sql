-- What each member has now: partitions, the connectors and tasks of a worker, or tasks in a role.
WITH classic AS (
  SELECT states.partition, states.group_id, states.incarnation, states.generation, stays.member_id
  FROM group_state AS states
  JOIN chosen ON states.partition = chosen.partition AND states.group_id = chosen.group_id
  JOIN membership AS stays ON states.partition = stays.partition AND states.group_id = stays.group_id
    AND states.incarnation = stays.incarnation AND stays.left_offset IS NULL
  WHERE states.generation IS NOT NULL
),
assigned AS (
  SELECT classic.partition, classic.group_id, classic.incarnation, classic.member_id, explode(members.assigned) AS unit
  FROM classic_member AS members
  JOIN classic ON members.partition = classic.partition AND members.group_id = classic.group_id
    AND members.incarnation = classic.incarnation AND members.generation = classic.generation
    AND members.member_id = classic.member_id
),
running AS (
  SELECT classic.partition, classic.group_id, classic.incarnation, classic.member_id, explode(workers.running) AS unit
  FROM connect_assignment AS workers
  JOIN classic ON workers.partition = classic.partition AND workers.group_id = classic.group_id
    AND workers.incarnation = classic.incarnation AND workers.generation = classic.generation
    AND workers.member_id = classic.member_id
),
owned AS (
  SELECT chosen.partition, chosen.group_id, incarnation, member_id, role, coalesce(topic, topic_id, subtopology_id) AS place,
    array_join(array_sort(collect_list(ownership.partition)), ' ') AS numbers
  FROM ownership
  JOIN chosen ON ownership.offsets_partition = chosen.partition AND ownership.group_id = chosen.group_id
  WHERE to_at IS NULL
  GROUP BY chosen.partition, chosen.group_id, incarnation, member_id, role, coalesce(topic, topic_id, subtopology_id)
)
SELECT partition, group_id, incarnation, member_id, CAST(NULL AS string) AS role, unit.topic AS place,
  array_join(array_sort(unit.partitions), ' ') AS numbers
FROM assigned
UNION ALL
SELECT partition, group_id, incarnation, member_id, CAST(NULL AS string) AS role, unit.connector AS place,
  array_join(array_sort(unit.tasks), ' ') AS numbers
FROM running
UNION ALL
SELECT partition, group_id, incarnation, member_id, role, place, numbers FROM owned

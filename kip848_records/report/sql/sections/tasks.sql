-- Connectors and tasks that changed their owner, or have none: those first. A Connect worker is named by its URL.
WITH urls AS (
  SELECT urls.* FROM worker_urls AS urls
  JOIN chosen ON urls.partition = chosen.partition AND urls.group_id = chosen.group_id
),
named AS (
  SELECT tasks.*, coalesce(tasks.connector, tasks.subtopology_id) AS place,
    coalesce(giver.worker, tasks.from_member) AS giver, coalesce(taker.worker, tasks.to_member) AS taker
  FROM task_handover AS tasks
  JOIN chosen ON tasks.partition = chosen.partition AND tasks.group_id = chosen.group_id
  LEFT JOIN urls AS giver ON tasks.partition = giver.partition AND tasks.group_id = giver.group_id
    AND tasks.incarnation = giver.incarnation AND tasks.from_member = giver.member_id
  LEFT JOIN urls AS taker ON tasks.partition = taker.partition AND tasks.group_id = taker.group_id
    AND tasks.incarnation = taker.incarnation AND tasks.to_member = taker.member_id
)
SELECT partition, group_id, incarnation, place, giver, taker, reason, status, was_warm,
  unix_millis(released_at) AS released_at_ms, unix_millis(acquired_at) AS acquired_at_ms,
  unix_millis(expected_at) AS expected_at_ms, coalesce(acquired_offset, released_offset) AS at_offset, history,
  min(unowned_ms) AS unowned_ms, max(unowned_max_ms) AS unowned_max_ms,
  array_join(array_sort(collect_list(task)), ' ') AS numbers
FROM named
GROUP BY partition, group_id, incarnation, place, giver, taker, reason, status, was_warm, released_at, acquired_at,
  expected_at, coalesce(acquired_offset, released_offset), history

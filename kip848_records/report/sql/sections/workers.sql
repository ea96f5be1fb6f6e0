-- The workers of each generation of a Connect cluster. is_last: it is one of the present generation; a static worker that was
-- replaced within it is not there any more.
SELECT workers.partition, workers.group_id, workers.incarnation, workers.generation, workers.member_id, names.worker,
  names.worker_url, names.is_shared, workers.member_id = coalesce(states.leader, generations.leader) AS is_leader,
  workers.running, workers.config_offset, workers.worker_config_offset, unix_millis(stays.joined_at) AS joined_at_ms,
  states.generation IS NOT NULL AND stays.member_id IS NOT NULL AS is_last
FROM connect_assignment AS workers
JOIN chosen ON workers.partition = chosen.partition AND workers.group_id = chosen.group_id
JOIN worker_urls AS names ON workers.partition = names.partition AND workers.group_id = names.group_id
  AND workers.incarnation = names.incarnation AND workers.member_id = names.member_id
LEFT JOIN classic_generation AS generations ON workers.partition = generations.partition
  AND workers.group_id = generations.group_id AND workers.incarnation = generations.incarnation
  AND workers.generation = generations.generation
LEFT JOIN group_state AS states ON workers.partition = states.partition AND workers.group_id = states.group_id
  AND workers.incarnation = states.incarnation AND workers.generation = states.generation
LEFT JOIN membership AS stays ON workers.partition = stays.partition AND workers.group_id = stays.group_id
  AND workers.incarnation = stays.incarnation AND workers.member_id = stays.member_id AND stays.left_offset IS NULL

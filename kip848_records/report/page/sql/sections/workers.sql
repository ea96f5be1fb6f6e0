-- The workers of the last generation of a Connect cluster. A static worker that was replaced within it is not there any more.
SELECT workers.partition, workers.group_id, workers.incarnation, workers.member_id, names.worker AS worker_url,
  workers.member_id = states.leader AS is_leader, workers.running IS NOT NULL AS is_assigned, workers.config_offset,
  workers.worker_config_offset, unix_millis(stays.joined_at) AS joined_at_ms
FROM connect_assignment AS workers
JOIN chosen ON workers.partition = chosen.partition AND workers.group_id = chosen.group_id
JOIN group_state AS states ON workers.partition = states.partition AND workers.group_id = states.group_id
  AND workers.incarnation = states.incarnation AND workers.generation = states.generation
JOIN membership AS stays ON workers.partition = stays.partition AND workers.group_id = stays.group_id
  AND workers.incarnation = stays.incarnation AND workers.member_id = stays.member_id AND stays.left_offset IS NULL
JOIN worker_urls AS names ON workers.partition = names.partition AND workers.group_id = names.group_id
  AND workers.incarnation = names.incarnation AND workers.member_id = names.member_id

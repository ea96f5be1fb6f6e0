-- The committed offsets that were removed while their group lives on, with times in ms.
SELECT
  offsets_partition, group_id, incarnation, topic, cause, partitions, at_offset, followed, age_ms, retention_ms,
  assumed_retention_ms, is_unowned,
  unix_millis(jumped_at) AS jumped_ms, unix_millis(followed_at) AS followed_ms
FROM lost_offsets
WHERE jumped_at IS NOT NULL
ORDER BY offsets_partition, group_id, topic, cause, at_offset

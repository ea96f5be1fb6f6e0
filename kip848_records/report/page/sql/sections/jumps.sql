-- Where committed offsets jumped: partitions of a topic to which the same happened at once have one row.
SELECT jump.offsets_partition AS partition, jump.group_id, incarnation, topic AS place, kind, context, cause,
  unix_millis(jumped_at) AS jumped_ms, min(before_offset) AS least_before, max(before_offset) AS most_before,
  min(after_offset) AS least_after, max(after_offset) AS most_after, sum(CAST(amount AS double)) AS amount,
  max(retention_ms) AS retention_ms, max(assumed_retention_ms) AS assumed_retention_ms, min(jump.offset) AS at_offset, array_join(array_sort(collect_list(jump.partition)), ' ') AS numbers
FROM commit_jump AS jump
JOIN chosen ON jump.offsets_partition = chosen.partition AND jump.group_id = chosen.group_id
GROUP BY jump.offsets_partition, jump.group_id, incarnation, topic, kind, context, cause, jumped_at

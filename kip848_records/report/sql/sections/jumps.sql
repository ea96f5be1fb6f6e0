-- Where committed offsets jumped: partitions of a topic to which the same happened at once have one row. is_recovered: members
-- got to the offset before. is_changed_again: the next jump of the partition came before that. is_late: that of jumps_now.
SELECT partition, group_id, incarnation, place, kind AS jump, context, cause, is_late, is_recovered, is_changed_again, goes_back,
  unix_millis(jumped_at) AS jumped_ms, min(before_offset) AS least_before, max(before_offset) AS most_before,
  min(after_offset) AS least_after, max(after_offset) AS most_after, sum(CAST(amount AS double)) AS amount,
  sum(CAST(before_offset AS double)) AS whole, min(age_ms) AS least_age_ms, max(age_ms) AS age_ms,
  retention_ms, assumed_retention_ms, min(at_offset) AS at_offset,
  array_join(array_sort(collect_list(number)), ' ') AS numbers
FROM (
  SELECT found.*, recovered_at IS NOT NULL AS is_recovered, after_offset < before_offset AS goes_back,
    CASE WHEN next_at IS NULL THEN false WHEN recovered_at IS NULL THEN true ELSE next_at <= recovered_at END
      AS is_changed_again
  FROM (
    SELECT jumps.offsets_partition AS partition, jumps.group_id, incarnation, topic AS place, jumps.partition AS number, kind,
      context, cause, is_late, jumped_at, recovered_at, before_offset, after_offset, amount, age_ms, retention_ms,
      assumed_retention_ms, jumps.offset AS at_offset,
      lead(jumped_at) OVER (
        PARTITION BY jumps.offsets_partition, jumps.group_id, topic, jumps.partition ORDER BY jumps.offset
      ) AS next_at
    FROM jumps_now AS jumps
    JOIN chosen ON jumps.offsets_partition = chosen.partition AND jumps.group_id = chosen.group_id
  ) AS found
) AS jumped
GROUP BY partition, group_id, incarnation, place, kind, context, cause, is_late, is_recovered, is_changed_again, goes_back,
  jumped_at, amount IS NULL, retention_ms, assumed_retention_ms

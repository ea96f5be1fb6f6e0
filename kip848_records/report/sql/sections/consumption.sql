-- How far the commits of what each member owns have come: partitions of a topic that are alike have one row. An offset that
-- jumped stands still since then: silent_ms, that of the others least_ms. is_minimum: they may stand still for longer.
-- is_removed: the committed offset was removed. is_unknown: if none is known, the log does not show whether there is one.
WITH jumps AS (
  SELECT jump.offsets_partition, jump.group_id, incarnation, topic, jump.partition, member_id, max(jumped_at) AS jumped_at,
    max(CASE WHEN kind = 'lost' THEN jumped_at END) AS lost_at
  FROM commit_jump AS jump
  JOIN chosen ON jump.offsets_partition = chosen.partition AND jump.group_id = chosen.group_id
  GROUP BY jump.offsets_partition, jump.group_id, incarnation, topic, jump.partition, member_id
),
stays AS (
  SELECT stay.offsets_partition, stay.group_id, stay.incarnation, stay.topic, stay.partition, stay.member_id,
    stay.acquired_offset, coalesce(now.negative_offset, stay.last_offset, stay.start_offset) AS committed,
    ms_between(greatest(
      jumps.jumped_at, CASE WHEN now.negative_offset IS NOT NULL THEN stay.negative_from END,
      coalesce(stay.last_advance_at, CASE WHEN stay.start_offset IS NULL THEN stay.first_commit_at END, stay.acquired_at)
    ), now.captured_at) AS silent_ms,
    jumps.jumped_at IS NULL AND stay.last_advance_at IS NULL
      AND (stay.start_offset IS NOT NULL OR stay.history IN ('left_censored', 'censored')) AS is_minimum,
    stay.removed > 0
      AND (stay.last_commit_at IS NULL OR coalesce(jumps.lost_at >= stay.last_commit_at, false)) AS is_removed,
    stay.history IN ('left_censored', 'censored') AS is_unknown,
    now.state, now.evidence, now.ahead_by, now.ahead_group, now.producer_id
  FROM commit_progress AS stay
  JOIN chosen ON stay.offsets_partition = chosen.partition AND stay.group_id = chosen.group_id
  JOIN consumption_now AS now ON now.offsets_partition = stay.offsets_partition AND now.group_id = stay.group_id
    AND now.incarnation = stay.incarnation AND now.topic = stay.topic AND now.partition = stay.partition
    AND now.member_id = stay.member_id AND now.acquired_offset = stay.acquired_offset
  LEFT JOIN jumps ON jumps.offsets_partition = stay.offsets_partition AND jumps.group_id = stay.group_id
    AND jumps.incarnation = stay.incarnation AND jumps.topic = stay.topic AND jumps.partition = stay.partition
    AND jumps.member_id = stay.member_id AND jumps.jumped_at >= stay.acquired_at
)
SELECT offsets_partition AS partition, group_id, incarnation, member_id, topic AS place, state, evidence, is_minimum, is_removed,
  is_unknown, min(committed) AS least_committed, max(committed) AS most_committed, max(silent_ms) AS silent_ms,
  min(silent_ms) AS least_ms, max(ahead_by) AS ahead_by, ahead_group, producer_id, min(acquired_offset) AS at_offset,
  count(*) AS partitions, array_join(array_sort(collect_list(stays.partition)), ' ') AS numbers
FROM stays
GROUP BY offsets_partition, group_id, incarnation, member_id, topic, state, evidence, is_minimum, is_removed, is_unknown,
  ahead_group, producer_id, committed IS NULL

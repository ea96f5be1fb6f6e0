-- The handovers of the group after which the new owner read offsets that the owner before had read, the most first: what
-- moved at once, of one topic, from one member to one, is one row. total: how many there are.
SELECT
    handovers.topic, from_member, member_id, unix_millis(acquired_at) AS acquired_ms,
    sum(CAST(repeat_at_most AS double)) AS repeat_at_most, max(committed_age_ms) AS committed_age_ms,
    bool_or(coalesce(ended_uncommitted, false)) AS ended_uncommitted,
    array_join(array_sort(collect_list(handovers.partition)), ' ') AS numbers, count(*) OVER () AS total
FROM handover_progress AS handovers
WHERE handovers.group_id = :group AND repeat_at_most > 0
GROUP BY handovers.incarnation, handovers.offsets_partition, handovers.topic, from_member, member_id, acquired_at
ORDER BY repeat_at_most DESC, acquired_ms DESC, handovers.topic, from_member, member_id
LIMIT 5

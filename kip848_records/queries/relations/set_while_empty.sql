-- Committed offsets that were set back or ahead while their group had no members, in the week before the capture: by a tool,
-- or by a client without a member id. Information: people do it on purpose.
SELECT
  moved.offsets_partition, moved.group_id, moved.incarnation, moved.topic, moved.kind, moved.jumped_at, moved.partitions,
  moved.first_partition, moved.before_offset, moved.after_offset, moved.amount, moved.age_ms
FROM moved_offsets AS moved
JOIN group_state AS present ON present.partition = moved.offsets_partition AND present.group_id = moved.group_id
WHERE moved.context = 'no_members' AND moved.age_ms <= 604800000

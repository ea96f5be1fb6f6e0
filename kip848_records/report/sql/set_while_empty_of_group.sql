-- The committed offsets of the group that were set while it had no members, the latest first.
SELECT
    topic, kind, partitions, first_partition, before_offset, after_offset, amount, unix_millis(jumped_at) AS jumped_ms,
    count(*) OVER () AS total
FROM set_while_empty
WHERE group_id = :group
ORDER BY jumped_at DESC, topic, kind, first_partition
LIMIT 3

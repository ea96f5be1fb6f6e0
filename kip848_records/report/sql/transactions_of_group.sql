-- The open transactions that committed offsets of the group wait for, the oldest first. keys: of all of their groups.
SELECT
    partition AS in_partition, producer_id, producer_epoch, first_offset, unix_millis(first_at) AS first_ms, age_ms, keys,
    blocks_from, records_behind, status
FROM open_transactions_now
WHERE array_contains(group_ids, :group)
ORDER BY first_ms, in_partition, producer_id

-- The groups that went back to the classic protocol, the last first.
SELECT
    partition, group_id, unix_millis(downgrades.at) AS at_ms, converted, downgrades.offset AS at_offset, by_replacement
FROM downgrades
ORDER BY downgrades.at DESC, group_id, downgrades.offset DESC, partition

-- The groups that went back to the classic protocol, the last first. by_replacement: a classic member took the place of a
-- static consumer member; false: the last consumer member left; null: the log does not show which.
SELECT
    changes.partition, changes.group_id, unix_millis(changes.at) AS at_ms, changes.converted, changes.offset AS at_offset,
    bool_or(stays.joined_how = 'replaced') AS by_replacement
FROM group_migration AS changes
LEFT JOIN membership AS stays
    ON stays.partition = changes.partition AND stays.group_id = changes.group_id AND stays.group_type = 'classic'
    AND stays.joined_offset = changes.offset
WHERE changes.direction = 'downgrade'
GROUP BY changes.partition, changes.group_id, changes.at, changes.converted, changes.offset
ORDER BY changes.at DESC, changes.group_id, changes.offset DESC, changes.partition

-- The changes of groups back to the classic protocol. by_replacement: a classic member took the place of a static consumer
-- member; false: the last consumer member left; null: the log does not show which.
SELECT
    changes.partition, changes.group_id, changes.at, changes.epoch, changes.converted, changes.offset,
    bool_or(stays.joined_how = 'replaced') AS by_replacement
FROM group_migration AS changes
LEFT JOIN membership AS stays
    ON stays.partition = changes.partition AND stays.group_id = changes.group_id AND stays.group_type = 'classic'
    AND stays.joined_offset = changes.offset
WHERE changes.direction = 'downgrade'
GROUP BY changes.partition, changes.group_id, changes.at, changes.epoch, changes.converted, changes.offset

-- name = "moved_ahead"
-- sentence = "No committed offset was set ahead while its group had no members; one that was set longer ago than within does not count"
-- severity = "off"
-- needs = ["offset_commits"]
-- about = "group with committed offsets"
-- [limits.within]
-- default = 86400
-- unit = "seconds"
-- reason = "A nightly audit sees each one once or twice. It is off by default, because people set offsets ahead on purpose."

-- What a member skips itself looks like reading: only what was set from outside is known.
SELECT
    verdict(ahead.age_ms <= limits.within * 1000, ahead.age_ms IS NOT NULL) AS verdict,
    ahead.group_id, CAST(NULL AS int) AS group_epoch, ahead.member_id, ahead.offsets_partition AS partition, ahead.at_offset AS offset,
    concat(
        'expected committed offsets of ', ahead.topic, ' not to be set ahead, ',
        CASE WHEN ahead.partitions = 1
            THEN concat('that of ', CAST(ahead.first_partition AS string), ' was set from ', text(ahead.before_offset), ' to ', text(ahead.after_offset))
            ELSE concat('those of ', counted(ahead.partitions, partition), ' were set ahead by up to ', counted(ahead.amount, offset))
        END
    ) AS message
FROM moved_offsets AS ahead
JOIN limits ON limits.group_id IS NOT DISTINCT FROM ahead.group_id
WHERE ahead.kind = 'ahead'
UNION ALL
none_is_seen(moved_offsets, found.kind = 'ahead')

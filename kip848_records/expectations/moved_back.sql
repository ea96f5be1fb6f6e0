-- name = "moved_back"
-- sentence = "No committed offset was set back; one that was set back longer ago than within does not count"
-- severity = "off"
-- needs = ["offset_commits"]
-- about = "group with committed offsets"
-- [limits.within]
-- default = 86400
-- unit = "seconds"
-- reason = "A nightly audit sees each one once or twice. It is off by default, because people set offsets back on purpose."

SELECT
    verdict(back.age_ms <= limits.within * 1000, back.age_ms IS NOT NULL) AS verdict,
    back.group_id, CAST(NULL AS int) AS group_epoch, back.member_id, back.offsets_partition AS partition, back.at_offset AS offset,
    concat(
        'expected committed offsets of ', back.topic, ' not to go back, ',
        CASE WHEN back.partitions = 1
            THEN concat('that of ', CAST(back.first_partition AS string), ' went from ', text(back.before_offset), ' to ', text(back.after_offset))
            ELSE concat('those of ', counted(back.partitions, partition), ' went back by up to ', counted(back.amount, offset))
        END,
        CASE
            WHEN back.context IN ('no_members', 'simple') THEN ', set while the group had no members'
            WHEN back.context IN ('same_owner', 'owner_change', 'first_owner') THEN ', by the owner'
            WHEN back.context = 'unowned' THEN ', and no member owned the partition'
            ELSE ', and the log does not show whether the group had members'
        END
    ) AS message
FROM moved_offsets AS back
JOIN limits ON limits.group_id IS NOT DISTINCT FROM back.group_id
WHERE back.kind = 'back'
UNION ALL
none_is_seen(moved_offsets, found.kind = 'back')

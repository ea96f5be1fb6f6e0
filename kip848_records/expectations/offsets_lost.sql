-- name = "offsets_lost"
-- sentence = "No committed offset was removed while its group lives on; a loss that is older than within does not count"
-- severity = "warn"
-- needs = ["offset_commits"]
-- about = "group with committed offsets"
-- [limits.within]
-- default = 86400
-- unit = "seconds"
-- reason = "A nightly audit sees each loss once or twice; an older one was seen before."

-- Who owns the partition next starts where auto.offset.reset says: it reads again, or skips, what came since.
SELECT
    verdict(lost.age_ms <= limits.within * 1000, lost.age_ms IS NOT NULL) AS verdict,
    lost.group_id, CAST(NULL AS int) AS group_epoch, lost.member_id, lost.offsets_partition AS partition, lost.at_offset AS offset,
    concat(
        CASE WHEN lost.partitions = 1
            THEN concat('expected the committed offset of ', lost.topic, ' ', CAST(lost.first_partition AS string), ' to stay, ')
            ELSE concat('expected the committed offsets of ', counted(lost.partitions, partition), ' of ', lost.topic, ' to stay, ')
        END,
        CASE WHEN lost.partitions = 1 THEN CAST(lost.before_offset AS string) ELSE 'each' END, ' was removed: ',
        CASE WHEN lost.cause = 'expired' AND lost.retention_ms IS NOT NULL
            THEN concat('its client had asked the broker to keep it for ', span(lost.retention_ms))
            ELSE concat('presumably ', loss_text(lost.cause))
        END,
        CASE WHEN lost.assumed_retention_ms IS NULL THEN ''
            ELSE concat(' (assumed: brokers keep offsets for ', span(lost.assumed_retention_ms), ')')
        END
    ) AS message
FROM lost_offsets AS lost
JOIN limits ON limits.group_id IS NOT DISTINCT FROM lost.group_id
UNION ALL
none_is_seen(lost_offsets, true)

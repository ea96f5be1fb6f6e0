-- name = "offsets_lost"
-- sentence = "No committed offset was removed while its group lives on; a loss that is older than within does not count"
-- severity = "warn"
-- [limits.within]
-- default = 86400
-- unit = "seconds"
-- reason = "A nightly audit sees each loss once or twice; an older one was seen before."

-- Who owns the partition next starts where auto.offset.reset says: it reads again, or skips, what came since.
SELECT
    verdict(lost.age_ms <= limits.within * 1000, lost.age_ms IS NOT NULL) AS verdict, CAST(NULL AS string) AS severity,
    lost.group_id, CAST(NULL AS int) AS group_epoch, lost.member_id, lost.offsets_partition AS partition, lost.at_offset AS offset,
    concat(
        CASE WHEN lost.partitions = 1
            THEN concat('expected the committed offset of ', lost.topic, ' ', CAST(lost.first_partition AS string), ' to stay, ')
            ELSE concat('expected the committed offsets of ', counted(lost.partitions, partition), ' of ', lost.topic, ' to stay, ')
        END,
        CASE WHEN lost.partitions = 1 THEN concat(CAST(lost.before_offset AS string), ' was removed ') ELSE 'they were removed ' END,
        CASE lost.cause
            WHEN 'topic_deleted' THEN 'with the topic'
            WHEN 'expired' THEN 'as they had expired'
            ELSE 'by a tool'
        END
    ) AS message
FROM lost_offsets AS lost
JOIN limits ON limits.group_id IS NOT DISTINCT FROM lost.group_id

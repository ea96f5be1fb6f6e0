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
FROM (
    SELECT
        jumps.group_id, jumps.member_id, jumps.offsets_partition, jumps.topic, jumps.cause, jumps.jumped_at,
        count(*) AS partitions, min(jumps.partition) AS first_partition, min(jumps.before_offset) AS before_offset,
        min(jumps.offset) AS at_offset,
        unix_millis(max(captures.captured_at)) - unix_millis(jumps.jumped_at) AS age_ms
    FROM commit_jump AS jumps
    JOIN group_state AS present
        ON present.group_id = jumps.group_id AND present.partition = jumps.offsets_partition
    JOIN captures ON captures.partition = jumps.offsets_partition
    WHERE jumps.kind = 'lost' AND jumps.cause NOT IN ('group_expired', 'group_deleted')
    -- What is removed at once has one cause.
    GROUP BY jumps.group_id, jumps.member_id, jumps.offsets_partition, jumps.topic, jumps.cause, jumps.jumped_at
) AS lost
JOIN limits ON limits.group_id IS NOT DISTINCT FROM lost.group_id

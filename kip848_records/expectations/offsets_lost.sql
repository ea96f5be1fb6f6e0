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
        'expected the committed offset of ', lost.topic, ' ', CAST(lost.partition AS string), ' to stay, ',
        CAST(lost.before_offset AS string), ' was removed ',
        CASE lost.cause
            WHEN 'topic_deleted' THEN 'with its topic'
            WHEN 'expired' THEN 'because it expired'
            ELSE 'by a tool'
        END
    ) AS message
FROM (
    SELECT
        jumps.group_id, jumps.member_id, jumps.offsets_partition, jumps.topic, jumps.partition, jumps.before_offset,
        jumps.cause, jumps.offset AS at_offset,
        unix_millis(captures.captured_at) - unix_millis(jumps.jumped_at) AS age_ms
    FROM commit_jump AS jumps
    JOIN group_state AS present
        ON present.group_id = jumps.group_id AND present.partition = jumps.offsets_partition
    JOIN captures ON captures.partition = jumps.offsets_partition
    WHERE jumps.kind = 'lost' AND jumps.cause NOT IN ('group_expired', 'group_deleted')
) AS lost
JOIN limits ON limits.group_id IS NOT DISTINCT FROM lost.group_id

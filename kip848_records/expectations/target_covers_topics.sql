-- name = "target_covers_topics"
-- sentence = "A target assignment gives every partition of the subscribed topics to exactly one member"
-- severity = "error"
-- needs = []
-- about = "assignment of a consumer group"

-- Every log shows whether a partition is in two targets. A missing partition shows only in the present assignment, and only
-- up to Kafka 4.0: its coordinator wrote the topics' sizes (type 4), which later ones delete. A missing target may be in
-- the part of the log that was not copied. Several members of a share group may have one partition. Of a streams group
-- only active tasks count, whose number the log does not have.
WITH sizes AS (
    SELECT partition, group_id, coalesce(CAST(sum(CAST(size AS bigint)) AS bigint), 0) AS expected
    FROM (
        SELECT partition, group_id, explode(regexp_extract_all(value, '"numPartitions": *([0-9]+)', 1)) AS size
        FROM latest_state
        WHERE record = 'ConsumerGroupPartitionMetadata'
        UNION ALL
        SELECT partition, group_id, '0'
        FROM latest_state
        WHERE record = 'ConsumerGroupPartitionMetadata' AND value IS NOT NULL
    ) AS topics
    GROUP BY partition, group_id
), assignments AS (
    SELECT
        epoch_timeline.*, sizes.expected, groups.has_log_start,
        coalesce(epoch_timeline.group_epoch = present.group_epoch, false) AS is_present
    FROM epoch_timeline
    LEFT JOIN (SELECT * FROM group_state WHERE group_epoch = assignment_epoch) AS present
        ON present.partition = epoch_timeline.partition AND present.group_id = epoch_timeline.group_id
        AND present.incarnation = epoch_timeline.incarnation
    LEFT JOIN sizes ON sizes.partition = present.partition AND sizes.group_id = present.group_id
    LEFT JOIN groups ON groups.partition = epoch_timeline.partition AND groups.group_id = epoch_timeline.group_id
    WHERE target_partitions IS NOT NULL AND NOT shares_units(epoch_timeline.group_type)
)
SELECT
    verdict(
        CASE WHEN target_duplicates > 0 THEN true ELSE target_partitions <> expected END,
        target_partitions = expected OR target_duplicates > 0 OR has_log_start
    ) AS verdict,
    group_id, group_epoch, CAST(NULL AS string) AS member_id, partition, bump_offset AS offset,
    CASE WHEN expected IS NULL AND target_duplicates = 0
        THEN concat('expected every partition in one target, the log does not have the topics', chr(39), ' sizes')
        ELSE concat(
            'expected each of ', text(CASE WHEN is_present THEN expected END), ' partitions in one target, ',
            text(target_partitions), ' are in one or more and ', text(target_duplicates), ' in more than one'
        )
    END AS message
FROM assignments
WHERE is_present AND NOT has_tasks(group_type) OR target_duplicates > 0

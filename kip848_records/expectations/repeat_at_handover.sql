-- name = "repeat_at_handover"
-- sentence = "A handover of a partition lets its new owner read at most max_offsets again; one longer ago than within does not count"
-- severity = "off"
-- needs = ["offset_commits"]
-- about = "handover of a partition with committed offsets"
-- [limits.max_offsets]
-- default = 1000
-- unit = "offsets"
-- reason = "So many offsets are read by both owners. It is off by default, because consumers that crash always read some again."
-- [limits.within]
-- default = 86400
-- unit = "seconds"
-- reason = "A nightly audit sees each handover once or twice."

-- An estimate, from the pace of the owner before and from how long it had been quiet.
SELECT
    verdict(
        moved.repeat_at_most > limits.max_offsets AND moved.age_ms <= limits.within * 1000,
        moved.age_ms > limits.within * 1000 OR (moved.repeat_at_most IS NOT NULL AND moved.age_ms IS NOT NULL)
    ) AS verdict,
    moved.group_id, CAST(NULL AS int) AS group_epoch, moved.member_id,
    moved.offsets_partition AS partition, moved.acquired_offset AS offset,
    concat(
        'expected at most ', max_offsets_text, ' offsets of ', moved.topic, ' ', CAST(moved.topic_partition AS string),
        ' to be read again, ',
        CASE WHEN moved.repeat_at_most IS NULL THEN 'the log does not show the pace of the owner before'
            ELSE concat('up to ', counted(moved.repeat_at_most, offset), ' were, from ', text(moved.from_member)) END
    ) AS message
FROM (
    SELECT
        handovers.group_id, handovers.member_id, handovers.from_member, handovers.offsets_partition, handovers.topic,
        handovers.partition AS topic_partition, handovers.acquired_offset, handovers.repeat_at_most,
        ms_between(handovers.acquired_at, captures.captured_at) AS age_ms
    FROM handover_progress AS handovers
    JOIN captures ON captures.partition = handovers.offsets_partition
) AS moved
JOIN limits ON limits.group_id IS NOT DISTINCT FROM moved.group_id

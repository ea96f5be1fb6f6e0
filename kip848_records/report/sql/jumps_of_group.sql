-- The breaks in the committed offsets of the group, in all of its incarnations, the latest first. is_recovered:
-- members got to the offset before. is_changed_again: the next break of the partition came before that. is_late: that of
-- jumps_now. total: how many there are.
SELECT
    jump.topic, jump.partition AS topic_partition, jump.kind, jump.context, jump.before_offset, jump.after_offset,
    jump.amount, unix_millis(jump.jumped_at) AS jumped_ms, jump.recovered_at IS NOT NULL AS is_recovered, jump.cause,
    jump.age_ms, jump.retention_ms, jump.assumed_retention_ms,
    CASE WHEN jump.next_at IS NULL THEN false
    WHEN jump.recovered_at IS NULL THEN true ELSE jump.next_at <= jump.recovered_at END AS is_changed_again,
    jump.is_late, jump.total
FROM (
    SELECT
        found.*, count(*) OVER () AS total,
        lead(found.jumped_at) OVER (
            PARTITION BY found.offsets_partition, found.topic, found.partition ORDER BY found.offset
        ) AS next_at
    FROM jumps_now AS found
    WHERE found.group_id = :group
) AS jump
ORDER BY jumped_ms DESC, jump.topic, jump.partition, jump.offset DESC
LIMIT 20

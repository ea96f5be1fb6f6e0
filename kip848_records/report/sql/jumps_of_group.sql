-- The breaks in the committed offsets of the group, in all of its incarnations, the latest first. is_recovered:
-- members got to the offset before. is_changed_again: the next break of the partition came before that. has_late: the
-- owner before committed after it gave the partition up. total: how many there are.
WITH late AS (
    SELECT incarnation, offsets_partition, topic, partition, member_id, sum(late_commits) AS late_commits
    FROM commit_progress
    WHERE group_id = :group AND owner = 'member'
    GROUP BY incarnation, offsets_partition, topic, partition, member_id
), jumps AS (
    SELECT
        *, count(*) OVER () AS total,
        lead(jumped_at) OVER (
            PARTITION BY offsets_partition, topic, partition ORDER BY found.offset
        ) AS next_at
    FROM commit_jump AS found
    WHERE group_id = :group
)
SELECT
    jump.topic, jump.partition AS topic_partition, jump.kind, jump.context, jump.before_offset, jump.after_offset,
    jump.amount, unix_millis(jump.jumped_at) AS jumped_ms, jump.recovered_at IS NOT NULL AS is_recovered, jump.cause,
    jump.age_ms,
    CASE WHEN jump.next_at IS NULL THEN false
    WHEN jump.recovered_at IS NULL THEN true ELSE jump.next_at <= jump.recovered_at END AS is_changed_again,
    coalesce(late.late_commits > 0, false) AS has_late, jump.total
FROM jumps AS jump
LEFT JOIN late
    ON late.incarnation = jump.incarnation AND late.offsets_partition = jump.offsets_partition
    AND late.topic = jump.topic AND late.partition = jump.partition AND late.member_id = jump.previous_member_id
ORDER BY jumped_ms DESC, jump.topic, jump.partition, jump.offset DESC
LIMIT 20

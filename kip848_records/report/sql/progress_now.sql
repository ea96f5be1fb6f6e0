-- What each present member owns, with the committed offsets and since when they stand still, in ms since 1970: of each of
-- the 10 members 5 rows, what is wrong first, then those that stand still longest. Partitions of a topic that are alike
-- are one row: least_committed to most_committed, the longest since since_ms, the shortest since last_ms. is_minimum: they
-- may stand still for longer. is_removed: the committed offset was removed. is_unknown: the log does not show whether
-- there is one, if it is null. has: partitions of the member. owners: members that own any. state, evidence, ahead_by,
-- ahead_group, producer_id: those of consumption_now.
WITH jumps AS (
    SELECT
        incarnation, offsets_partition, topic, partition, member_id, max(jumped_at) AS jumped_at,
        max(CASE WHEN kind = 'lost' THEN jumped_at END) AS lost_at
    FROM commit_jump
    WHERE group_id = :group
    GROUP BY incarnation, offsets_partition, topic, partition, member_id
), stays AS (
    SELECT
        stay.member_id, stay.topic, stay.partition AS topic_partition,
        coalesce(now.negative_offset, stay.last_offset, stay.start_offset) AS committed,
        unix_millis(greatest(jumps.jumped_at, CASE WHEN now.negative_offset IS NOT NULL THEN stay.negative_from END, coalesce(
            stay.last_advance_at, CASE WHEN stay.start_offset IS NULL THEN stay.first_commit_at END, stay.acquired_at
        ))) AS since_ms,
        jumps.jumped_at IS NULL AND stay.last_advance_at IS NULL
        AND (stay.start_offset IS NOT NULL OR stay.history IN ('left_censored', 'censored')) AS is_minimum,
        stay.removed > 0
        AND (stay.last_commit_at IS NULL OR coalesce(jumps.lost_at >= stay.last_commit_at, false)) AS is_removed,
        stay.history IN ('left_censored', 'censored') AS is_unknown,
        now.state, now.evidence, now.ahead_by, now.ahead_group, now.producer_id
    FROM commit_progress AS stay
    LEFT JOIN consumption_now AS now
        ON now.group_id = stay.group_id AND now.incarnation = stay.incarnation AND now.topic = stay.topic
        AND now.partition = stay.partition AND now.member_id = stay.member_id
        AND now.offsets_partition = stay.offsets_partition AND now.acquired_offset = stay.acquired_offset
    LEFT JOIN jumps
        ON jumps.incarnation = stay.incarnation AND jumps.offsets_partition = stay.offsets_partition
        AND jumps.topic = stay.topic AND jumps.partition = stay.partition AND jumps.member_id = stay.member_id
        AND jumps.jumped_at >= stay.acquired_at
    WHERE
        stay.group_id = :group AND stay.offsets_partition = :partition AND stay.incarnation = :incarnation
        AND stay.owner = 'member' AND stay.released_offset IS NULL
), alike AS (
    SELECT
        member_id, topic, state, evidence, ahead_group, producer_id, is_minimum, is_removed, is_unknown,
        min(committed) AS least_committed, max(committed) AS most_committed, min(since_ms) AS since_ms,
        max(since_ms) AS last_ms, max(ahead_by) AS ahead_by, count(*) AS partitions,
        min(topic_partition) AS first_partition,
        array_join(array_sort(collect_list(topic_partition)), ' ') AS numbers,
        CASE
            WHEN state = 'blocked_by_transaction' THEN 0 WHEN state = 'suspected' THEN 1
            WHEN state IN ('negative_offset', 'messages_wait', 'committed_beyond_end') THEN 2 ELSE 3
        END AS harm
    FROM stays
    GROUP BY
        member_id, topic, state, evidence, ahead_group, producer_id, is_minimum, is_removed, is_unknown,
        committed IS NULL
), by_member AS (
    SELECT
        *, sum(partitions) OVER (PARTITION BY member_id) AS has, min(harm) OVER (PARTITION BY member_id) AS worst,
        min(since_ms) OVER (PARTITION BY member_id) AS member_since_ms,
        row_number() OVER (PARTITION BY member_id ORDER BY harm, since_ms, topic, first_partition) AS nth
    FROM alike
), ranked AS (
    SELECT *, dense_rank() OVER (ORDER BY worst, member_since_ms, member_id) AS nth_member
    FROM by_member
), counted AS (
    SELECT *, max(nth_member) OVER () AS owners
    FROM ranked
)
SELECT
    member_id, topic, numbers, partitions, least_committed, most_committed, since_ms, last_ms, is_minimum, is_removed,
    is_unknown, CAST(has AS bigint) AS has, owners, state, evidence, ahead_by, ahead_group, producer_id
FROM counted
WHERE nth <= 5 AND nth_member <= 10
ORDER BY nth_member, nth

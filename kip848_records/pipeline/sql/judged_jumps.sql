{# The jumps with the causes of losses. A tombstone of the group in the same batch has the same time. When a topic is
   deleted, the coordinators of all groups remove its commits within seconds. In a classic group without members, offsets
   age from the time on at which it became Empty. #}
SELECT
    jumps.group_id, jumps.incarnation, jumps.group_type, jumps.offsets_partition, jumps.topic, jumps.partition,
    jumps.offset, jumps.jumped_at, jumps.kind, jumps.context, jumps.before_offset, jumps.after_offset, jumps.amount,
    jumps.member_id, jumps.previous_member_id, jumps.is_transactional, jumps.recovered_at, jumps.age_ms,
    jumps.after_removal,
    CASE
        WHEN jumps.kind <> 'lost' THEN NULL
        WHEN jumps.has_ended THEN CASE WHEN {{ is_old }} THEN 'group_expired' ELSE 'group_deleted' END
        WHEN {{ is_old }} THEN 'expired'
        WHEN jumps.has_members OR jumps.first_group <> jumps.last_group THEN 'topic_deleted'
        ELSE 'deleted'
    END AS cause
FROM (
    SELECT
        found.*, ended.group_id IS NOT NULL AS has_ended,
        min(CASE WHEN found.kind = 'lost' AND ended.group_id IS NULL THEN found.group_id END) OVER together
            AS first_group,
        max(CASE WHEN found.kind = 'lost' AND ended.group_id IS NULL THEN found.group_id END) OVER together
            AS last_group
    FROM {jumps} AS found
    LEFT JOIN (
        SELECT DISTINCT tombstones.partition, tombstones.group_id, tombstones.timestamp FROM {tombstones} AS tombstones
    ) AS ended
        ON ended.partition = found.offsets_partition AND ended.group_id = found.group_id
        AND ended.timestamp = found.jumped_at
    WINDOW together AS (
        PARTITION BY found.topic ORDER BY unix_millis(found.jumped_at)
        RANGE BETWEEN {{ together_ms }} PRECEDING AND {{ together_ms }} FOLLOWING
    )
) AS jumps

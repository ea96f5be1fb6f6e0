{# The jumps with the causes of losses. A tombstone of the group in the same batch has the same time; a topic's deletion
   removes its commits of several groups at one time. In a classic group without members, offsets age from the time on at
   which it became Empty. #}
SELECT
    jumps.group_id, jumps.incarnation, jumps.group_type, jumps.offsets_partition, jumps.topic, jumps.partition,
    jumps.offset, jumps.jumped_at, jumps.kind, jumps.context, jumps.before_offset, jumps.after_offset, jumps.amount,
    jumps.member_id, jumps.previous_member_id, jumps.is_transactional, jumps.recovered_at, jumps.age_ms,
    jumps.after_removal,
    CASE
        WHEN jumps.kind <> 'lost' THEN NULL
        WHEN ended.group_id IS NOT NULL THEN CASE WHEN {{ is_old }} THEN 'group_expired' ELSE 'group_deleted' END
        WHEN topics.groups > 1 OR (jumps.has_members AND NOT {{ is_old }}) THEN 'topic_deleted'
        WHEN {{ is_old }} THEN 'expired'
        ELSE 'deleted'
    END AS cause
FROM {jumps} AS jumps
LEFT JOIN (
    SELECT DISTINCT tombstones.partition, tombstones.group_id, tombstones.timestamp FROM {tombstones} AS tombstones
) AS ended
    ON ended.partition = jumps.offsets_partition AND ended.group_id = jumps.group_id AND ended.timestamp = jumps.jumped_at
LEFT JOIN (
    SELECT lost.topic, lost.jumped_at, count(DISTINCT lost.group_id) AS groups
    FROM {jumps} AS lost WHERE lost.kind = 'lost' GROUP BY lost.topic, lost.jumped_at
) AS topics
    ON topics.topic = jumps.topic AND topics.jumped_at = jumps.jumped_at

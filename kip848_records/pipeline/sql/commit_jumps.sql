{# The first commit behind the deletion of its topic is that of a new topic. #}
SELECT
    judged.group_id, judged.incarnation, judged.group_type, judged.offsets_partition, judged.topic, judged.partition,
    judged.offset, judged.jumped_at,
    CASE
        WHEN judged.kind = 'restart_after_loss' AND removed.cause IS NOT DISTINCT FROM 'topic_deleted' THEN 'recreated'
        ELSE judged.kind
    END AS kind,
    judged.context, judged.before_offset, judged.after_offset,
    CASE WHEN removed.cause IS DISTINCT FROM 'topic_deleted' THEN judged.amount END AS amount,
    judged.member_id, judged.previous_member_id, judged.is_transactional, judged.recovered_at, judged.cause,
    judged.age_ms, judged.retention_ms, judged.assumed_retention_ms
FROM {judged} AS judged
LEFT JOIN {judged} AS removed
    ON removed.kind = 'lost' AND removed.offsets_partition = judged.offsets_partition
    AND removed.offset = judged.after_removal

{# The first commit behind the deletion of its topic is that of a new topic. #}
SELECT
    evaluated.group_id, evaluated.incarnation, evaluated.group_type, evaluated.offsets_partition, evaluated.topic, evaluated.partition,
    evaluated.offset, evaluated.jumped_at,
    CASE
        WHEN evaluated.kind = 'restart_after_loss' AND removed.cause IS NOT DISTINCT FROM 'topic_deleted' THEN 'recreated'
        ELSE evaluated.kind
    END AS kind,
    evaluated.context, evaluated.before_offset, evaluated.after_offset,
    CASE WHEN removed.cause IS DISTINCT FROM 'topic_deleted' THEN evaluated.amount END AS amount,
    evaluated.member_id, evaluated.previous_member_id, evaluated.is_transactional, evaluated.recovered_at, evaluated.cause,
    evaluated.age_ms, evaluated.retention_ms, evaluated.assumed_retention_ms
FROM {evaluated} AS evaluated
LEFT JOIN {evaluated} AS removed
    ON removed.kind = 'lost' AND removed.offsets_partition = evaluated.offsets_partition
    AND removed.offset = evaluated.after_removal

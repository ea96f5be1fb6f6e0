-- For each rule of the protocol: the verdict of each row of anomaly, a violation if it is proven, else unknown; and of each
-- group without such a row, which passes if no record of it is missing.
WITH rules AS (
    SELECT 'one_owner' AS rule, 'two_owners' AS kind
    UNION ALL SELECT 'epoch_order', 'member_epoch_ahead'
    UNION ALL SELECT 'epoch_order', 'assignment_ahead'
    UNION ALL SELECT 'epochs_grow', 'epoch_went_back'
    UNION ALL SELECT 'names_or_regex', 'names_and_regex'
    UNION ALL SELECT 'assignor_versions', 'assignor_versions'
    UNION ALL SELECT 'loadable_records', 'record_not_loadable'
), contradictions AS (
    SELECT
        rules.rule, CASE WHEN is_proven THEN 'violation' ELSE 'unknown' END AS verdict, anomaly.group_id,
        anomaly.epoch AS group_epoch, anomaly.member_id, anomaly.partition, anomaly.offset,
        concat(
            'expected ', text(expected), CASE WHEN rules.kind = 'record_not_loadable' THEN ', but ' ELSE ', seen ' END,
            text(seen), CASE WHEN releases IS NOT NULL THEN concat('; refused by Kafka ', releases) ELSE '' END,
            CASE WHEN known_bug IS NOT NULL THEN concat(' (', known_bug, ')') ELSE '' END
        ) AS message
    FROM anomaly
    JOIN rules ON rules.kind = anomaly.kind
)
SELECT rule, verdict, group_id, group_epoch, member_id, partition, contradictions.offset, message
FROM contradictions
UNION ALL
SELECT
    every.rule, verdict(false, has_full_history), groups.group_id, NULL, NULL, groups.partition, NULL,
    'the log does not have all records of the group'
FROM groups
CROSS JOIN (SELECT DISTINCT rule FROM rules) AS every
WHERE NOT EXISTS (
    SELECT 1 FROM contradictions
    WHERE contradictions.rule = every.rule
        AND contradictions.partition = groups.partition AND contradictions.group_id = groups.group_id
)

-- name = "assignor_versions"
-- sentence = "An assignor has a name, and versions such that minimum >= -1, maximum >= 0 and minimum <= version <= maximum"
-- severity = "error"
-- needs = ["early_dialect"]
-- about = "member of a consumer group"

-- Members have assignors of their own in the dialects before Kafka 3.8, and in no later one.
SELECT verdict, severity, group_id, group_epoch, member_id, partition, invariants.offset, message
FROM invariants
WHERE rule = 'assignor_versions' AND :dialect <> 'kafka'
    AND EXISTS (
        SELECT 1 FROM membership
        WHERE membership.partition = invariants.partition AND membership.group_id = invariants.group_id
    )
UNION ALL
SELECT
    'unknown', NULL, group_id, NULL, NULL, partition, quarantine.offset,
    concat('the record does not decode: ', text(reason))
FROM quarantine
WHERE :dialect <> 'kafka' AND key_type = record_type(CONSUMER_GROUP_MEMBER_METADATA)

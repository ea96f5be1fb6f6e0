-- The verdicts of `invariants` about groups with members. A record of a consumer group's member that does not decode may break each
-- rule about such records: it is unknown.
SELECT rule, verdict, group_id, group_epoch, member_id, partition, invariants.offset, message
FROM invariants
WHERE EXISTS (
    SELECT 1 FROM membership
    WHERE membership.partition = invariants.partition AND membership.group_id = invariants.group_id
)
UNION ALL
SELECT
    every.rule, 'unknown', group_id, NULL, NULL, partition, quarantine.offset,
    concat('the record does not decode: ', text(reason))
FROM quarantine
CROSS JOIN (SELECT 'names_or_regex' AS rule UNION ALL SELECT 'assignor_versions') AS every
WHERE key_type = record_type(CONSUMER_GROUP_MEMBER_METADATA)

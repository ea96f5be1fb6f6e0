-- name = "names_or_regex"
-- sentence = "A member subscribes by topic names or by a regular expression, not by both, in the dialects of the drafts"
-- severity = "error"
-- needs = ["draft_dialect"]
-- about = "member of a consumer group"

-- Since Kafka 4.0 a member may use both.
SELECT verdict, severity, group_id, group_epoch, member_id, partition, invariants.offset, message
FROM invariants
WHERE rule = 'names_or_regex' AND :dialect IN ('kip-848', 'kip-848-draft')
    AND EXISTS (
        SELECT 1 FROM membership
        WHERE membership.partition = invariants.partition AND membership.group_id = invariants.group_id
    )
UNION ALL
SELECT
    'unknown', NULL, group_id, NULL, NULL, partition, quarantine.offset,
    concat('the record does not decode: ', text(reason))
FROM quarantine
WHERE :dialect IN ('kip-848', 'kip-848-draft') AND key_type = record_type(CONSUMER_GROUP_MEMBER_METADATA)

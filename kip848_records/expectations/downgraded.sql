-- name = "downgraded"
-- sentence = "A group does not go back from the consumer protocol to the classic protocol"
-- severity = "warn"
-- needs = []
-- about = "group"

SELECT
    'violation' AS verdict,
    group_id, epoch AS group_epoch, CAST(NULL AS string) AS member_id, partition, downgrades.offset,
    concat('expected the group to keep the consumer protocol, but it went back: ', downgrade_text(by_replacement)) AS message
FROM downgrades
UNION ALL
SELECT
    verdict(false, has_full_history), groups.group_id, NULL, NULL, groups.partition, NULL,
    'the log does not have all records of the group'
FROM groups
WHERE NOT EXISTS (
    SELECT 1 FROM downgrades AS found WHERE found.partition = groups.partition AND found.group_id = groups.group_id
)

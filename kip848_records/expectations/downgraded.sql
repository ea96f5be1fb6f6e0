-- name = "downgraded"
-- sentence = "A group does not go back from the consumer protocol to the classic protocol"
-- severity = "warn"
-- needs = []
-- about = "group"

SELECT
    'violation' AS verdict,
    CAST(NULL AS string) AS severity,
    group_id, epoch AS group_epoch, CAST(NULL AS string) AS member_id, partition, migrations.offset,
    'expected the group to keep the consumer protocol, its last consumer member left' AS message
FROM group_migration AS migrations
WHERE direction = 'downgrade'
UNION ALL
SELECT
    verdict(false, has_full_history), NULL, groups.group_id, NULL, NULL, groups.partition, NULL,
    'the log does not have all records of the group'
FROM groups
WHERE NOT EXISTS (
    SELECT 1 FROM group_migration AS migrations
    WHERE direction = 'downgrade' AND migrations.partition = groups.partition AND migrations.group_id = groups.group_id
)

-- name = "upgradable"
-- sentence = "Each group with the classic protocol can move to the consumer protocol now, or is half-way"
-- severity = "off"
-- needs = []
-- about = "classic or mixed group"
-- [without]
-- offset_commits = "groups that have offset commits only"

-- The answer of `kip848 migration --require-upgradable`. The broker's policy and its largest group size are not in the log.
SELECT
    verdict(NOT can_move, can_move IS NOT NULL) AS verdict,
    group_id, CAST(NULL AS int) AS group_epoch, CAST(NULL AS string) AS member_id, partition, migration_now.offset,
    concat(
        'expected that the group can move to the consumer protocol now, seen: ', meaning, ' (', verdict,
        CASE WHEN reasons IS NULL THEN '' ELSE concat(': ', reasons) END, ')'
    ) AS message
FROM migration_now

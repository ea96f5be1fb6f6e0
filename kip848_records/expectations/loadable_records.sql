-- name = "loadable_records"
-- sentence = "Every tried release of Kafka from 4.0 on can load all records of a group: they decode, in an order that it accepts"
-- severity = "error"
-- needs = []
-- about = "group"
-- [without]
-- offset_commits = "records of offset commits are not looked at"

-- One record that a coordinator refuses keeps it from loading the partition, with all groups in it
-- (CoordinatorLoaderImpl and GroupMetadataManager.replay in Kafka). A violation is refused by every release that may have
-- written the log; if only some of them refuse it, the message names them, and the verdict is unknown. It is unknown, too,
-- for a row that the source could not read, because the damage may be in the copy only; for a record of a newer broker; for
-- a string that is not UTF-8, and a tagged field of another size than it states, both of which a broker reads. A broker
-- ignores trailing bytes. Offset commits count only if an audit reads them, with --offset-commits. Dialects dispute the
-- types of consumer groups: if more of those failed than were replayed at all, the dialect may be wrong.
WITH undecodable AS (
    SELECT
        quarantine.*,
        coalesce(is_disputed(key_type), false) AND is_other AS is_foreign,
        error_code IN ('key_trailing_bytes', 'value_trailing_bytes') AS is_forgiven,
        error_code IN (
            'value_unknown_version', 'key_invalid_utf8', 'value_invalid_utf8', 'value_tag_size_mismatch'
        ) AS may_load,
        concat('expected a record that decodes, seen: ', text(reason)) AS seen
    FROM quarantine
    CROSS JOIN other_dialect
)
SELECT
    verdict(NOT is_forgiven, position IS NOT NULL AND NOT may_load AND NOT is_foreign) AS verdict,
    group_id, CAST(NULL AS int) AS group_epoch, CAST(NULL AS string) AS member_id, partition,
    undecodable.offset,
    concat(
        seen, CASE WHEN error_code = 'value_unknown_version' THEN concat('; refused by Kafka ', all_releases()) ELSE '' END,
        CASE WHEN is_foreign THEN '; perhaps of another dialect: see --dialect auto' ELSE '' END
    ) AS message
FROM undecodable
UNION ALL
SELECT
    'unknown', group_id, CAST(NULL AS int), CAST(NULL AS string), partition, refused_commits.offset,
    concat(
        'expected a record that decodes, seen: an offset commit of key type 0 with a value of a version above 0; ',
        'refused by Kafka ', releases_with(commit-type-0)
    )
FROM refused_commits
UNION ALL
SELECT verdict, group_id, group_epoch, member_id, partition, invariants.offset, message
FROM invariants
WHERE rule = 'loadable_records'

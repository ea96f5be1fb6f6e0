-- name = "loadable_records"
-- sentence = "Kafka 4.0 to 4.4 can load every record of a group: it decodes, and its order is one that Kafka accepts"
-- severity = "error"

-- A coordinator does not load a partition, with all groups in it, because of one record that it refuses
-- (CoordinatorLoaderImpl and GroupMetadataManager.replay in Kafka). A violation is refused by every release that may have
-- written the log; if only some of them refuse it, the message names them, and the verdict is unknown. Offset commits are
-- not read: a group id that has only those is a group, too, on which a share record is refused. Three cases do not count:
-- a row that the source could not read, because the damage may be in the copy only; a record of a newer broker; trailing
-- bytes. Dialects dispute the types 4 to 8: if more of those failed than were replayed at all, the
-- dialect may be wrong.
WITH dialects AS (
    SELECT failed.failed > replayed.replayed AS is_other
    FROM (
        SELECT count_if(key_type BETWEEN 4 AND 8 AND position IS NOT NULL) AS failed FROM quarantined
    ) AS failed
    CROSS JOIN (SELECT coalesce(sum(CAST(records AS decimal(38, 0))), 0) AS replayed FROM group_state) AS replayed
), undecodable AS (
    SELECT
        quarantined.*,
        coalesce(key_type BETWEEN 4 AND 8, false) AND is_other AS is_foreign,
        error_code IN ('key_trailing_bytes', 'value_trailing_bytes') AS is_forgiven,
        error_code IN ('key_unknown_version', 'value_unknown_version') AS is_newer,
        concat('expected a record that decodes, seen: ', text(reason)) AS seen
    FROM quarantined
    CROSS JOIN dialects
)
SELECT
    verdict(NOT is_forgiven, position IS NOT NULL AND NOT is_newer AND NOT is_foreign) AS verdict,
    CAST(NULL AS string) AS severity,
    group_id, CAST(NULL AS int) AS group_epoch, CAST(NULL AS string) AS member_id, partition,
    undecodable.offset,
    concat(seen, CASE WHEN is_foreign THEN '; perhaps of another dialect: see --dialect auto' ELSE '' END) AS message
FROM undecodable
UNION ALL
SELECT verdict, severity, group_id, group_epoch, member_id, partition, invariants.offset, message
FROM invariants
WHERE rule = 'loadable_records'

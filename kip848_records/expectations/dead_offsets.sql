-- name = "dead_offsets"
-- sentence = "At most max_keys committed offsets are of a group, or of topics, that are gone"
-- severity = "warn"
-- needs = ["topic_content"]
-- about = "group with committed offsets"
-- [limits.max_keys]
-- default = 0
-- unit = "offsets"
-- reason = "A broker removes the offsets of a group with it, those of a topic with that, and those of a group without members once they are older than offsets.retention.minutes."

-- Topics are looked at only with a list of all of them. A group without a record may assign its partitions itself.
SELECT
    verdict(dead.keys > dead.max_keys, dead.status <> 'unknown' OR dead.keys > dead.max_keys) AS verdict,
    CAST(NULL AS string) AS severity, dead.group_id, CAST(NULL AS int) AS group_epoch, CAST(NULL AS string) AS member_id,
    dead.partition, CAST(NULL AS bigint) AS offset,
    CASE
        WHEN dead.status = 'unknown' AND dead.keys <= dead.max_keys THEN concat(
            'no record of the group is there, but records were lost: its ', counted(dead.live_keys, committed offset),
            ' may be of a group that is gone'
        )
        WHEN dead.status = 'deleted' THEN concat(
            'expected at most ', dead.max_keys_text, ' committed offsets of a group that is gone, it was deleted at ',
            substring(CAST(dead.deleted_at AS string), 1, 19), ' UTC, and left ', counted(dead.live_keys, committed offset)
        )
        WHEN dead.status = 'expired' THEN concat(
            'expected at most ', dead.max_keys_text, ' committed offsets of a group that is gone, it has no record, its last commit is ',
            span(dead.age_ms), ' old, and offsets are kept for ', span(dead.retention_ms),
            CASE WHEN dead.is_assumed THEN ' (assumed)' ELSE '' END, ': ', counted(dead.live_keys, committed offset)
        )
        ELSE concat(
            'expected at most ', dead.max_keys_text, ' committed offsets of topics that are gone, it has ',
            counted(coalesce(dead.gone_keys, 0), committed offset), ' of ', counted(coalesce(dead.gone_topics, 0), topic),
            ' that the list of topics does not have'
        )
    END AS message
FROM (
    SELECT
        now.*, limits.max_keys, limits.max_keys_text,
        CASE WHEN now.status IN ('deleted', 'expired') THEN now.live_keys ELSE coalesce(now.gone_keys, 0) END AS keys
    FROM committing_now AS now
    JOIN limits ON limits.group_id IS NOT DISTINCT FROM now.group_id
    WHERE now.live_keys > 0
) AS dead

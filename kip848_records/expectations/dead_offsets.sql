-- name = "dead_offsets"
-- sentence = "At most max_keys committed offsets are of a group, or of topics, that are gone"
-- severity = "warn"
-- needs = ["topic_content"]
-- about = "group with committed offsets"
-- [limits.max_keys]
-- default = 0
-- unit = "offsets"
-- reason = "A broker removes the offsets of a group with it, those of a topic with that, and those of a group without members once they are older than offsets.retention.minutes."

-- Topics are looked at only with a list of all of them. A group without a record may assign its partitions itself. What is
-- only probably gone is no violation: the advice for it deletes offsets. possible_keys: with what may be gone.
SELECT
    verdict(dead.keys > dead.max_keys, dead.keys > dead.max_keys OR dead.possible_keys <= dead.max_keys) AS verdict,
    dead.group_id, CAST(NULL AS int) AS group_epoch, CAST(NULL AS string) AS member_id,
    dead.partition, CASE WHEN dead.status = 'deleted' THEN dead.deleted_offset END AS offset,
    CASE
        WHEN dead.status = 'deleted' THEN concat(
            'expected at most ', dead.max_keys_text, ' committed offsets of a group that is gone, it was deleted at offset ',
            text(dead.deleted_offset), ', and left ', counted(dead.live_keys, committed offset)
        )
        WHEN dead.keys > dead.max_keys OR dead.possible_keys <= dead.max_keys THEN concat(
            'expected at most ', dead.max_keys_text, ' committed offsets of topics that are gone, it has ',
            counted(dead.keys, committed offset), ' of ', counted(coalesce(dead.gone_topics, 0), topic),
            ' that the list of topics does not have'
        )
        WHEN dead.status = 'moved' THEN concat(
            'no record of the group is there, but another partition has records of it: its ',
            counted(dead.live_keys, committed offset), ' may be of a group that lives there'
        )
        WHEN dead.is_pending THEN concat(
            'a transaction with offsets of it is open: its ', counted(dead.live_keys, committed offset),
            ' may be of a group, or of topics, that are not gone'
        )
        WHEN dead.status = 'unknown' THEN concat(
            'no record of the group is there, but records were lost: its ', counted(dead.live_keys, committed offset),
            ' may be of a group that is gone'
        )
        WHEN dead.status = 'expired' THEN concat(
            'the group is probably expired: it has no record, its last commit is ', span(dead.age_ms),
            ' old, and offsets are kept for ', span(dead.retention_ms),
            CASE WHEN dead.is_assumed THEN ' (assumed)' ELSE '' END,
            ', unless an old client set a time of its own: ', counted(dead.live_keys, committed offset)
        )
        ELSE concat(
            'the list of topics may not be complete: it has ', counted(dead.unlisted_keys, committed offset), ' of ',
            counted(dead.unlisted_topics, topic), ' that the list does not have, but members of groups use'
        )
    END AS message
FROM (
    SELECT
        now.*, limits.max_keys, limits.max_keys_text,
        CASE
            WHEN now.status = 'deleted' THEN now.live_keys WHEN now.is_pending THEN 0 ELSE coalesce(now.gone_keys, 0)
        END AS keys,
        CASE
            WHEN now.status IN ('has_group', 'simple') THEN coalesce(now.gone_keys + now.unlisted_keys, 0)
            ELSE now.live_keys
        END AS possible_keys
    FROM committing_now AS now
    JOIN limits ON limits.group_id IS NOT DISTINCT FROM now.group_id
    WHERE now.live_keys > 0
) AS dead

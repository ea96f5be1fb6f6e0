{# Of each open stay that has not moved for a while: the groups whose owners committed a higher offset of the same topic,
   and since when. What another group has committed was there to be read. Owners alone count: Kafka does not check the
   offsets that a tool commits. #}
SELECT
    still.group_id, still.incarnation, still.topic, still.partition, still.member_id, still.acquired_offset,
    min(commits.timestamp) AS behind_since, max(commits.committed) - min(still.committed) AS ahead_by,
    max_by(commits.group_id, (commits.committed, commits.group_id)) AS ahead_group
FROM (
    SELECT
        stays.*, coalesce(stays.last_offset, stays.start_offset) AS committed,
        coalesce(stays.last_advance_at, stays.first_commit_at, stays.acquired_at) AS still_since
    FROM {progress} AS stays
    WHERE stays.owner = 'member' AND stays.released_offset IS NULL
) AS still
JOIN {captured} AS captured ON captured.partition = still.offsets_partition
JOIN {progress} AS others
    ON others.topic = still.topic AND others.partition = still.partition AND others.group_id <> still.group_id
    AND others.owner = 'member' AND others.max_offset > still.committed
    AND coalesce(others.topic_id, still.topic_id, '') = coalesce(still.topic_id, others.topic_id, '')
JOIN {checked} AS commits
    ON commits.partition = others.offsets_partition AND commits.group_id = others.group_id
    AND commits.topic = others.topic AND commits.topic_partition = others.partition
    AND commits.offset > others.acquired_offset AND commits.offset < coalesce(others.released_offset, {{ far }})
WHERE unix_millis(captured.captured_at) - unix_millis(still.still_since) >= {{ shortest_ms }}
    AND commits.error_code IS NULL AND commits.transaction <> 'pending' AND commits.committed > still.committed
GROUP BY
    still.group_id, still.incarnation, still.topic, still.partition, still.member_id, still.acquired_offset

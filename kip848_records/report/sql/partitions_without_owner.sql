-- The partitions of a classic group that no member has although one had them before, those without an owner for longest first.
SELECT
    gaps.topic, gaps.from_member, unix_millis(gaps.released_at) AS released_ms, max(stays.client_id) AS client_id,
    max(stays.client_host) AS client_host, max(stays.instance_id) AS instance_id,
    array_join(array_sort(collect_list(gaps.partition)), ' ') AS numbers
FROM partition_handover AS gaps
LEFT JOIN (
    SELECT DISTINCT group_id, partition, incarnation, member_id, client_id, client_host, instance_id
    FROM membership
) AS stays
    ON stays.group_id = gaps.group_id AND stays.partition = gaps.offsets_partition
    AND stays.incarnation = gaps.incarnation AND stays.member_id = gaps.from_member
WHERE gaps.group_id = :group AND gaps.offsets_partition = :partition AND gaps.incarnation = :incarnation
    AND gaps.group_type = 'classic' AND gaps.to_member IS NULL AND gaps.history IN ('right_censored', 'censored')
GROUP BY gaps.topic, gaps.from_member, gaps.released_at
ORDER BY released_ms, gaps.topic, gaps.from_member
LIMIT 20

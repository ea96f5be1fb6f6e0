-- Each consumer group with members of the classic protocol: members, how many these are; known, of how many the log has the
-- assignors; protocols, these assignors; most, how many members have the one that most have. If fewer than known have it, they
-- have none in common, and no coordinator can turn the group back into a classic one.
WITH members AS (
    SELECT partition, group_id, member_id, classic_protocols
    FROM present_members
    WHERE group_type = 'consumer' AND is_classic
), names AS (
    SELECT partition, group_id, protocol, count(DISTINCT member_id) AS members
    FROM (SELECT partition, group_id, member_id, explode(classic_protocols) AS protocol FROM members) AS exploded
    GROUP BY partition, group_id, protocol
), widest AS (
    SELECT partition, group_id, max(members) AS most, array_join(array_sort(collect_set(protocol)), ', ') AS protocols
    FROM names
    GROUP BY partition, group_id
)
SELECT
    counts.partition, counts.group_id, counts.members, counts.known, coalesce(widest.most, 0) AS most, widest.protocols
FROM (
    SELECT partition, group_id, count(*) AS members, count(classic_protocols) AS known
    FROM members
    GROUP BY partition, group_id
) AS counts
LEFT JOIN widest ON widest.partition = counts.partition AND widest.group_id = counts.group_id

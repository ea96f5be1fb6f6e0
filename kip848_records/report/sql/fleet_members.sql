-- Each present member that uses the classic protocol, of groups of both types.
SELECT
    members.partition, members.group_id, members.member_id, members.client_id, members.client_host, members.instance_id,
    unix_millis(members.joined_at) AS joined_ms
FROM members_by_protocol AS members
WHERE members.is_classic
ORDER BY members.group_id, members.joined_at, members.member_id, members.partition

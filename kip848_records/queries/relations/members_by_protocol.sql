-- Each of present_members of classic and consumer groups, which use the protocol that is_classic says. What the last generation
-- of a classic group has of it is null for members of consumer groups: subscription_version, the errors, user_data_bytes.
SELECT
    members.partition, members.group_id, members.incarnation, members.group_type, members.member_id, members.instance_id,
    members.client_id, members.client_host, members.joined_at, members.session_timeout_ms, members.rebalance_timeout_ms,
    members.protocol_type, members.protocol, members.captured_at, members.is_classic, described.subscription_version,
    described.subscription_error, described.assignment_error, described.user_data_bytes
FROM present_members AS members
LEFT JOIN classic_member AS described
    ON described.partition = members.partition AND described.group_id = members.group_id
    AND described.incarnation = members.incarnation AND described.generation = members.generation
    AND described.member_id = members.member_id
WHERE members.group_type = 'classic' OR members.group_type = 'consumer'

-- Each present member of classic and consumer groups, and which protocol it uses: is_classic. What the last generation of a
-- classic group has of it is null for members of consumer groups: subscription_version, the errors, user_data_bytes.
SELECT
    stay.partition, stay.group_id, stay.incarnation, stay.group_type, stay.member_id, stay.instance_id, stay.client_id,
    stay.client_host, stay.joined_at, stay.session_timeout_ms, stay.rebalance_timeout_ms, present.protocol_type,
    present.protocol, present.captured_at, coalesce(states.is_classic, stay.group_type = 'classic') AS is_classic,
    described.subscription_version, described.subscription_error, described.assignment_error, described.user_data_bytes
FROM membership AS stay
JOIN group_state AS present
    ON present.partition = stay.partition AND present.group_id = stay.group_id
    AND present.incarnation = stay.incarnation AND present.group_type = stay.group_type
LEFT JOIN member_state_timeline AS states
    ON states.partition = stay.partition AND states.group_id = stay.group_id AND states.incarnation = stay.incarnation
    AND states.group_type = stay.group_type AND states.member_id = stay.member_id AND states.to_at IS NULL
LEFT JOIN classic_member AS described
    ON described.partition = stay.partition AND described.group_id = stay.group_id
    AND described.incarnation = stay.incarnation AND described.generation = present.generation
    AND described.member_id = stay.member_id
WHERE stay.left_offset IS NULL AND (stay.group_type = 'classic' OR stay.group_type = 'consumer')

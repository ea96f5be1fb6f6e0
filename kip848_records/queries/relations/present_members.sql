-- Each member that is present at capture, with its group's type, protocol and generation. state: consumer, share and streams
-- members. is_classic: it uses the classic protocol, in a group of any type.
SELECT
    stay.partition, stay.group_id, stay.incarnation, stay.group_type, stay.member_id, stay.instance_id, stay.client_id,
    stay.client_host, stay.joined_at, stay.session_timeout_ms, stay.rebalance_timeout_ms, states.state,
    stay.classic_protocols,
    coalesce(states.is_classic, stay.group_type = 'classic') AS is_classic, present.protocol_type, present.protocol,
    present.generation, present.captured_at
FROM membership AS stay
JOIN group_state AS present
    ON present.partition = stay.partition AND present.group_id = stay.group_id
    AND present.incarnation = stay.incarnation AND present.group_type = stay.group_type
LEFT JOIN member_state_timeline AS states
    ON states.partition = stay.partition AND states.group_id = stay.group_id AND states.incarnation = stay.incarnation
    AND states.group_type = stay.group_type AND states.member_id = stay.member_id AND states.to_at IS NULL
WHERE stay.left_offset IS NULL

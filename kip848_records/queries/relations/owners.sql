-- Who has what at capture: each present member with each topic, subtopology or connector of which it has a part, or is
-- to have one; a member without any has one row, with nulls. state: consumer, share and streams members.
-- is_classic: it uses the classic protocol, in a group of any type.
SELECT
    stay.partition, stay.group_id, stay.incarnation, stay.group_type, stay.member_id, stay.instance_id, stay.client_id,
    stay.client_host, coalesce(states.is_classic, stay.group_type = 'classic') AS is_classic, states.state,
    coalesce(owned.topic, owned.subtopology_id, owned.connector) AS place, owned.role, owned.present, owned.target,
    owned.pending, owned.present_units, owned.target_units, owned.pending_units
FROM membership AS stay
JOIN group_state AS present
    ON present.partition = stay.partition AND present.group_id = stay.group_id
    AND present.incarnation = stay.incarnation AND present.group_type = stay.group_type
LEFT JOIN member_state_timeline AS states
    ON states.partition = stay.partition AND states.group_id = stay.group_id AND states.incarnation = stay.incarnation
    AND states.group_type = stay.group_type AND states.member_id = stay.member_id AND states.to_at IS NULL
LEFT JOIN member_assignment AS owned
    ON owned.partition = stay.partition AND owned.group_id = stay.group_id AND owned.incarnation = stay.incarnation
    AND owned.group_type = stay.group_type AND owned.member_id = stay.member_id
WHERE stay.left_offset IS NULL

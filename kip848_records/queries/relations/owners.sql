-- Who has what at capture: each of present_members with each topic, subtopology or connector of which it has a part, or is
-- to have one; a member without any has one row, with nulls.
SELECT
    members.partition, members.group_id, members.incarnation, members.group_type, members.member_id, members.instance_id,
    members.client_id, members.client_host, members.is_classic, members.state,
    coalesce(owned.topic, owned.subtopology_id, owned.connector) AS place, owned.role, owned.present, owned.target,
    owned.pending, owned.present_units, owned.target_units, owned.pending_units
FROM present_members AS members
LEFT JOIN member_assignment AS owned
    ON owned.partition = members.partition AND owned.group_id = members.group_id
    AND owned.incarnation = members.incarnation AND owned.group_type = members.group_type
    AND owned.member_id = members.member_id

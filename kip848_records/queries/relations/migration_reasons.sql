-- Why classic groups cannot be converted online: each reason, with the member and the client that has it. A reason of the
-- whole group has no member.
SELECT
    members.partition, members.group_id, members.reason, members.member_id, members.client_id, members.client_host,
    members.detail
FROM (
    SELECT every.*, 'malformed_assignment' AS reason, assignment_error AS detail
    FROM members_by_protocol AS every
    WHERE assignment_error IS NOT NULL
    UNION ALL
    SELECT every.*, 'assignor_user_data', concat(text(user_data_bytes), ' bytes of the assignor ', text(protocol))
    FROM members_by_protocol AS every
    WHERE user_data_bytes > 0
    UNION ALL
    SELECT every.*, 'malformed_subscription', subscription_error
    FROM members_by_protocol AS every
    WHERE subscription_error IS NOT NULL
) AS members
WHERE members.group_type = 'classic'
UNION ALL
SELECT
    states.partition, states.group_id, reasons.reason, CAST(NULL AS string), CAST(NULL AS string), CAST(NULL AS string),
    CASE WHEN reasons.reason = 'protocol_type' THEN coalesce(states.protocol_type, 'no protocol type') END
FROM group_state AS states
JOIN (
    SELECT 'duplicate_instance' AS reason
    UNION ALL SELECT 'duplicate_member'
    UNION ALL SELECT 'protocol_type'
    UNION ALL SELECT 'no_protocol'
    UNION ALL SELECT 'streams_application'
) AS reasons ON concat(', ', states.upgradable_reason, ',') LIKE concat('%, ', reasons.reason, ',%')
WHERE states.group_type = 'classic'

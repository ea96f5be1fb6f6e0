-- The clients whose members began an ongoing rebalance. is_member: it is one at the capture.
SELECT DISTINCT began.group_id, began.partition, began.incarnation, stays.member_id, stays.instance_id, stays.client_id,
    stays.client_host, stays.left_how IS NULL AND stays.left_at IS NULL AS is_member
FROM (
    SELECT group_id, partition, incarnation, explode(trigger_member_ids) AS member_id
    FROM rebalance
    WHERE outcome = :open
) AS began
JOIN membership AS stays
    ON stays.group_id = began.group_id AND stays.partition = began.partition
    AND stays.incarnation = began.incarnation AND stays.member_id = began.member_id
ORDER BY began.group_id, began.partition, began.incarnation, stays.member_id

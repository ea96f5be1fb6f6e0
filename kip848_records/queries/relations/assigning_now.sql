-- Every group at capture. is_assigning: it waits for a target assignment, which the state of a share group does not show.
-- is_not_ready: the topology of the streams group is not validated.
SELECT
    partition, group_id, incarnation, group_type, state = 'NotReady' AS is_not_ready,
    state = 'Assigning'
        OR (hides_rebalances(group_type) AND state <> 'unknown' AND coalesce(group_epoch > assignment_epoch, false)) AS is_assigning
FROM group_state

-- Every row of member_state_timeline, with its membership, whose columns are null if the log does not show it. lasted:
-- ms to the end of the interval or to the capture; null if a clock went back. has_losses: records were lost that
-- compaction would have kept, and that may have ended the interval.
SELECT
    interval_.*,
    stay.joined_offset, stay.left_offset, stay.left_at, stay.instance_id, stay.rebalance_timeout_ms,
    coalesce(present.has_lost_prefix OR present.state = 'unknown', false) AS has_losses,
    interval_.history IN ('observed', 'right_censored') AS is_complete,
    lasted_ms(interval_.from_at, coalesce(interval_.to_at, captures.captured_at)) AS lasted
FROM member_state_timeline AS interval_
LEFT JOIN captures ON captures.partition = interval_.partition
LEFT JOIN membership AS stay
    ON stay.partition = interval_.partition AND stay.group_id = interval_.group_id
    AND stay.incarnation = interval_.incarnation AND stay.group_type IS NOT DISTINCT FROM interval_.group_type
    AND stay.member_id = interval_.member_id
    AND coalesce(stay.joined_offset <= interval_.from_offset, true)
    AND NOT coalesce(stay.left_offset <= interval_.from_offset, false)
LEFT JOIN group_state AS present
    ON present.partition = interval_.partition AND present.group_id = interval_.group_id
    AND present.incarnation = interval_.incarnation

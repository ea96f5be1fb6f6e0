SELECT count(*) AS groups, count_if(is_stuck) AS stuck, count_if(is_away) AS away, count_if(state = :unknown) AS unknown
FROM group_state AS states
JOIN ({stuck_now}) AS stuck ON stuck.partition = states.partition AND stuck.group_id = states.group_id

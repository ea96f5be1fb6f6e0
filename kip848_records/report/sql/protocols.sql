SELECT DISTINCT group_type FROM group_state_timeline WHERE group_id = :group ORDER BY group_type

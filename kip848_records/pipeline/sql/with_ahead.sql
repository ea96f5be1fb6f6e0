SELECT progress.*, ahead.behind_since, ahead.ahead_by, ahead.ahead_group
FROM {progress} AS progress
LEFT JOIN {ahead} AS ahead
    ON ahead.group_id = progress.group_id AND ahead.incarnation = progress.incarnation AND ahead.topic = progress.topic
    AND ahead.partition = progress.partition AND ahead.member_id = progress.member_id
    AND ahead.acquired_offset = progress.acquired_offset

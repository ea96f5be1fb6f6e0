-- Every group in the log but simple ones, including deleted groups, and how much of its history the log has.
-- has_full_history: no record of any incarnation of the group is missing. has_lost_prefix: records of its present
-- incarnation are missing that compaction would have kept. has_log_start: no such record is missing, because the start
-- of the partition was read or the group has its full history.
SELECT
    coalesce(every.partition, present.partition) AS partition,
    coalesce(every.group_id, present.group_id) AS group_id,
    coalesce(every.is_complete, true) AND coalesce(present.has_full_history, true) AS has_full_history,
    coalesce(present.has_lost_prefix, false) AS has_lost_prefix,
    coalesce(NOT starts.log_start_missing, false)
        OR (coalesce(every.is_complete, true) AND coalesce(present.has_full_history, true)) AS has_log_start
FROM (
    SELECT partition, group_id, bool_and(history IN ('observed', 'right_censored')) AS is_complete
    FROM group_state_timeline
    WHERE group_type <> 'simple'
    GROUP BY partition, group_id
) AS every
FULL JOIN (SELECT * FROM group_state WHERE group_type <> 'simple') AS present
    ON every.partition = present.partition AND every.group_id = present.group_id
LEFT JOIN (SELECT partition, log_start_missing FROM partition_history WHERE is_base) AS starts
    ON starts.partition = coalesce(every.partition, present.partition)

-- Every group with committed offsets at capture. known_ms: for how long before that none of its commits is missing;
-- null: not known. has_full_history: nothing is missing since the group was created.
SELECT
    states.partition, states.group_id, states.has_full_history, ms_between(states.known_since, states.captured_at) AS known_ms
FROM group_state AS states
JOIN (
    SELECT offsets_partition, group_id
    FROM commit_progress
    GROUP BY offsets_partition, group_id
    HAVING sum(CAST(commits AS double)) > 0 OR count(start_offset) > 0
) AS committed
    ON committed.offsets_partition = states.partition AND committed.group_id = states.group_id

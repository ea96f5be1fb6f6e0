-- How many groups have offset commits, and no record of membership. Kafka lists them: they are Empty. Where records were
-- lost, theirs may be among them.
SELECT count(DISTINCT commits.group_id) AS groups
FROM latest_state AS commits
LEFT JOIN group_state AS states ON states.group_id = commits.group_id
LEFT JOIN partition_history AS bases ON bases.partition = commits.partition AND bases.is_base
WHERE is_offset_commit(commits.key_type) AND states.group_id IS NULL
    AND NOT coalesce(bases.log_start_missing, false) AND bases.first_lost_offset IS NULL

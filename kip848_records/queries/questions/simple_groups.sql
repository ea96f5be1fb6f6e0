-- question = "Which groups are there only because of their committed offsets?"
-- note = "They have no member that subscribes: consumers that assign partitions themselves, or a tool, committed these offsets. unknown: the group's own records may be among those that were lost."
-- needs = ["offset_commits"]
-- about = "group"
-- among = "group_state"
-- empty = "No group is there only because of its committed offsets"
SELECT states.group_id, states.partition, states.state, committed.committed, committed.last_commit_at
FROM group_state AS states
LEFT JOIN committed_now AS committed
    ON committed.partition = states.partition AND committed.group_id = states.group_id
WHERE states.group_type = 'simple'
ORDER BY committed.last_commit_at DESC, states.group_id, states.partition

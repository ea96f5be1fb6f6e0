-- What is wrong with groups over time, at capture: the worst first. Rows that another row of the group explains are left
-- out, and those that are no alarm.
SELECT found.group_id, found.pattern, found.count, found.at_least, found.subject,
    unix_millis(states.captured_at) - unix_millis(found.first_seen) AS failing_ms
FROM diagnosis AS found
JOIN group_state AS states
    ON states.group_id = found.group_id AND states.partition = found.partition
    AND states.incarnation = found.incarnation
WHERE found.is_present AND found.explained_by IS NULL AND found.severity <> 'info'
ORDER BY
    CASE found.severity WHEN 'error' THEN 0 ELSE 1 END, coalesce(found.cost_share, 0) DESC, found.first_seen,
    found.group_id, found.partition, found.pattern, found.count DESC,
    found.subject.client_id, found.subject.client_host, found.subject.instance_id, found.subject.member_id,
    found.subject.what, found.subject.regex, found.episode

-- What is wrong with groups over time, at capture: the rows of troubles that are present. nth: the rank of a row in its
-- group; 1 is the worst. In a report the order is harm (the most first), first_seen, group_id, partition, nth.
SELECT
    found.*,
    row_number() OVER (
        PARTITION BY found.partition, found.group_id
        ORDER BY
            CASE found.severity WHEN 'error' THEN 0 ELSE 1 END, coalesce(found.cost_share, 0) DESC, found.first_seen,
            found.pattern, found.count DESC, found.subject.client_id, found.subject.client_host,
            found.subject.instance_id, found.subject.member_id, found.subject.what, found.subject.regex, found.episode
    ) AS nth,
    ms_between(found.first_seen, states.captured_at) AS failing_ms
FROM troubles AS found
JOIN group_state AS states
    ON states.group_id = found.group_id AND states.partition = found.partition
    AND states.incarnation = found.incarnation
WHERE found.is_present

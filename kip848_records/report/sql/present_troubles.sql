-- The troubles of groups over time that last at capture and are alarms, errors first.
SELECT group_id, partition, incarnation, pattern, median_interval_ms, subject, sentence, next_step
FROM diagnosis
WHERE is_present AND explained_by IS NULL AND severity <> 'info' AND group_id IS NOT NULL
ORDER BY
    group_id, CASE severity WHEN 'error' THEN 0 ELSE 1 END, coalesce(cost_share, 0) DESC, first_seen, pattern, count DESC,
    subject.client_id, subject.client_host, subject.instance_id, subject.member_id, subject.what, subject.regex, episode

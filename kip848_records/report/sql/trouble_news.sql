-- The troubles over time that began or ended since the run before the last one, the worst first. was_known: that run could
-- know it. What had already ended at the first run is no news. lasted_ms: from its first event to the capture, or to its
-- last one; null if a clock went back.
SELECT found.group_id, found.pattern, found.severity, found.subject, found.at_least, found.is_present,
    NOT is_new(found.recognized_at) AS was_known,
    lasted_ms(found.first_seen, CASE WHEN found.is_present THEN captures.captured_at ELSE found.last_seen END) AS lasted_ms
FROM troubles AS found
CROSS JOIN run_before
LEFT JOIN known_before ON known_before.partition = found.partition
LEFT JOIN captures ON captures.partition = found.partition
WHERE is_new(CASE WHEN found.is_present THEN found.recognized_at ELSE found.ended_at END)
    AND (found.is_present OR run_before.run IS NOT NULL)
ORDER BY found.harm DESC, found.first_seen, found.group_id, found.partition, found.pattern, found.subject.instance_id,
    found.subject.client_id, found.subject.client_host, found.subject.member_id, found.subject.what, found.subject.regex,
    found.episode

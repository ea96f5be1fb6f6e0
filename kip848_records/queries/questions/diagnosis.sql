-- What has been wrong with each group over time, the worst first, and what to do?
-- Rows that another one of the group explains are left out; severity info is no alarm.
SELECT
  severity, group_id, pattern, probable_cause, is_present, count, at_least, first_seen, last_seen, cost_share,
  sentence, next_step
FROM diagnosis WHERE explained_by IS NULL
ORDER BY
  CASE severity WHEN 'error' THEN 0 WHEN 'warning' THEN 1 ELSE 2 END, is_present DESC, coalesce(cost_share, 0) DESC,
  last_seen DESC, group_id, partition, pattern, first_seen,
  subject.client_id, subject.client_host, subject.instance_id, subject.member_id, subject.what, subject.regex, episode

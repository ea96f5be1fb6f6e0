-- What was wrong with each group at a time, by recognized_at and ended_at alone. severity, count, last_seen and sentence are
-- those of the whole trouble: they may have read otherwise then.
SELECT
  severity, group_id, pattern, probable_cause, count, at_least, first_seen, recognized_at, ended_at, last_seen, cost_share,
  sentence, next_step
FROM diagnosis
WHERE explained_by IS NULL AND recognized_at <= :as_of AND (ended_at IS NULL OR ended_at > :as_of)
ORDER BY
  CASE severity WHEN 'error' THEN 0 WHEN 'warning' THEN 1 ELSE 2 END, coalesce(cost_share, 0) DESC, first_seen, group_id,
  partition, pattern, subject.client_id, subject.client_host, subject.instance_id, subject.member_id, subject.what,
  subject.regex, episode

-- What was wrong with each group at a time, by recognized_at and ended_at alone. The columns are those of the question
-- diagnosis, of the whole trouble: severity, count, last_seen and sentence may have read otherwise then.
SELECT
  severity, group_id, pattern, probable_cause, subject_name(found.subject) AS subject, found.subject.client_host,
  is_present, count, at_least, first_seen, last_seen, recognized_at, ended_at, cost_share, sentence, next_step
FROM diagnosis AS found
WHERE explained_by IS NULL AND recognized_at <= :as_of AND (ended_at IS NULL OR ended_at > :as_of)
ORDER BY
  CASE severity WHEN 'error' THEN 0 WHEN 'warning' THEN 1 ELSE 2 END, coalesce(cost_share, 0) DESC, first_seen, group_id,
  partition, pattern, found.subject.client_id, found.subject.client_host, found.subject.instance_id,
  found.subject.member_id, found.subject.what, found.subject.regex, episode

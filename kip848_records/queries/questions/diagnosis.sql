-- question = "What has been wrong with each group over time, the worst first, and what to do?"
-- note = "Rows that another one of the group explains are left out; severity info is no alarm."
-- needs = []
-- about = "group"
-- among = "groups"
-- empty = "Nothing is known to have been wrong"
-- [without]
-- offset_commits = "troubles of consumption are not looked for"
SELECT
  severity, group_id, pattern, probable_cause, subject_name(found.subject) AS subject, found.subject.client_host,
  is_present, count, at_least, first_seen, last_seen, recognized_at, ended_at, cost_share, sentence, next_step
FROM diagnosis AS found WHERE explained_by IS NULL
ORDER BY
  CASE severity WHEN 'error' THEN 0 WHEN 'warning' THEN 1 ELSE 2 END, is_present DESC, coalesce(cost_share, 0) DESC,
  last_seen DESC, group_id, partition, pattern, first_seen, found.subject.client_id, found.subject.client_host,
  found.subject.instance_id, found.subject.member_id, found.subject.what, found.subject.regex, episode
